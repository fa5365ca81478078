/** Limits of ids and texts that clients choose. */

export const ID_LENGTH_MAX = 255;
export const CONTROL = /\p{Cc}|\p{Surrogate}/u;

/** 1 to 255 characters without control characters and unpaired surrogates. */
export function isIdentifier(text: string): boolean {
  // In code points: a character outside the basic plane counts once.
  return (
    text !== '' &&
    text.length <= 2 * ID_LENGTH_MAX &&
    [...text].length <= ID_LENGTH_MAX &&
    !CONTROL.test(text)
  );
}

/** Not part of the contract: keeps a person's description within one append. */
export const TEXT_LENGTH_MAX = 2048;

export const isText = (value: unknown): value is string =>
  typeof value === 'string' && [...value].length <= TEXT_LENGTH_MAX;
