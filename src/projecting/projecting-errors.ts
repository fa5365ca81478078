import pg from 'pg';
import { ERASURES, type UndecodableEvent } from './projector.js';

/**
 * The next event that a projection must read cannot be decoded, and its stream alone cannot be
 * parked. The projection waits: events are never skipped.
 */
export class StoppedAtUndecodable extends Error {
  override readonly name = 'StoppedAtUndecodable';
  constructor(
    readonly position: string,
    reason: string,
  ) {
    super(`the event at ${position} cannot be decoded: ${reason}`);
  }
}

/**
 * True for permanent errors of the written values: bad data, a broken constraint, an oversized key.
 */
export function isDataError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23|54)/.test(error.code ?? '');
}

/** Errors of the language whose messages quote the value: of `BigInt`, `JSON.parse`. */
const QUOTING: ReadonlySet<string> = new Set(['SyntaxError', 'RangeError']);

/**
 * The part of an error that may be logged and stored. A database error's text quotes values, which
 * may be personal: only its code and place are kept.
 */
export function describeError(error: unknown): string {
  if (error instanceof pg.DatabaseError) {
    const place = [error.schema, error.table, error.column, error.constraint]
      .filter((part) => part !== undefined)
      .join(' ');
    // Errors of syntax and access (class 42) quote only our own statements, and name the missing
    // object.
    const text = error.code?.startsWith('42') ? `: ${error.message}` : '';
    return `database error ${error.code ?? 'unknown'}${place === '' ? '' : ` (${place})`}${text}`;
  }
  if (!(error instanceof Error)) return 'unknown error';
  return QUOTING.has(error.name)
    ? `${error.name}${placeIn(error)}`
    : `${error.name}: ${error.message}`;
}

/** A frame of our own code that has a name; `BigInt (<anonymous>)` and Node's own do not count. */
const NAMED_FRAME = /^ {4}at (?:async )?(?:new )?([\w$.#]+) .*\((?!node:).*:\d+:\d+\)$/;
const FRAMES_SHOWN_MAX = 3;

/**
 * The functions that the error was thrown in, the innermost first. Of the stack only the names of
 * functions are used: its first lines are the message.
 */
function placeIn({ name, message, stack = '' }: Error): string {
  const head = message === '' ? name : `${name}: ${message}`;
  if (!stack.startsWith(head)) return '';
  const names = stack
    .slice(head.length)
    .split('\n')
    .flatMap((line) => NAMED_FRAME.exec(line)?.[1] ?? [])
    .slice(0, FRAMES_SHOWN_MAX);
  return names.length === 0 ? '' : ` in ${names.join(', called by ')}`;
}

/** How the reason of a stream begins that is parked for an event that cannot be decoded. */
export const UNREADABLE = 'cannot be decoded: ';

/** Why the stream of the event is parked. */
export const unreadableBecause = ({ undecodable }: UndecodableEvent): string =>
  `${UNREADABLE}${undecodable}`;

/** Above it the fault is larger than single accounts: the projection waits. */
export const UNREADABLE_STREAMS_MAX = 10_000;

/**
 * Whether an event that cannot be decoded parks its stream alone. An erasure does not: nothing is
 * shown of a person whom a later release may have forgotten.
 */
export const parksItsStream = (type: string, parkedStreams: number): boolean =>
  parkedStreams < UNREADABLE_STREAMS_MAX && !(ERASURES as readonly string[]).includes(type);
