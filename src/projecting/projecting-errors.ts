import pg from 'pg';

/**
 * The rows or the checkpoint are no longer what this process loaded: somebody else writes this
 * generation. Load again, then go on.
 */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
  constructor(readonly projection: string) {
    super(`the checkpoint of ${projection} was moved by another writer`);
  }
}

/**
 * The next event that a projection must read cannot be decoded. It waits there: an event is never
 * passed over.
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
 * True for errors that the written values cause and that a repetition would meet again: bad data, a
 * broken constraint, an oversized key.
 */
export function isDataError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23|54)/.test(error.code ?? '');
}

/**
 * What may be logged and stored of an error. A database error's own text quotes values, which may
 * be personal: only its place is told.
 */
export function describeError(error: unknown): string {
  if (error instanceof pg.DatabaseError) {
    const place = [error.schema, error.table, error.column, error.constraint]
      .filter((part) => part !== undefined)
      .join(' ');
    // Errors of syntax and access (class 42) quote our own statements only, and say what is
    // missing.
    const text = error.code?.startsWith('42') ? `: ${error.message}` : '';
    return `database error ${error.code ?? 'unknown'}${place === '' ? '' : ` (${place})`}${text}`;
  }
  return error instanceof Error ? `${error.name}: ${error.message}` : 'unknown error';
}
