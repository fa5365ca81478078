import type { EventLog, Position } from '../../event-log/event-log.js';
import { argument, sentence } from '../../foundation/operator-refusal.js';
import { CommandError } from '../command-error.js';
import { positionOfOrigin } from './origin-positions.js';

/**
 * What part of the ledger an operator asks for, as typed. Times and positions are inclusive and go
 * by recording.
 */
export interface SelectionOptions {
  readonly asOf?: string;
  readonly position?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface Selection {
  /** Of this log. Undefined: whatever the log holds. */
  readonly upTo: Position | undefined;
  /** The same as it was typed: it may be of the log where the event was recorded first. */
  readonly asked: Position | undefined;
  /** Epoch milliseconds; undefined: from the beginning. */
  readonly from: number | undefined;
  /** Epoch milliseconds; undefined: no bound but `upTo`. */
  readonly until: number | undefined;
}

/**
 * @throws {CommandError} for what cannot be, a time in the future and a position beyond the head
 * among it.
 */
export async function select(
  log: EventLog,
  { asOf, position, from, to }: SelectionOptions,
  now = Date.now(),
): Promise<Selection> {
  if (asOf !== undefined && position !== undefined)
    throw new CommandError(
      sentence`${argument('asOf')} and ${argument('position')} exclude each other`,
    );
  const asOfTime = timeOf('asOf', asOf, now);
  const fromTime = timeOf('from', from, now);
  const toTime = timeOf('to', to, now);
  if (toTime !== undefined && asOfTime !== undefined && toTime > asOfTime) {
    throw new CommandError(sentence`${argument('to')} lies after ${argument('asOf')}`);
  }
  const until = toTime ?? asOfTime;
  if (fromTime !== undefined && until !== undefined && fromTime > until)
    throw new CommandError(
      sentence`${argument('from')} lies after ${argument(toTime === undefined ? 'asOf' : 'to')}`,
    );
  const upTo = position === undefined ? undefined : await positionIn(log, position);
  return { upTo, asked: position, from: fromTime, until };
}

async function positionIn(log: EventLog, position: Position): Promise<Position> {
  const own = log.isPosition(position) ? position : await positionOfOrigin(log, position);
  if (own === undefined)
    throw new CommandError(
      `${JSON.stringify(position.slice(0, 80))} is no position of this log, nor of an event that came from another`,
    );
  if (log.compare(own, await log.head()) > 0)
    throw new CommandError(`the position ${position} is beyond the head of the log`);
  return own;
}

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

function timeOf(name: string, text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const match = ISO.exec(text);
  // A date alone is its first moment; without a zone it is UTC.
  const time =
    match === null
      ? NaN
      : Date.parse(text.includes('T') && match[1] === undefined ? `${text}Z` : text);
  if (Number.isNaN(time) || !isDayOfCalendar(text.slice(0, 10)))
    throw new CommandError(sentence`${argument(name)} takes a time such as 2026-10-31T23:59:59Z`);
  if (time > now) throw new CommandError(sentence`${argument(name)} lies in the future`);
  return time;
}

/** The 31st of February is none, though a parser takes it for the 3rd of March. */
const isDayOfCalendar = (day: string): boolean =>
  new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);

/** A month of the ledger, in UTC; both ends included, epoch milliseconds. */
export interface Period {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** @throws {CommandError} */
export function parsePeriod(name: string): Period {
  const [, year = '', month = ''] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(name) ?? [];
  if (year === '')
    throw new CommandError(sentence`${argument('period')} takes a month such as 2026-10`);
  return {
    name,
    from: Date.UTC(Number(year), Number(month) - 1),
    to: Date.UTC(Number(year), Number(month)) - 1,
  };
}
