import { spreadMs } from '../../foundation/pause.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Behind the first, the second … failed attempt; behind later ones as behind the last. */
const DELAYS_MS = [15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR];
/** Older events are told to nobody: what was sent because of them may have been forgotten. */
export const TOLD_WITHIN_MS = 7 * 24 * HOUR;
/** How long a mail is tried again from its first failure on. */
export const RETRIED_FOR_MS = 48 * HOUR;

/** How long after a failed attempt the next one is due, milliseconds; `attempts` is at least 1. */
export const retryInMs = (attempts: number): number =>
  spreadMs(DELAYS_MS[Math.min(attempts, DELAYS_MS.length) - 1] ?? 0);
