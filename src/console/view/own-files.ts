import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `src/console`, or its copy in the build: the bundle is in another folder than the source. */
function consoleFolder(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const found = new URL('src/console/', folder);
    if (existsSync(new URL('templates/layout.hbs', found))) return fileURLToPath(found);
    if (folder.pathname === '/') throw new Error('The templates of the console are missing');
  }
}

/** @param path of a file of the console: `templates/layout.hbs`. */
export const ownFile = (path: string): Buffer => readFileSync(join(consoleFolder(), path));

/** @param path of a folder of the console. @returns names of its files. */
export const ownFiles = (path: string): readonly string[] =>
  readdirSync(join(consoleFolder(), path));

/** @param path below a package: `dist/htmx.min.js`. */
export function packageFile(name: string, path: string): Buffer {
  const resolved = createRequire(import.meta.url).resolve(`${name}/package.json`);
  return readFileSync(join(dirname(resolved), path));
}
