/** For an `LRUCache`: its option `max` would allocate room for all entries at the start. */
export const upToEntries = (
  entries: number,
): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
});
