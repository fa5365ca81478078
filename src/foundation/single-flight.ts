/** Calls at the same time share one call of the work. */
export function sharedCall<T>(work: () => Promise<T>): () => Promise<T> {
  let called: Promise<T> | undefined;
  return () => (called ??= work().finally(() => (called = undefined)));
}
