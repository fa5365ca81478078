/** Sorts by UTF-16 code units, the same in any locale. */
export const inTextOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
