import { NO_REVISION, type ExpectedRevision, type StoredEvent } from './stored-event.js';

/** The outcome of an append to a stream in this state. */
export type AppendDecision =
  | { readonly kind: 'write' }
  /** The very same events stand there already, the last of them at this revision. */
  | { readonly kind: 'repeat'; readonly revision: number }
  | { readonly kind: 'wrong-expected-version'; readonly actual: number };

/**
 * The server's version rules for a stated revision. A repeat is recognised by event ids alone, at
 * the very places that the append would have written to.
 */
export function checkAppend(
  events: readonly StoredEvent[],
  expected: ExpectedRevision,
  ids: readonly string[],
): AppendDecision {
  const actual = events.length - 1;
  const revision = expected === 'no_stream' ? NO_REVISION : expected;
  if (revision === actual) return { kind: 'write' };
  const isRepeat =
    revision < actual && ids.every((id, place) => events[revision + 1 + place]?.id === id);
  return isRepeat
    ? { kind: 'repeat', revision: revision + ids.length }
    : { kind: 'wrong-expected-version', actual };
}
