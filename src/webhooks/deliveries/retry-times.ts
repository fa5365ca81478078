import { spreadMs } from '../../foundation/pause.js';

/** When a failed delivery is sent again, and an endpoint that keeps failing is tried again. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Behind the first, the second … failed attempt; behind later ones as behind the last. */
const DELAYS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];
/** How long a delivery is retried. */
export const RETRIED_FOR_MS = 3 * DAY;
/** A receiver that asks for more is asked again after it. */
const RETRY_AFTER_MS_MAX = DAY;

/** So many failures in a row make an endpoint a failing one. */
export const FAILING_FROM = 3;
/** A failing endpoint is left alone for 1, 2, 4 … seconds, up to this many. */
export const PROBE_SECONDS_MAX = 30;

/** A delivery's attempts since its event, or since it was last sent again by hand. */
export interface Retried {
  /** With the one that failed: at least 1. */
  readonly attempts: number;
  /** Since the first of them, milliseconds, without the time in which nothing was to be sent. */
  readonly forMs: number;
}

/**
 * How long after a failed attempt the next one is due, milliseconds; null: there is none, the
 * delivery is dead.
 * @param retryAfterMs what the receiver asked for: a minimum.
 */
export function retryInMs(
  { attempts, forMs }: Retried,
  retryAfterMs: number | null,
): number | null {
  const delay = DELAYS_MS[Math.min(attempts, DELAYS_MS.length) - 1] ?? 0;
  const asked = Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  const inMs = Math.max(spreadMs(delay), asked);
  return forMs + inMs > RETRIED_FOR_MS ? null : inMs;
}
