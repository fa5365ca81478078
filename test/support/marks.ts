import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Marks: words that are in all data of a person and nowhere else. */

/** A sequence of bytes to search for, and its name. */
export interface Form {
  readonly form: string;
  readonly bytes: Buffer;
}

/**
 * The characters of base64 that a text alone decides, at any offset in a group of three bytes: its
 * first and last characters depend on its neighbours.
 */
function base64At(offset: number, text: Buffer): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), text]).toString('base64');
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + text.length) * 8) / 6));
}

/** The mark in every form that files and answers may have; codes also in lower case. */
export const formsOf = (mark: string): readonly Form[] =>
  [mark.toLowerCase(), mark.toUpperCase()].flatMap((spelled) => {
    const utf8 = Buffer.from(spelled);
    const utf16 = Buffer.from(spelled, 'utf16le');
    return [
      { form: 'plain', bytes: utf8 },
      { form: 'hex', bytes: Buffer.from(utf8.toString('hex')) },
      { form: 'hex in upper case', bytes: Buffer.from(utf8.toString('hex').toUpperCase()) },
      { form: 'UTF-16LE', bytes: utf16 },
      { form: 'UTF-16BE', bytes: Buffer.from(utf16).swap16() },
      ...[0, 1, 2].map((offset) => ({
        form: `base64 at ${offset}`,
        bytes: Buffer.from(base64At(offset, utf8)),
      })),
    ];
  });

/** The first form of the mark that the content has. */
export const holds = (content: Buffer, mark: string): string | undefined =>
  formsOf(mark).find(({ bytes }) => content.includes(bytes))?.form;

/** Files of an embedded server, its write-ahead log included, with the forms that they hold. */
export async function filesWith(dataDir: string, forms: readonly Form[]): Promise<string[]> {
  const entries = await readdir(join(dataDir, 'postgres'), {
    recursive: true,
    withFileTypes: true,
  });
  const found: string[] = [];
  for (const entry of entries.filter((candidate) => candidate.isFile())) {
    const content = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0));
    const held = forms.filter(({ bytes }) => content.includes(bytes));
    if (held.length > 0)
      found.push(
        `${join(entry.parentPath, entry.name)}: ${held.map(({ form }) => form).join(', ')}`,
      );
  }
  return found;
}
