import { existsSync, readFileSync } from 'node:fs';

/** From the nearest package.json above this file; source and bundle are at different depths. */
export function ownVersion(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const description = new URL('package.json', folder);
    if (existsSync(description))
      return (JSON.parse(readFileSync(description, 'utf8')) as { version: string }).version;
    if (folder.pathname === '/') throw new Error('package.json is missing');
  }
}
