import { timeNow } from '../foundation/world.js';
import { EventLogUnavailable, type EventLog, type LogCheck } from './event-log.js';

/** How far the newest event of the log may be ahead of the clock of a process. */
export const CLOCK_AHEAD_MS_MAX = 5 * 60_000;

export const CLOCK_RUNBOOK = 'docs/runbooks/clock-ahead.md';

/** Nothing was stored; succeeds when clocks agree or an operator has accepted the log. */
export class LogAheadOfClock extends EventLogUnavailable {
  constructor() {
    super(
      `the newest entry of the log is more than 5 minutes ahead of the clock: ${CLOCK_RUNBOOK}`,
    );
  }
}

/** How far the newest event is ahead of the clock, in milliseconds; never negative. */
export const msAhead = ({ recordedAt = 0 }: Partial<Pick<LogCheck, 'recordedAt'>>): number =>
  Math.max(0, recordedAt - timeNow());

export const isAhead = (newest: Partial<Pick<LogCheck, 'recordedAt'>>): boolean =>
  msAhead(newest) > CLOCK_AHEAD_MS_MAX;

/** @throws {LogAheadOfClock} {EventLogUnavailable} when the log takes no appends. */
export async function checkClock(log: Pick<EventLog, 'check'>): Promise<void> {
  if (isAhead(await log.check())) throw new LogAheadOfClock();
}
