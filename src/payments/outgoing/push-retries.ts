import { spreadMs } from '../../foundation/pause.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LONGEST_MS = 60 * MINUTE;

/** Delay after calls without an outcome. @param failures consecutive, at least 1. */
export const retryInMs = (failures: number): number => delayMs(2 * SECOND, failures);

/** Delay until the next check for a customer's subscription. @param looks so far, at least 1. */
export const nextCheckInMs = (looks: number): number => delayMs(MINUTE, looks);

/** Doubled each time up to an hour, with 20 % jitter. */
const delayMs = (first: number, times: number): number =>
  spreadMs(Math.min(LONGEST_MS, first * 2 ** Math.min(times - 1, 20)));
