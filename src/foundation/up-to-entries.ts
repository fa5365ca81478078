/**
 * Bounds an `LRUCache` by its number of entries. Counted one each: a cache of `max` entries
 * allocates room for all of them at its start.
 */
export const upToEntries = (
  entries: number,
): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
});
