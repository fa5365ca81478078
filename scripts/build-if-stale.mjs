#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = ['src', 'projections', 'migrations', 'bench'];
const stamp = join(root, 'dist', '.built');
const bundler = 'scripts/bundle.mjs';

/**
 * Compiles the service into dist/ and bundles it into dist/bin unless that was done for exactly
 * these sources. Costs a few milliseconds when it was. Writes to standard error only. Several at
 * once: one builds, the others wait and find it done.
 * @returns {boolean} true when it had to build.
 * @throws {Error} when the sources do not compile or cannot be bundled; what the tool says has been
 * printed.
 */
export function buildIfStale() {
  // An image may ship without sources.
  if (!existsSync(join(root, 'src')) || isFresh()) return false;
  const unlock = lock();
  try {
    if (isFresh()) return false;
    process.stderr.write('building …\n');
    // Without a stamp nobody knows how far the last build came: the compiler must not trust its
    // notes either.
    if (!existsSync(stamp)) rmSync(join(root, 'dist', '.tsbuildinfo'), { force: true });
    // Taken before the compiler reads: what is edited meanwhile makes the next start build again.
    const built = fingerprint();
    rmSync(stamp, { force: true });
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.json')], {
      cwd: root,
      stdio: ['ignore', 2, 2],
    });
    const bundled =
      status === 0
        ? spawnSync(process.execPath, [join(root, bundler)], { cwd: root, stdio: ['ignore', 2, 2] })
        : undefined;
    // A compiler that was not killed left sound notes, errors or not; the stamp then only says so.
    if (status !== null) {
      writeFileSync(`${stamp}.${process.pid}`, bundled?.status === 0 ? built : 'failed');
      renameSync(`${stamp}.${process.pid}`, stamp);
    }
    if (bundled?.status !== 0) throw new Error('the build failed');
    return true;
  } finally {
    unlock();
  }
}

function isFresh() {
  try {
    return readFileSync(stamp, 'utf8') === fingerprint();
  } catch {
    return false;
  }
}

/**
 * Names, sizes and times of all sources: unlike the newest time alone it notices a deleted and a
 * restored file.
 */
function fingerprint() {
  const hash = createHash('sha256');
  const add = (path) => {
    const { mtimeMs, size } = statSync(join(root, path));
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  };
  add('tsconfig.json');
  add(bundler);
  if (existsSync(join(root, 'package-lock.json'))) add('package-lock.json');
  const walk = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (entry.name.endsWith('.ts')) add(path);
    }
  };
  for (const folder of sources) if (existsSync(join(root, folder))) walk(folder);
  return hash.digest('hex');
}

/**
 * A lock that dies with us: flock(2) belongs to the open file, so a child takes it on our
 * descriptor and we keep it by keeping the file open. Where neither program exists, two builds at
 * once write the same bytes.
 */
function lock() {
  mkdirSync(join(root, 'dist'), { recursive: true });
  const fd = openSync(join(root, 'dist', '.lock'), 'a');
  const perl = 'open(my $file, ">&=", 3) or exit 1; flock($file, LOCK_EX) or exit 1';
  for (const [command, ...args] of [
    ['flock', '-x', '3'],
    ['perl', '-MFcntl=:flock', '-e', perl],
  ]) {
    if (
      spawnSync(command, args, { stdio: ['ignore', 'ignore', 'ignore', fd], timeout: 300_000 })
        .status === 0
    )
      break;
  }
  return () => closeSync(fd);
}

/** For the starting scripts: builds or ends the process with one line; no stack. */
export function buildOrExit() {
  try {
    buildIfStale();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  buildOrExit();
