const THOUSANDS = /\B(?=(?:\d{3})+$)/g;
const NARROW_SPACE = '\u202f';

/** The text of an integer with its thousands apart, by a narrow space. */
export const withThousands = (integer: string): string => integer.replace(THOUSANDS, NARROW_SPACE);
