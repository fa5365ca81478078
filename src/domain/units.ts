export const UNIT_LENGTH_MAX = 64;

/** A unit as stored and compared. */
export const trimmedUnit = (text: string): string => text.trim();

/** Units are compared without case. */
export const unitKey = (unit: string): string => unit.toLowerCase();

/** 1 to 64 visible characters. */
export const isUnit = (text: string): boolean =>
  text !== '' && [...text].length <= UNIT_LENGTH_MAX && !/\p{Cc}/u.test(text);
