import { NO_REVISION, type ExpectedRevision } from './stored-event.js';
import { type StreamOfEvents } from './stream-of-events.js';

/** What an append to a stream in this state comes to. */
export type AppendDecision =
  | { readonly kind: 'write' }
  /** The very same events stand there already, the last of them at this revision. */
  | { readonly kind: 'repeat'; readonly revision: number }
  | { readonly kind: 'wrong-expected-version'; readonly actual: number }
  | { readonly kind: 'stream-deleted' };

/**
 * The server's version rules. A repeat is recognised by event ids alone: for a stated revision at
 * the very places that the append would have written to, otherwise wherever the stream holds them.
 * An expectation that holds is never a repeat.
 */
export function checkAppend(
  stream: StreamOfEvents,
  expected: ExpectedRevision,
  ids: readonly string[],
  metadataExists: boolean,
): AppendDecision {
  const actual = stream.lastRevision;
  const refused: AppendDecision = { kind: 'wrong-expected-version', actual };
  if (stream.tombstone) return { kind: 'stream-deleted' };
  if (expected === 'stream_exists') {
    if (stream.softDeleted) return { kind: 'stream-deleted' };
    if (actual === NO_REVISION && !metadataExists) return refused;
  }
  if (expected === 'any' || expected === 'stream_exists') return anywhere(stream, ids, refused);
  const revision = expected === 'no_stream' ? NO_REVISION : expected;
  if (revision > actual) return refused;
  return revision === actual ? { kind: 'write' } : behindTheHead(stream, revision, ids, refused);
}

function anywhere(
  stream: StreamOfEvents,
  ids: readonly string[],
  refused: AppendDecision,
): AppendDecision {
  let last: number | undefined;
  for (const [place, id] of ids.entries()) {
    const revision = stream.revisionOf(id);
    if (revision === undefined) return place === 0 ? { kind: 'write' } : refused;
    last = revision;
  }
  return last === undefined ? { kind: 'write' } : { kind: 'repeat', revision: last };
}

function behindTheHead(
  stream: StreamOfEvents,
  expected: number,
  ids: readonly string[],
  refused: AppendDecision,
): AppendDecision {
  for (const [place, id] of ids.entries()) {
    if (stream.events[expected + 1 + place]?.id === id) continue;
    return place === 0 && expected === NO_REVISION && stream.softDeleted
      ? { kind: 'write' }
      : refused;
  }
  return ids.length === 0 ? refused : { kind: 'repeat', revision: expected + ids.length };
}
