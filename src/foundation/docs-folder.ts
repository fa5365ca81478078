import { existsSync } from 'node:fs';

/** The nearest `docs` folder above this file; source and bundle are at different depths. */
export function docsFolder(): URL {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const docs = new URL('docs/', folder);
    if (existsSync(new URL('reference/', docs))) return docs;
    if (folder.pathname === '/') throw new Error('The folder docs/reference is missing');
  }
}
