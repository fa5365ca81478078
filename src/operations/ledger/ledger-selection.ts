import type { EventLog, Position } from '../../event-log/event-log.js';
import { instant } from '../../foundation/instant.js';
import { NotDone, type Outcome } from '../outcome.js';
import { positionOfOrigin } from './origin-positions.js';

/**
 * The part of the ledger that an operator selects, as typed. Times and positions are inclusive and
 * refer to recording. A day without a time is the whole day in UTC: `asOf` and `to` end with it, or
 * now if it is today.
 */
export interface SelectionOptions {
  readonly asOf?: string;
  readonly position?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface Selection {
  /** A position of this log. Undefined: up to the head. */
  readonly upTo: Position | undefined;
  /** The position as typed: it may be one of the log that recorded the event first. */
  readonly asked: Position | undefined;
  /** Epoch milliseconds; undefined: from the beginning. */
  readonly from: number | undefined;
  /** Epoch milliseconds; undefined: no bound but `upTo`. */
  readonly until: number | undefined;
}

/** Refuses invalid selections, among them a time in the future and a position beyond the head. */
export async function select(
  log: EventLog,
  { asOf, position, from, to }: SelectionOptions,
  now = Date.now(),
): Promise<Outcome<Selection>> {
  if (asOf !== undefined && position !== undefined)
    return new NotDone({ code: 'TIME_AND_POSITION' });
  const asOfTime = endOf('asOf', asOf, now);
  if (asOfTime instanceof NotDone) return asOfTime;
  const fromTime = timeOf('from', from, now);
  if (fromTime instanceof NotDone) return fromTime;
  const toTime = endOf('to', to, now, asOfTime);
  if (toTime instanceof NotDone) return toTime;
  if (toTime !== undefined && asOfTime !== undefined && toTime > asOfTime)
    return new NotDone({ code: 'TIMES_REVERSED', argument: 'to', after: 'asOf' });
  const until = toTime ?? asOfTime;
  const after = toTime === undefined ? 'asOf' : 'to';
  if (fromTime !== undefined && until !== undefined && fromTime > until)
    return new NotDone({ code: 'TIMES_REVERSED', argument: 'from', after });
  const upTo = position === undefined ? undefined : await positionIn(log, position);
  if (upTo instanceof NotDone) return upTo;
  return { upTo, asked: position, from: fromTime, until };
}

async function positionIn(log: EventLog, position: Position): Promise<Outcome<Position>> {
  const own = log.isPosition(position) ? position : await positionOfOrigin(log, position);
  if (own === undefined) return new NotDone({ code: 'POSITION_UNKNOWN', position });
  if (log.compare(own, await log.head()) > 0)
    return new NotDone({ code: 'POSITION_BEYOND_HEAD', position });
  return own;
}

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** Epoch milliseconds of a past time as typed; undefined: none was. */
export function timeOf(
  argument: string,
  text: string | undefined,
  now: number,
): Outcome<number | undefined> {
  if (text === undefined) return undefined;
  // A date without a time is its first moment; a time without a zone is UTC.
  const time = ISO.test(text) ? instant(text) : null;
  if (time === null) return new NotDone({ code: 'TIME_MALFORMED', argument });
  if (time > now) return new NotDone({ code: 'TIME_IN_FUTURE', argument });
  return time;
}

/**
 * As `timeOf`; a day is its last moment, or `latest` on that day.
 * @param latest epoch milliseconds.
 */
function endOf(
  argument: string,
  text: string | undefined,
  now: number,
  latest = now,
): Outcome<number | undefined> {
  const time = timeOf(argument, text, now);
  return typeof time === 'number' && text !== undefined && DAY.test(text)
    ? Math.max(time, Math.min(time + DAY_MS - 1, latest))
    : time;
}

/** A day as typed, `YYYY-MM-DD`. */
export const DAY = /^\d{4}-\d{2}-\d{2}$/;
export const DAY_MS = 86_400_000;

/** The first and last moment of a month in UTC, in epoch milliseconds. */
interface Period {
  readonly from: number;
  readonly to: number;
}

export function parsePeriod(name: string): Outcome<Period> {
  const [, year = '', month = ''] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(name) ?? [];
  if (year === '') return new NotDone({ code: 'PERIOD_MALFORMED' });
  return {
    from: Date.UTC(Number(year), Number(month) - 1),
    to: Date.UTC(Number(year), Number(month)) - 1,
  };
}
