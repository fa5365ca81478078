import type { DomainEvent } from '../domain/events.js';
import type { RecordedEvent } from '../event-log/event-log.js';
import { versionIn, unreadableReason } from '../event-log/known-events.js';
import type { LedgerEvent, UndecodableEvent } from '../projecting/projector.js';
import { ALL_POLICIES, type ParkedAt } from './parked-reactions.js';
import type { Policy } from './policy.js';

export interface ReadingOptions {
  readonly policies: readonly Policy[];
  readonly decode: (
    recorded: readonly RecordedEvent[],
  ) => Promise<readonly (LedgerEvent<DomainEvent> | UndecodableEvent)[]>;
  /** Why this release cannot read an event; undefined: it can. Default: by its schemas. */
  readonly unreadableReason?: ((event: RecordedEvent) => string | undefined) | undefined;
}

/** An event as policies receive it. */
export interface MetEvent {
  readonly recorded: RecordedEvent;
  /** It is unreadable here: all reactions to its stream wait from it on. */
  readonly parkedAt?: ParkedAt;
  readonly event?: LedgerEvent<DomainEvent>;
  /** The policies that react to it. */
  readonly policies: readonly Policy[];
}

/**
 * Selects the events that policies may have to react to, in order: those of handled types, and
 * those that this release cannot read, which a policy of a later release may handle. @throws when
 * the keys of people cannot be read.
 */
export async function meetEvents(
  recorded: readonly RecordedEvent[],
  options: ReadingOptions,
): Promise<readonly MetEvent[]> {
  const { policies, decode } = options;
  const relevant = recorded.flatMap((event) => {
    const why = (options.unreadableReason ?? unreadableReason)(event);
    const handling = policies.filter(({ handles }) =>
      (handles as ReadonlySet<string>).has(event.type),
    );
    return why !== undefined || handling.length > 0 ? [{ event, why, handling }] : [];
  });
  const readable = relevant.filter(({ why }) => why === undefined).map(({ event }) => event);
  const decoded = new Map(
    (readable.length === 0 ? [] : await decode(readable)).map((result, index) => [
      readable[index],
      result,
    ]),
  );
  return relevant.map(({ event, why, handling }) => {
    if (why !== undefined)
      return { recorded: event, parkedAt: unknownAt(event, why), policies: handling };
    const result = decoded.get(event);
    if (result === undefined) throw new Error('an event was not decoded');
    if (!('undecodable' in result)) return { recorded: event, event: result, policies: handling };
    return {
      recorded: event,
      parkedAt: { policy: ALL_POLICIES, event, reason: result.undecodable },
      policies: handling,
    };
  });
}

function unknownAt(event: RecordedEvent, reason: string): ParkedAt {
  return {
    policy: ALL_POLICIES,
    event,
    reason,
    unknown: { type: event.type, version: versionIn(event.metadata) ?? null },
  };
}
