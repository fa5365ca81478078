import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A part of the bundle. */
const NAMED_BY_CONTENT = /-[0-9A-Z]{8}\.js$/;

let known: Promise<string> | undefined;

/**
 * A digest of the running program: another build has another one, whatever was changed. Read once,
 * when it is first asked for.
 */
export function codeVersion(): Promise<string> {
  known ??= digestOf(programFolder()).catch((error: unknown) => {
    known = undefined;
    throw error;
  });
  return known;
}

/** The bundle is in one folder; the compiler's output is in a folder for each part. */
function programFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  return basename(here) === 'stores' ? dirname(here) : here;
}

async function digestOf(folder: string): Promise<string> {
  const names = (await readdir(folder, { recursive: true }))
    .filter((name) => name.endsWith('.js'))
    .sort();
  const digest = createHash('sha256');
  for (const name of names) {
    digest.update(name);
    if (!NAMED_BY_CONTENT.test(name)) digest.update(await readFile(join(folder, name)));
  }
  return digest.digest('hex').slice(0, 32);
}
