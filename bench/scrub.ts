import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { loadConfig } from '../src/config/config.js';
import { openCore } from '../src/core/core.js';
import { openPool } from '../src/postgres/database.js';
import { fillUsers } from './filled-users.js';
import { LedgerClient } from './ledger-client.js';
import {
  makeDataDir,
  printedKey,
  projectRoot,
  removeDataDir,
  startServiceProcess,
} from './service-process.js';

/**
 * What a scrub costs the reads of the table that it rewrites: one client reads users, one read
 * after the other, alone, beside `privacy scrub`, and beside a `VACUUM FULL` of the same table,
 * which is what the scrub avoids. Exits with 1 when a read beside the scrub is not answered.
 *
 * `BENCH_USERS` (300 000), `BENCH_SECONDS` (10, alone).
 */
const USERS = Number(process.env.BENCH_USERS ?? 300_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);

interface Reads {
  readonly ms: readonly number[];
  /** Not answered with 200. */
  readonly failed: number;
}

/** Reads until the work has ended. */
async function readsBeside(client: LedgerClient, work: Promise<unknown>): Promise<Reads> {
  const times: number[] = [];
  let failed = 0;
  let isOver = false;
  const ended = work.finally(() => (isOver = true));
  while (!isOver) {
    const { status, ms } = await client.get('users?limit=10');
    times.push(ms);
    if (status !== 200) failed += 1;
  }
  await ended;
  return { ms: times, failed };
}

const percentile = (times: readonly number[], share: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? NaN;

function report(name: string, { ms, failed }: Reads): void {
  const [p50, p99] = [percentile(ms, 0.5).toFixed(1), percentile(ms, 0.99).toFixed(1)];
  const longest = Math.max(...ms).toFixed(0);
  process.stdout.write(
    `${name}: ${ms.length} reads, ${failed} failed, p50 ${p50} ms, p99 ${p99} ms, longest ${longest} ms\n`,
  );
}

const seconds = (since: number): string => ((performance.now() - since) / 1_000).toFixed(1);

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir };
  try {
    await service.ready();
    const core = await openCore({
      config: loadConfig({ DATA_DIR: dataDir }),
      logger: pino({ level: 'silent' }),
      actor: { kind: 'system', id: 'bench' },
      applicationName: 'bench',
    });
    // Without the time-out of requests.
    const pool = openPool({ url: core.databaseUrl(), max: 1, applicationName: 'bench' });
    await fillUsers(pool, USERS);
    const { rows } = await pool.query<{ size: string }>(
      `select pg_size_pretty(pg_total_relation_size('rm_users_1.users')) as size`,
    );
    const client = new LedgerClient({ url: service.url, apiKey: printedKey(service.output()) });
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    await readsBeside(client, pause(1_000));
    report('alone', await readsBeside(client, pause(SECONDS * 1_000)));
    const program = join(projectRoot(), 'dist/bin/cli.js');
    const began = performance.now();
    const scrubbing = promisify(execFile)(process.execPath, [program, 'privacy', 'scrub'], { env });
    const beside = await readsBeside(client, scrubbing);
    report(`beside a scrub (${rows[0]?.size} of users, ${seconds(began)} s)`, beside);
    if (beside.failed > 0) process.exitCode = 1;
    const locked = performance.now();
    const full = pool.query('vacuum full rm_users_1.users');
    const waiting = await readsBeside(client, full);
    report(`beside VACUUM FULL (${seconds(locked)} s)`, waiting);
    client.close();
    await pool.end();
    await core.close();
  } finally {
    await service.terminate();
    await removeDataDir(dataDir);
  }
}

await main();
