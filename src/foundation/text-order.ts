/** For `sort`: by UTF-16 code units, in any locale. */
export const inTextOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
