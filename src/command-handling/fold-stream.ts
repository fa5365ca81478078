import type { DomainEvent } from '../domain/events.js';
import type { Decoded } from '../event-log/codec.js';
import type { CommandMeta } from '../event-log/envelope.js';
import type { AppendResult, NewEvent } from '../event-log/event-log.js';
import { UnreadableEvent } from '../event-log/event-schemas.js';
import { timeNow } from '../foundation/world.js';
import { HandledCommands } from './handled-commands.js';
import {
  bytesOf,
  HEAP_PER_HANDLED,
  HEAP_PER_STREAM,
  type Folded,
  type StoredBytes,
} from './stream-cache.js';

export interface Folding<S, E extends DomainEvent> {
  readonly initialState: S;
  readonly evolve: (state: S, event: E) => S;
  /** Memory of a state whose events replace each other. Undefined: events add up. */
  readonly heapOf?: (state: S) => number;
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

/** Estimated memory of a stream in this state, after these events. */
const heapAfter = <S, E extends DomainEvent>(
  { heapOf }: Folding<S, E>,
  { bytes, handled }: Folded<S>,
  state: S,
  events: readonly StoredBytes[],
): number =>
  heapOf === undefined
    ? bytes + bytesOf(events)
    : HEAP_PER_STREAM + heapOf(state) + HEAP_PER_HANDLED * handled.size;

/** @throws {UnreadableEvent} for damaged bytes: members of the event's version are missing. */
export function fold<S, E extends DomainEvent>(
  folding: Folding<S, E>,
  folded: Folded<S>,
  decoded: readonly Decoded[],
): Folded<S> {
  let { state, revision, position, eventId } = folded;
  for (const { event, envelope, recorded } of decoded) {
    state = readable(event, () => {
      const after = folding.evolve(state, event as E);
      folded.handled.record(envelope, {
        lastRevision: recorded.revision,
        recordedAt: recorded.recordedAt,
      });
      return after;
    });
    revision = recorded.revision;
    position = recorded.position;
    eventId = recorded.id;
  }
  const stored = decoded.map(({ recorded }) => recorded);
  return {
    state,
    revision,
    position,
    eventId,
    epoch: folded.epoch,
    handled: folded.handled,
    bytes: heapAfter(folding, folded, state, stored),
  };
}

/** A command's events, as appended. */
export interface Appended<E> {
  readonly meta: CommandMeta;
  readonly events: readonly E[];
  readonly encoded: readonly NewEvent[];
  readonly appended: Extract<AppendResult, { kind: 'appended' }>;
}

export function foldAppended<S, E extends DomainEvent>(
  folding: Folding<S, E>,
  before: Folded<S>,
  { meta, events, encoded, appended: { revision, position } }: Appended<E>,
): Folded<S> {
  const { epoch, handled } = before;
  const state = events.reduce((folded, event) => folding.evolve(folded, event), before.state);
  handled.record(meta, { lastRevision: revision, recordedAt: timeNow() });
  const bytes = heapAfter(folding, before, state, encoded);
  return { state, revision, position, eventId: encoded.at(-1)?.id ?? null, epoch, handled, bytes };
}

function readable<S>({ type }: DomainEvent, apply: () => S): S {
  try {
    return apply();
  } catch (error) {
    throw new UnreadableEvent(`an event of type ${type} cannot be applied`, { cause: error });
  }
}
