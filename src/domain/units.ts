export const UNIT_LENGTH_MAX = 64;

/** A unit as it is stored and compared: without white space around it. */
export const trimmedUnit = (text: string): string => text.trim();

/** Units that are equal without case are one. */
export const unitKey = (unit: string): string => unit.toLowerCase();

/** The unit of a credit: 1 to 64 characters, and none that no screen shows. */
export const isUnit = (text: string): boolean =>
  text !== '' && [...text].length <= UNIT_LENGTH_MAX && !/\p{Cc}/u.test(text);
