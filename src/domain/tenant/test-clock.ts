/** A tenant's clock in test mode: the real clock plus an offset. It moves forward only. */

import type { Decision } from '../decision.js';
import type { Ask, Fact } from '../fact.js';
import { refused } from '../refusal.js';
import type { Mode } from '../scope.js';

/** From here on the test clock is this far ahead of the real one, in milliseconds. */
export type TestClockMoved = Fact<'TestClockMoved', { offsetMs: number }>;

/** By a duration, or to a time, both in milliseconds. */
export type MoveTestClock = Ask<
  'MoveTestClock',
  { to: { readonly byMs: number } | { readonly time: number } }
>;

/** Of a tenant. Null: it has no test clock. */
export interface TestClock {
  readonly testOffsetMs: number | null;
}

/** How far the clock of the mode is ahead of the real one, in milliseconds. */
export const clockOffset = ({ testOffsetMs }: TestClock, mode: Mode): number =>
  mode === 'live' ? 0 : (testOffsetMs ?? 0);

/** Dates of rewards lie after the clock, and all are written with a year of four digits. */
const CLOCK_END = Date.UTC(9000, 0, 1);

export function moveTestClock(
  { testOffsetMs }: TestClock,
  { to, now: at }: MoveTestClock,
): Decision<TestClockMoved> {
  const before = at + (testOffsetMs ?? 0);
  const time = 'time' in to ? to.time : before + to.byMs;
  if (time <= before || time >= CLOCK_END)
    return refused(
      'TEST_CLOCK_NOT_FORWARD',
      `the test clock is at ${new Date(before).toISOString()} and moves to a later time before the year 9000`,
    );
  return { events: [{ type: 'TestClockMoved', at, offsetMs: time - at }] };
}
