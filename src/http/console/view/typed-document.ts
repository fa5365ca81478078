import { createHash } from 'node:crypto';

/** A JSON document that somebody edits in a text field. */

/** Names a text that was shown. Browsers send other line ends than they were sent. */
export const digestOfText = (text: string): string =>
  createHash('sha256').update(text.replaceAll('\r\n', '\n').trim()).digest('base64url');

/** Undefined: it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** As it is shown and compared. */
export const jsonText = (document: unknown): string => JSON.stringify(document, undefined, 2);
