#!/usr/bin/env node
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import settings from './swc-settings.cjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Compiles each TypeScript file of the folders into dist/, copies the templates, style sheets and scripts of pages, and deletes what
 * older builds left there.
 * Types are not checked: `npm run types` checks them.
 * @param {readonly string[]} folders relative to the project; a missing one is skipped.
 * @throws {Error} when a file is not valid TypeScript; the message names it.
 */
export async function transpile(folders) {
  const sources = folders.flatMap((folder) => filesBelow(folder, '.ts'));
  await Promise.all(sources.map(transpileFile));
  const copied = folders.flatMap((folder) =>
    COPIED.flatMap((extension) => filesBelow(folder, extension)),
  );
  for (const source of copied) copyFile(source);
  const expected = new Set([...sources, ...copied].map(outputOf));
  for (const output of folders.flatMap((folder) => filesBelow(join('dist', folder), '.js')))
    if (!expected.has(output)) rmSync(join(root, output));
}

/** What pages are made of, as it is. */
const COPIED = ['.hbs', '.css', '.js', '.svg'];

function copyFile(source) {
  const output = join(root, outputOf(source));
  mkdirSync(dirname(output), { recursive: true });
  copyFileSync(join(root, source), output);
}

const outputOf = (source) => join('dist', source.replace(/\.ts$/, '.js'));

async function transpileFile(source) {
  const output = join(root, outputOf(source));
  const { code, map } = await transform(readFileSync(join(root, source), 'utf8'), {
    ...settings,
    filename: join(root, source),
    sourceFileName: relative(dirname(output), join(root, source)),
    module: { type: 'es6' },
    sourceMaps: true,
    swcrc: false,
    configFile: false,
  });
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(`${output}.map`, map);
  writeFileSync(output, `${code}//# sourceMappingURL=${basename(output)}.map\n`);
}

/** Paths relative to the project. */
function filesBelow(folder, extension) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(extension))
    .map((name) => join(folder, name));
}

if (argv[1] === fileURLToPath(import.meta.url)) await transpile(argv.slice(2));
