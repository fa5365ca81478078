#!/usr/bin/env node
// Writes the digest of today behind the tag of every image that docker/ names; needs `docker buildx` and the registry.
// npm run images:pin            pins, and renews the pins
// npm run images:pin -- --check fails while an image is named by its tag alone
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const args = process.argv.slice(2);
const folder =
  args.find((arg) => !arg.startsWith('--')) ?? fileURLToPath(new URL('../docker', import.meta.url));
const isCheck = args.includes('--check');

/** Our own image is built, never fetched; a stage of the Dockerfile has no tag. */
const REFERENCE =
  /^(\s*(?:image:|FROM) )((?!referral-ledger:)[\w./-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?/gm;

const files = readdirSync(folder)
  .filter((name) => name === 'Dockerfile' || /^compose.*\.yaml$/.test(name))
  .map((name) => join(folder, name));

const digests = new Map();
const unpinned = new Set();
for (const file of files) {
  const text = readFileSync(file, 'utf8');
  const pinned = text.replace(REFERENCE, (whole, before, image, digest) => {
    if (digest === undefined) unpinned.add(image);
    return isCheck ? whole : `${before}${image}@${digestOf(image)}`;
  });
  if (pinned !== text) writeFileSync(file, pinned);
}
if (isCheck && unpinned.size > 0) {
  for (const image of unpinned) process.stderr.write(`${image} is not pinned\n`);
  process.exit(1);
}

/** Of the list of platforms, so that the pin holds on all of them. */
function digestOf(image) {
  const known = digests.get(image);
  if (known !== undefined) return known;
  const { stdout, status } = spawnSync(
    'docker',
    ['buildx', 'imagetools', 'inspect', '--format', '{{.Manifest.Digest}}', image],
    { encoding: 'utf8' },
  );
  const digest = stdout?.trim() ?? '';
  if (status !== 0 || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    process.stderr.write(
      `the registry gave no digest of ${image}; the files before it are pinned\n`,
    );
    process.exit(1);
  }
  process.stdout.write(`${image}@${digest}\n`);
  digests.set(image, digest);
  return digest;
}
