import { createHash } from 'node:crypto';
import type { Form } from '../sessions/form.js';
import { DEPTH_MAX, isDeeperThan } from '../../foundation/json-text.js';

/** A JSON document that is edited in a text field, or in a form for its members. */

/** Whether a page shows the text field: chosen now, or before. */
export const isJsonView = (form: Pick<Form, 'text'>): boolean => {
  const action = form.text('action');
  return action === 'json' || (form.text('view') === 'json' && action !== 'form');
};

/** Names a text that was shown. Browsers send other line ends than they were sent. */
export const digestOfText = (text: string): string =>
  createHash('sha256').update(text.replaceAll('\r\n', '\n').trim()).digest('base64url');

/**
 * Undefined: it is not JSON, or nested deeper than any document is: a megabyte with a thousand
 * levels is a gigabyte when each line is indented.
 */
export function jsonOf(text: string): unknown {
  if (isDeeperThan(text, DEPTH_MAX)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** As it is shown and compared. */
export const jsonText = (document: unknown): string => JSON.stringify(document, undefined, 2);
