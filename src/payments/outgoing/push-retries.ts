import { spreadMs } from '../../foundation/pause.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LONGEST_MS = 60 * MINUTE;

/** After a call without an outcome. @param failures in a row, at least 1. */
export const retryInMs = (failures: number): number => delayMs(2 * SECOND, failures);

/** Until a customer's subscription is looked for again. @param looks in a row, at least 1. */
export const lookAgainInMs = (looks: number): number => delayMs(MINUTE, looks);

/** Doubled each time, up to an hour, a fifth more or less. */
const delayMs = (first: number, times: number): number =>
  spreadMs(Math.min(LONGEST_MS, first * 2 ** Math.min(times - 1, 20)));
