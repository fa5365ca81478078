import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '../foundation/error-code.js';

/** The file of a running server in its data folder (postmaster.pid, one value per line). */
export interface PostmasterFile {
  readonly pid: number;
  /** The folder of its socket; empty when it has none, or does not listen yet. */
  readonly socketFolder: string;
  readonly status: 'starting' | 'ready' | 'stopping' | 'unknown';
}

/** Undefined when the file is missing or empty. */
export async function readPostmasterFile(pgdata: string): Promise<PostmasterFile | undefined> {
  let lines: string[];
  try {
    lines = (await readFile(join(pgdata, 'postmaster.pid'), 'utf8')).split('\n');
  } catch {
    return undefined;
  }
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const status = lines[7]?.trim();
  return {
    pid,
    socketFolder: lines[4]?.trim() ?? '',
    status:
      status === 'ready' || status === 'starting' || status === 'stopping' ? status : 'unknown',
  };
}

/** By its working directory: after a crash the pid may belong to another program. */
export async function isServerOf(pgdata: string, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return commandNames(pid, pgdata);
  try {
    const [folder, own] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(pgdata)]);
    return folder.dev === own.dev && folder.ino === own.ino;
  } catch (error) {
    // No permission: the process of another user. Connecting decides.
    return hasCode(error, 'EACCES') && isAlive(pid);
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

async function commandNames(pid: number, pgdata: string): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)('ps', [
      '-ww',
      '-o',
      'command=',
      '-p',
      String(pid),
    ]);
    return stdout.includes(pgdata);
  } catch {
    return false;
  }
}
