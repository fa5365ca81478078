import pg from 'pg';
import { ERASURES, type UndecodableEvent } from './projector.js';

/** Neither decoded nor parked with its stream: the projection waits, and skips nothing. */
export class StoppedAtUndecodable extends Error {
  override readonly name = 'StoppedAtUndecodable';
  constructor(
    readonly position: string,
    reason: string,
  ) {
    super(`the event at ${position} cannot be decoded: ${reason}`);
  }
}

/** Permanent errors of written values: bad data, broken constraint, oversized key. */
export function isDataError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23|54)/.test(error.code ?? '');
}

/** JavaScript errors whose messages quote the value: of `BigInt`, `JSON.parse`. */
const QUOTING: ReadonlySet<string> = new Set(['SyntaxError', 'RangeError']);

/** Database errors quote values, which may be personal: only code and place are kept. */
export function describeError(error: unknown): string {
  if (error instanceof pg.DatabaseError) {
    const place = [error.schema, error.table, error.column, error.constraint]
      .filter((part) => part !== undefined)
      .join(' ');
    // Errors of syntax and access (class 42) quote only this code's statements, and name the
    // missing object.
    const text = error.code?.startsWith('42') ? `: ${error.message}` : '';
    return `database error ${error.code ?? 'unknown'}${place === '' ? '' : ` (${place})`}${text}`;
  }
  if (!(error instanceof Error)) return 'unknown error';
  return QUOTING.has(error.name)
    ? `${error.name}${placeIn(error)}`
    : `${error.name}: ${error.message}`;
}

/** A named frame of this code; `BigInt (<anonymous>)` and Node's own do not count. */
const NAMED_FRAME = /^ {4}at (?:async )?(?:new )?([\w$.#]+) .*\((?!node:).*:\d+:\d+\)$/;
const FRAMES_SHOWN_MAX = 3;

/** Innermost first. Names only: the stack's first lines are the message. */
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

/** Begins the reason of a stream that is parked for an undecodable event. */
export const UNREADABLE = 'cannot be decoded: ';

export const unreadableBecause = ({ undecodable }: UndecodableEvent): string =>
  `${UNREADABLE}${undecodable}`;

/** With more, the fault is larger than single accounts: the projection waits. */
export const UNREADABLE_STREAMS_MAX = 10_000;

/** Not for an erasure: a later release may have forgotten the person. */
export const parksItsStream = (type: string, parkedStreams: number): boolean =>
  parkedStreams < UNREADABLE_STREAMS_MAX && !(ERASURES as readonly string[]).includes(type);
