/** Checks for the values of stored rows (`ReadModelTable.checks`). */

export const isStoredObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object whose members are whole numbers. */
export const isCountsByName = (value: unknown): boolean =>
  isStoredObject(value) && Object.values(value).every(Number.isSafeInteger);

/** A whole number as a decimal text. */
export const isDecimalText = (value: unknown): boolean =>
  typeof value === 'string' && /^-?\d+$/.test(value);
