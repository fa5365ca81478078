import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';

export interface FileLock {
  /** False: the system offers no file lock, and the caller relies on its other safeguards. */
  readonly held: boolean;
  release(): Promise<void>;
}

/**
 * Node has no flock(2). The lock belongs to the open file, not to a process: a short-lived child
 * locks this process's descriptor, and the open file keeps the lock. The kernel frees it at the end
 * of this process, so unlike a lock file with a pid it is never stale.
 */
const LOCKERS: readonly (readonly [string, ...string[]])[] = [
  ['flock', '-x', '3'],
  [
    'perl',
    '-MFcntl=:flock',
    '-e',
    'open(my $file, ">&=", 3) or exit 1; flock($file, LOCK_EX) or exit 1',
  ],
];

/** Exclusive. @throws {Error} when another process held it for `waitMs`. */
export async function lockFile(path: string, waitMs: number): Promise<FileLock> {
  const file = await open(path, 'a', 0o600);
  try {
    for (const locker of LOCKERS) {
      const outcome = await runLocker(locker, file.fd, waitMs);
      if (outcome === 'locked') return { held: true, release: () => file.close() };
      if (outcome === 'timeout')
        throw new Error(`another process kept ${path} for more than ${waitMs} ms`);
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  return { held: false, release: () => file.close() };
}

function runLocker(
  [command, ...args]: readonly [string, ...string[]],
  fd: number,
  waitMs: number,
): Promise<'locked' | 'unsupported' | 'timeout'> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'ignore', 'ignore', fd],
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, waitMs);
    const settle = (outcome: 'locked' | 'unsupported' | 'timeout') => {
      clearTimeout(timer);
      resolve(outcome);
    };
    child.once('error', () => settle('unsupported'));
    child.once('exit', (code) =>
      settle(code === 0 ? 'locked' : timedOut ? 'timeout' : 'unsupported'),
    );
  });
}
