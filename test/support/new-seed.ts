import { spawnSync } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
import { join } from 'node:path';

const SEEDS = 2 ** 31;

/** A new seed; on a build server it follows from the commit and `purpose`. */
export function newSeed(purpose: string): number {
  const commit = process.env['CI'] === undefined ? '' : headCommit();
  if (commit === '') return randomInt(SEEDS);
  return createHash('sha256').update(`${commit} ${purpose}`).digest().readUInt32BE() % SEEDS;
}

function headCommit(): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], {
    cwd: join(__dirname, '../..'),
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : '';
}
