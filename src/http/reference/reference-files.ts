import { readdir, readFile } from 'node:fs/promises';
import { docsFolder } from '../../foundation/docs-folder.js';
import { errorTexts, type ErrorText } from './error-texts.js';
import { fieldTexts, tagText, type Reference } from './reference-texts.js';

export interface ReferenceFiles {
  readonly reference: Reference;
  readonly errors: ReadonlyMap<string, ErrorText>;
  readonly errorPage: string;
}

/** Files of `docs/reference` that are not tags. */
const INTRODUCTION = 'introduction.md';
const PARAMETERS = 'parameters.md';
const TAG_FILE = /^\d\d-[a-z-]+\.md$/;

/** Reads the reference. Numbers in file names order the tags. */
export async function readReference(docs = docsFolder()): Promise<ReferenceFiles> {
  const read = async (name: string): Promise<string> =>
    (await readFile(new URL(name, docs), 'utf8')).replaceAll('](../errors.md', '](/docs/errors');
  const files = (await readdir(new URL('reference/', docs)))
    .filter((name) => TAG_FILE.test(name))
    .sort();
  const tags = await Promise.all(
    files.map(async (name) => tagText(await read(`reference/${name}`))),
  );
  const errorPage = await read('errors.md');
  const general = tagText(await read(`reference/${PARAMETERS}`));
  return {
    reference: {
      introduction: await read(`reference/${INTRODUCTION}`),
      parameters: fieldTexts(general.description),
      shapes: [...general.shapes, ...tags.flatMap(({ shapes }) => shapes)],
      tags,
    },
    errors: errorTexts(errorPage),
    errorPage,
  };
}
