const {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statfsSync,
} = require('node:fs');
const { freemem } = require('node:os');
const { join } = require('node:path');

const MEMORY = '/dev/shm';
const GIB = 1024 ** 3;
/** A whole run has less than a third of it at a time. */
const ROOM_MIN = 4 * GIB;
const FREE_MIN = 8 * GIB;
const NAME = /^ledger-run-(\d+)-/;

/**
 * A folder in memory for all that a run of the tests writes: a database is cloned there with a
 * twentieth of the processor's time that a disk takes. Undefined where there is no room, and where
 * no program can be run from it.
 */
exports.makeMemoryFolder = () => {
  if (!hasRoom()) return undefined;
  removeLeftovers();
  const folder = mkdtempSync(join(MEMORY, `ledger-run-${process.pid}-`));
  // As in /tmp: an account of Postgres' own finds its folder below.
  chmodSync(folder, 0o711);
  return folder;
};

function hasRoom() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .findLast(([, at]) => at === MEMORY);
    const [, , type, options = ''] = mount ?? [];
    const isPlain = type === 'tmpfs' && !/\b(noexec|ro)\b/.test(options);
    return isPlain && bavail * bsize >= ROOM_MIN && freemem() >= FREE_MIN;
  } catch {
    return false;
  }
}

/** Of runs that were killed. A server of theirs ends by itself when it misses its files. */
function removeLeftovers() {
  for (const name of readdirSync(MEMORY)) {
    const [, pid] = NAME.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch ({ code }) {
    return code !== 'ESRCH';
  }
}
