import { jitteredMs } from '../../foundation/pause.js';

/** Retry delays of deliveries and of failing endpoints. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** After the first, second … failed attempt; the last value repeats. */
const DELAYS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];
/** A delivery is retried for this time. */
export const RETRIED_FOR_MS = 3 * DAY;
/** Longest `Retry-After` that is honoured. */
const RETRY_AFTER_MS_MAX = DAY;

/** An endpoint is failing after this many consecutive failures. */
export const FAILING_FROM = 3;
/** A failing endpoint is paused for 1, 2, 4 … seconds, up to this many. */
export const PROBE_SECONDS_MAX = 30;

/** Attempts since the event, or since an operator resent the delivery. */
export interface RetryHistory {
  /** Includes the failed one: at least 1. */
  readonly attempts: number;
  /** Milliseconds since the first of them, without the time in which the endpoint was disabled. */
  readonly forMs: number;
}

/**
 * Milliseconds from a failed attempt to the next; null: the delivery is dead.
 * @param retryAfterMs the receiver's minimum.
 */
export function retryInMs(
  { attempts, forMs }: RetryHistory,
  retryAfterMs: number | null,
): number | null {
  const delay = DELAYS_MS[Math.min(attempts, DELAYS_MS.length) - 1] ?? 0;
  const asked = Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  const inMs = Math.max(jitteredMs(delay), asked);
  return forMs + inMs > RETRIED_FOR_MS ? null : inMs;
}
