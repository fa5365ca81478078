import type { EventLog, Position, RecordedEvent } from './event-log.js';
import { logPages } from './event-pages.js';

export const LAG_EVENTS_MAX = 1_000;

/** How far a follower of the log is behind it. */
export interface Lag {
  /**
   * Number of events after the position, up to `LAG_EVENTS_MAX`; that number means: at least as
   * many.
   */
  readonly lagEvents: number;
  /** Age of the oldest event after the position; 0 at the head. */
  readonly lagSeconds: number;
}

/**
 * How long a follower has stood still, in seconds: since its last move, but not longer than it has
 * had anything to do. 0 at the head.
 * @param movedAt epoch milliseconds; undefined: it never moved.
 */
export function stillSeconds(
  { lagSeconds }: Lag,
  movedAt: number | undefined,
  now: number,
): number {
  return movedAt === undefined
    ? lagSeconds
    : Math.min(lagSeconds, Math.max(0, now - movedAt) / 1_000);
}

/** How far the head is ahead of a position. @throws {EventLogUnavailable} */
export async function lagAfter(
  log: EventLog,
  position: Position | undefined,
  head: Position | undefined,
  now: number,
): Promise<Lag> {
  if (log.compare(position, head) >= 0) return AT_HEAD;
  const between = log.eventsBetween?.(position, head);
  if (between === undefined) return lagByPages(log, { after: position, upTo: head }, now);
  let behind = await log.readAll(position, 1);
  if (behind.length === 0) return AT_HEAD;
  // Recorded under a clock that was ahead: it shows nothing, and those after it do.
  if (behind.some(({ recordedAt }) => recordedAt > now))
    behind = await log.readAll(position, LAG_EVENTS_MAX);
  return {
    lagEvents: Math.min(LAG_EVENTS_MAX, between),
    lagSeconds: secondsSince(oldestOf(behind), now),
  };
}

const AT_HEAD: Lag = { lagEvents: 0, lagSeconds: 0 };

const oldestOf = (events: readonly RecordedEvent[]): number =>
  events.reduce((oldest, { recordedAt }) => Math.min(oldest, recordedAt), Infinity);

const secondsSince = (recordedAt: number, now: number): number =>
  Math.max(0, now - recordedAt) / 1_000;

async function lagByPages(
  log: EventLog,
  range: { readonly after: Position | undefined; readonly upTo: Position | undefined },
  now: number,
): Promise<Lag> {
  let lagEvents = 0;
  let oldest = Infinity;
  for await (const page of logPages(log, { ...range, limit: LAG_EVENTS_MAX })) {
    oldest = Math.min(oldest, oldestOf(page));
    lagEvents += page.length;
    if (lagEvents >= LAG_EVENTS_MAX) break;
  }
  return {
    lagEvents: Math.min(LAG_EVENTS_MAX, lagEvents),
    lagSeconds: secondsSince(oldest, now),
  };
}
