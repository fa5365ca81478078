/** Ids that clients choose, and their texts. */

export const ID_LENGTH_MAX = 255;
export const CONTROL = /\p{Cc}|\p{Surrogate}/u;

/**
 * 1 to 255 characters, no control characters, no half of a surrogate pair; any printable character
 * is allowed, e-mail addresses included.
 */
export function isIdentifier(text: string): boolean {
  // In code points: a character outside of the basic plane counts once.
  return (
    text !== '' &&
    text.length <= 2 * ID_LENGTH_MAX &&
    [...text].length <= ID_LENGTH_MAX &&
    !CONTROL.test(text)
  );
}

/**
 * Longest text. Not part of the contract: it keeps a person's description within
 * one append.
 */
export const TEXT_LENGTH_MAX = 2048;

export const isText = (value: unknown): value is string =>
  typeof value === 'string' && [...value].length <= TEXT_LENGTH_MAX;
