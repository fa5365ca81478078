/**
 * A tenant's clock in test mode: the real clock plus an offset. It moves forward only, and ends
 * when the test data are removed.
 */

import type { Decision } from '../decision.js';
import type { Ask, Fact } from '../fact.js';
import { refused } from '../refusal.js';
import { modeOf, type LedgerMode, type Mode, type Scope } from '../scope.js';

/** From here on the test clock is this far ahead of the real one, in milliseconds. */
export type TestClockMoved = Fact<'TestClockMoved', { offsetMs: number }>;

/** The data of test mode were removed: from here on they are in the ledger of this number. */
export type TestDataRemoved = Fact<'TestDataRemoved', { ledger: number }>;

/** By a duration, or to a time, both in milliseconds. */
export type MoveTestClock = Ask<
  'MoveTestClock',
  { to: { readonly byMs: number } | { readonly time: number } }
>;

export type RemoveTestData = Ask<'RemoveTestData'>;

/** Of a tenant. */
export interface TestClock {
  /** Null: it has no test clock. */
  readonly testOffsetMs: number | null;
  /** How often the test data were removed, and when last. */
  readonly testLedger: { readonly number: number; readonly since: number };
}

/** How far the clock of the mode is ahead of the real one, in milliseconds. */
export const clockOffset = (
  { testOffsetMs }: Pick<TestClock, 'testOffsetMs'>,
  mode: LedgerMode,
): number => (mode === 'live' ? 0 : (testOffsetMs ?? 0));

/** Where the data of the mode are now. */
export function ledgerOf(
  { alias, testLedger }: Pick<TestClock, 'testLedger'> & { readonly alias: string },
  mode: Mode,
): Scope {
  const isFirst = mode === 'live' || testLedger.number === 0;
  return { tenant: alias, mode: isFirst ? mode : `test-${testLedger.number}` };
}

/** Whether test data were removed since: nothing of such a ledger is shown or sent. */
export const isRemoved = (
  tenant: Pick<TestClock, 'testLedger'> & { readonly alias: string },
  { mode }: Pick<Scope, 'mode'>,
): boolean => ledgerOf(tenant, modeOf(mode)).mode !== mode;

/** Dates of rewards lie after the clock, and all are written with a year of four digits. */
const CLOCK_END = Date.UTC(9000, 0, 1);

export function decideOnTestClock(
  state: TestClock,
  command: MoveTestClock | RemoveTestData,
): Decision<TestClockMoved | TestDataRemoved> {
  if (command.type === 'MoveTestClock') return moved(state, command);
  const ledger = state.testLedger.number + 1;
  return { events: [{ type: 'TestDataRemoved', at: command.now, ledger }] };
}

function moved(
  { testOffsetMs }: Pick<TestClock, 'testOffsetMs'>,
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
