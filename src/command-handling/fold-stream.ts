import type { DomainEvent } from '../domain/events.js';
import type { Decoded } from '../event-log/codec.js';
import { HandledCommands } from './handled-commands.js';
import { bytesOf, HEAP_PER_STREAM, type Folded } from './stream-cache.js';

/** How the events of a stream become its state. */
export interface Folding<S, E extends DomainEvent> {
  readonly initialState: S;
  readonly evolve: (state: S, event: E) => S;
}

export function emptyStream<S, E extends DomainEvent>({ initialState }: Folding<S, E>): Folded<S> {
  return {
    state: initialState,
    revision: 'no-stream',
    position: null,
    eventId: null,
    epoch: 0,
    handled: new HandledCommands(),
    bytes: HEAP_PER_STREAM,
  };
}

export function fold<S, E extends DomainEvent>(
  { evolve }: Folding<S, E>,
  folded: Folded<S>,
  decoded: readonly Decoded[],
): Folded<S> {
  let { state, revision, position, eventId } = folded;
  const bytes = folded.bytes + bytesOf(decoded.map(({ recorded }) => recorded));
  for (const { event, envelope, recorded } of decoded) {
    state = evolve(state, event as E);
    revision = recorded.revision;
    position = recorded.position;
    eventId = recorded.id;
    folded.handled.record(envelope, {
      lastRevision: recorded.revision,
      recordedAt: recorded.recordedAt,
    });
  }
  return {
    state,
    revision,
    position,
    eventId,
    epoch: folded.epoch,
    handled: folded.handled,
    bytes,
  };
}
