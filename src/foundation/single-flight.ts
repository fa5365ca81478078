import { elapsed } from './world.js';

/** Calls at the same time share one call of the work. */
export function sharedCall<T>(work: () => Promise<T>): () => Promise<T> {
  let called: Promise<T> | undefined;
  return () => (called ??= work().finally(() => (called = undefined)));
}

/** Calls within this time share the first one's result; a failure is not kept. */
export function keptCall<T>(keptMs: number, work: () => Promise<T>): () => Promise<T> {
  let kept: { readonly result: Promise<T>; readonly until: number } | undefined;
  return () => {
    if (kept !== undefined && elapsed() < kept.until) return kept.result;
    const call = { result: work(), until: elapsed() + keptMs };
    call.result.catch(() => {
      if (kept === call) kept = undefined;
    });
    kept = call;
    return call.result;
  };
}
