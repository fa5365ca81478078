import type { EventLog, Position } from './event-log.js';
import { logPages } from './event-pages.js';

export const LAG_EVENTS_MAX = 1_000;

/** How far a follower lags. */
export interface Lag {
  /** Events after the position, up to `LAG_EVENTS_MAX`, which means at least as many. */
  readonly lagEvents: number;
  /** Age of the oldest event after the position; 0 at the head. */
  readonly lagSeconds: number;
}

/** Since the last move (undefined: never), but not longer than there was work. */
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
  let lagEvents = 0;
  let oldest = Infinity;
  const range = { after: position, upTo: head };
  for await (const page of logPages(log, { ...range, limit: LAG_EVENTS_MAX })) {
    lagEvents += page.length;
    for (const { recordedAt } of page) oldest = Math.min(oldest, recordedAt);
    if (lagEvents >= LAG_EVENTS_MAX) break;
  }
  return {
    lagEvents: Math.min(LAG_EVENTS_MAX, lagEvents),
    lagSeconds: Math.max(0, now - oldest) / 1_000,
  };
}
