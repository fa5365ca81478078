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
const sources = 'src projections migrations simulator tools bench test/harness'.split(' ');
const stamp = join(root, 'dist', '.built');
const tools = ['scripts/transpile.mjs', 'scripts/swc-settings.cjs', 'scripts/bundle.mjs'];

/**
 * Transpiles the service into dist/ and bundles it into dist/bin, unless dist/ was built from exactly
 * these sources already; finding that out takes a few milliseconds. Types are not checked here. Writes to standard error only.
 * Of several concurrent calls, one builds and the others wait for it.
 * @returns {boolean} true when it had to build.
 * @throws {Error} when the sources are not valid or cannot be bundled; the tool's output has been printed.
 */
export function buildIfStale() {
  // An image may ship without sources.
  if (!existsSync(join(root, 'src')) || isFresh()) return false;
  const unlock = lock();
  try {
    if (isFresh()) return false;
    process.stderr.write('building …\n');
    // Taken before the sources are read: a file edited meanwhile makes the next start build again.
    const built = fingerprint();
    rmSync(stamp, { force: true });
    // In processes of their own: a start that needs no build loads neither tool.
    for (const args of [['scripts/transpile.mjs', ...sources], ['scripts/bundle.mjs']])
      if (spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] }).status !== 0)
        throw new Error('the build failed');
    writeFileSync(`${stamp}.${process.pid}`, built);
    renameSync(`${stamp}.${process.pid}`, stamp);
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
 * Names, sizes and times of all sources: unlike the newest time alone they show deleted and
 * restored files.
 */
function fingerprint() {
  const hash = createHash('sha256');
  const add = (path) => {
    const { mtimeMs, size } = statSync(join(root, path));
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  };
  add('tsconfig.json');
  for (const tool of tools) add(tool);
  if (existsSync(join(root, 'package-lock.json'))) add('package-lock.json');
  const walk = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (/\.(?:ts|hbs|css|js|svg)$/.test(entry.name)) add(path);
    }
  };
  for (const folder of sources) if (existsSync(join(root, folder))) walk(folder);
  return hash.digest('hex');
}

/**
 * A lock that ends with this process: flock(2) belongs to the open file, so a child takes it on our
 * descriptor and we hold it by keeping the file open. Where neither program exists, two builds at
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

/** For the start scripts: builds, or ends the process with one line and no stack. */
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
