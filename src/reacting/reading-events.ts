import type { DomainEvent } from '../domain/events.js';
import type { RecordedEvent } from '../event-log/event-log.js';
import { versionIn, unreadableReason } from '../event-log/known-events.js';
import { decodePage, type PageEvent } from '../projecting/page.js';
import type { DecodeEvents, LedgerEvent } from '../projecting/projector.js';
import { ALL_POLICIES, type ParkedAt } from './parked-reactions.js';
import type { Policy } from './policy.js';

export interface ReadingOptions {
  readonly policies: readonly Policy[];
  readonly decode: DecodeEvents<DomainEvent>;
  /** Why this release cannot read an event. Default: by its schemas. */
  readonly unreadableReason?: ((event: RecordedEvent) => string | undefined) | undefined;
}

/** An event as policies receive it. */
export interface PolicyEvent {
  readonly recorded: RecordedEvent;
  /** It is unreadable here: all reactions to its stream wait from here on. */
  readonly parkedAt?: ParkedAt;
  readonly event?: LedgerEvent<DomainEvent>;
  /** The policies that react to it. */
  readonly policies: readonly Policy[];
}

/** Those of handled types, and unreadable ones, which a later release may handle. */
export function selectEvents(
  events: readonly PageEvent[],
  options: Pick<ReadingOptions, 'policies' | 'unreadableReason'>,
): readonly PolicyEvent[] {
  return events.flatMap(({ recorded, decoded, undecodable }): PolicyEvent | readonly [] => {
    const policies = handlingOf(recorded, options);
    const why = whyUnreadable(recorded, options);
    if (why !== undefined) return { recorded, parkedAt: unknownAt(recorded, why), policies };
    if (policies.length === 0) return [];
    if (decoded) return { recorded, event: decoded, policies };
    const reason = undecodable?.undecodable ?? 'no result';
    return { recorded, parkedAt: { policy: ALL_POLICIES, event: recorded, reason }, policies };
  });
}

/** As far as policies may react. @throws when the keys of people cannot be read. */
export async function decodePolicyEvents(
  recorded: readonly RecordedEvent[],
  options: ReadingOptions,
): Promise<readonly PolicyEvent[]> {
  const relevant = recorded.filter(
    (event) => handlingOf(event, options).length > 0 || whyUnreadable(event, options) !== undefined,
  );
  const page = await decodePage(relevant, options.decode as DecodeEvents);
  return selectEvents(page?.events ?? [], options);
}

const handlingOf = (
  { type }: RecordedEvent,
  { policies }: Pick<ReadingOptions, 'policies'>,
): readonly Policy[] =>
  policies.filter(({ handles }) => (handles as ReadonlySet<string>).has(type));

const whyUnreadable = (
  event: RecordedEvent,
  options: Pick<ReadingOptions, 'unreadableReason'>,
): string | undefined => (options.unreadableReason ?? unreadableReason)(event);

function unknownAt(event: RecordedEvent, reason: string): ParkedAt {
  return {
    policy: ALL_POLICIES,
    event,
    reason,
    unknown: { type: event.type, version: versionIn(event.metadata) ?? null },
  };
}
