/** What a replay or a reconciliation compares, as a cell: numbers stay numbers. */
export const shownValue = (value: unknown): string | number =>
  typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value ?? null);
