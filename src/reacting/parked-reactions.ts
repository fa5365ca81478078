import type { Position, RecordedEvent } from '../event-log/event-log.js';
import type { Logger } from '../foundation/logger.js';

/** Parks every policy: the event is unreadable here, so its policies are unknown. */
export const ALL_POLICIES = '*';

/** The handler that makes webhooks; its announcements can be parked. */
export const WEBHOOKS_HANDLER = 'webhooks';

/** From this event on the policy's reactions to its stream are parked. */
export interface ParkedReaction {
  readonly id: string;
  /** Its name, or `ALL_POLICIES`. */
  readonly policy: string;
  readonly eventId: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly reason: string;
  readonly since: Date;
  readonly tries: number;
  /** Grows whenever policies pass over later events of the stream. */
  readonly passedOver: bigint;
}

/** Where and why the reactions of a policy stop. */
export interface ParkedAt {
  readonly policy: string;
  readonly event: Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'>;
  readonly reason: string;
  readonly unknown?: UnknownEvent | undefined;
}

/** Logs once when the reactions are parked, not when a retry fails at the same event. */
export function logParkedReaction(
  logger: Pick<Logger, 'error'>,
  { policy, event: { position }, reason }: ParkedAt,
): void {
  logger.error(
    { policy, position, error: reason },
    policy === ALL_POLICIES
      ? 'this release cannot read an event: all reactions to its stream are parked'
      : 'a reaction failed again and again and is parked',
  );
}

/** The unreadable event's type and version. Null: the version could not be read. */
export interface UnknownEvent {
  readonly type: string;
  readonly version: number | null;
}

/** The outcome of a retry of one stream. */
export interface Settlement {
  /** By policy that is still parked, at the same or another event: its rows as read. */
  readonly stopped: readonly { readonly rows: readonly ParkedReaction[]; readonly to: ParkedAt }[];
  readonly added: readonly ParkedAt[];
  /** Deleted, unless events of their stream were passed over since they were read. */
  readonly done: readonly ParkedReaction[];
}

/** Number and age of parked reactions. */
export interface ParkedCounts {
  /** Reactions that failed. */
  readonly parked: number;
  /** Streams that wait for a release that can read them. */
  readonly heldBack: number;
  /** Age of the oldest one; 0: none. */
  readonly oldestSeconds: number;
  /** Reason of the newest parked one; null: none. */
  readonly parkedBecause: string | null;
}

/** The parked policies, by stream. */
export type ParkedStreams = Map<string, Set<string>>;
