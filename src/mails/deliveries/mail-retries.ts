import { jitteredMs } from '../../foundation/pause.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** After the first, second … failed attempt; the last value repeats. */
const DELAYS_MS = [15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR];
/** Older events send no mail: the records of earlier mails may have been deleted. */
export const PLANNED_WITHIN_MS = 7 * 24 * HOUR;
/** A mail is retried for this time after its first failure. */
export const RETRIED_FOR_MS = 48 * HOUR;

/** Milliseconds from a failed attempt to the next; `attempts` is at least 1. */
export const retryInMs = (attempts: number): number =>
  jitteredMs(DELAYS_MS[Math.min(attempts, DELAYS_MS.length) - 1] ?? 0);
