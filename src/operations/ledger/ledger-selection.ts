import type { EventLog, Position } from '../../event-log/event-log.js';
import { instant } from '../../foundation/instant.js';
import { positionOfOrigin } from './origin-positions.js';
import { type NotDone, notDoneAbout, quoted } from '../outcome.js';

/**
 * The part of the ledger that an operator selects, as typed. Times and positions are inclusive; a
 * time is an event's effective time (`effectiveTimeOf`). A day without a time is the whole day in
 * UTC: `asOf` and `to` end with it, or now if it is today.
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
): Promise<Selection> {
  if (asOf !== undefined && position !== undefined)
    throw notDoneAbout(
      ['asOf', 'position'],
      (word) => `${word('asOf')} and ${word('position')} exclude each other`,
    );
  const asOfTime = endOf('asOf', asOf, now);
  const fromTime = timeOf('from', from, now);
  const toTime = endOf('to', to, now, asOfTime);
  if (toTime !== undefined && asOfTime !== undefined && toTime > asOfTime)
    throw liesAfter('to', 'asOf');
  const until = toTime ?? asOfTime;
  const after = toTime === undefined ? 'asOf' : 'to';
  if (fromTime !== undefined && until !== undefined && fromTime > until)
    throw liesAfter('from', after);
  const upTo = position === undefined ? undefined : await positionIn(log, position);
  return { upTo, asked: position, from: fromTime, until };
}

/** @param because what the member is or takes. */
export const refusedTime = (member: string, because: string): NotDone =>
  notDoneAbout(member, (word) => `${word(member)} ${because}`);

const liesAfter = (member: string, other: string): NotDone =>
  notDoneAbout(member, (word) => `${word(member)} lies after ${word(other)}`);

async function positionIn(log: EventLog, position: Position): Promise<Position> {
  const own = log.isPosition(position) ? position : await positionOfOrigin(log, position);
  if (own === undefined)
    throw notDoneAbout(
      'position',
      `${quoted(position)} is no position of this log, nor of an event that came from another`,
    );
  if (log.compare(own, await log.head()) > 0)
    throw notDoneAbout('position', `the position ${position} is beyond the head of the log`);
  return own;
}

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** Epoch milliseconds of a time as typed, past or future. */
export function anyTimeOf(argument: string, text: string): number {
  // A date without a time is its first moment; a time without a zone is UTC.
  const time = ISO.test(text) ? instant(text) : null;
  if (time === null) throw refusedTime(argument, 'takes a time such as 2026-10-31T23:59:59Z');
  return time;
}

/** Epoch milliseconds of a past time as typed; undefined: none was. */
export function timeOf(
  argument: string,
  text: string | undefined,
  now: number,
): number | undefined {
  if (text === undefined) return undefined;
  const time = anyTimeOf(argument, text);
  if (time > now) throw refusedTime(argument, 'lies in the future');
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
): number | undefined {
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

export function parsePeriod(name: string): Period {
  const [, year = '', month = ''] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(name) ?? [];
  if (year === '') throw refusedTime('period', 'takes a month such as 2026-10');
  return {
    from: Date.UTC(Number(year), Number(month) - 1),
    to: Date.UTC(Number(year), Number(month)) - 1,
  };
}
