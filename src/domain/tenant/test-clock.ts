import type { Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';
import { refused } from '../refusal.js';
import { modeOf, type LedgerMode, type Mode, type Scope } from '../scope.js';

/** The offset from the real clock; only grows, and ends when the test data is removed. */
export type TestClockMoved = Fact<'TestClockMoved', { offsetMs: number }>;

/** The test data was removed: from now on it is in the ledger of this number. */
export type TestDataRemoved = Fact<'TestDataRemoved', { ledger: number }>;

/** By a duration, or to a time, in milliseconds. */
export type MoveTestClock = Command<
  'MoveTestClock',
  { to: { readonly byMs: number } | { readonly time: number } }
>;

export type RemoveTestData = Command<'RemoveTestData'>;

export interface TestClock {
  /** Null: no test clock. */
  readonly testOffsetMs: number | null;
  /** Number of removals of the test data, and the time of the last one. */
  readonly testLedger: { readonly number: number; readonly since: number };
}

/** How far the clock of the mode is ahead of the real one, in milliseconds. */
export const clockOffset = (
  { testOffsetMs }: Pick<TestClock, 'testOffsetMs'>,
  mode: LedgerMode,
): number => (mode === 'live' ? 0 : (testOffsetMs ?? 0));

/** The current ledger of the mode. */
export function ledgerOf(
  { alias, testLedger }: Pick<TestClock, 'testLedger'> & { readonly alias: string },
  mode: Mode,
): Scope {
  const isFirst = mode === 'live' || testLedger.number === 0;
  return { tenant: alias, mode: isFirst ? mode : `test-${testLedger.number}` };
}

/** Test data of this ledger was removed: it is neither shown nor sent. */
export const isRemoved = (
  tenant: Pick<TestClock, 'testLedger'> & { readonly alias: string },
  { mode }: Pick<Scope, 'mode'>,
): boolean => ledgerOf(tenant, modeOf(mode)).mode !== mode;

/** All dates of rewards after it have years of four digits. */
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
