#!/usr/bin/env node
// Runs the tests on the Node.js of the image, whatever runs here. Arguments are jest's:
// npm run check:node24 -- --selectProjects unit
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What the Dockerfile says. */
const [, major] = /^FROM node:(\d+)-/m.exec(readFileSync(`${root}docker/Dockerfile`, 'utf8'));

// The package `node` fetches this one by an install script; asked for by its own name none is needed.
const platform = process.platform === 'win32' ? 'win' : process.platform;
const binary = `node-${platform}-${process.arch}@${major}`;

/** Puts that Node.js first in the path, so that processes which tests start run on it, too. */
function withNode(args, options) {
  return spawnSync('npx', ['--yes', `--package=${binary}`, '--', 'node', ...args], {
    cwd: root,
    ...options,
  });
}

const { stdout, stderr } = withNode(['--version'], { encoding: 'utf8' });
const version = stdout?.trim() ?? '';
if (!version.startsWith(`v${major}.`)) {
  process.stderr.write(`${binary} did not start: ${stderr?.trim().split('\n').at(-1) ?? ''}\n`);
  process.exit(1);
}
process.stdout.write(`on Node.js ${version}\n`);
const { status } = withNode(['node_modules/jest/bin/jest.js', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
process.exit(status ?? 1);
