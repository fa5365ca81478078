import { backOffMs, pause } from '../foundation/pause.js';
import type { Doorbell } from './doorbell.js';
import { EventLogUnavailable, type RecordedEvent } from './event-log.js';

/** A part of the log, and where the next one begins. */
export interface TailPage<C> {
  readonly events: readonly RecordedEvent[];
  readonly next: C;
  /** Another page may follow immediately. */
  readonly isFull: boolean;
}

export interface Tail<C> {
  readonly start: C;
  /** `rung`: new events were reported. @throws {EventLogUnavailable} */
  read(cursor: C, rung: boolean): Promise<TailPage<C>>;
  /** Of a cursor, in the doorbell's own count. */
  ordinal(cursor: C): bigint;
  readonly doorbell: Doorbell;
  /** How long to wait for the doorbell before the next read. */
  readonly pollIntervalMs: number;
  /** Each of them ends the tail. */
  readonly endings: readonly AbortSignal[];
}

const RETRY = { first: 50, max: 1_000 };

/** Endless pages in order; retries while the store is unavailable; ends with any signal. */
export async function* followPages<C>(
  tail: Tail<C>,
): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
  const { doorbell, pollIntervalMs } = tail;
  const ending = AbortSignal.any([...tail.endings]);
  let cursor = tail.start;
  let failures = 0;
  for (let isRung = false; !ending.aborted;) {
    const before = doorbell.position;
    const { wakeCount } = doorbell;
    let page: TailPage<C> | undefined;
    try {
      page = await unlessAborted(tail.read(cursor, isRung), ending);
      failures = 0;
    } catch (error) {
      if (!(error instanceof EventLogUnavailable)) throw error;
      await pause(backOffMs(failures++, RETRY), ending);
      continue;
    }
    if (page === undefined) return;
    cursor = page.next;
    if (page.events.length > 0) yield page.events;
    if (page.isFull) {
      // After a page of events another may follow. After an empty page of a shared store that is
      // unknown.
      isRung = page.events.length > 0;
      continue;
    }
    // Includes positions reported before the read: a log that lost its end might never reach them
    // again.
    const known = before > tail.ordinal(cursor) ? before : tail.ordinal(cursor);
    await doorbell.beyond(known, wakeCount, pollIntervalMs, ending);
    isRung = doorbell.position > known;
  }
}

/** The value, or undefined once the signal aborts; a later value is dropped. */
async function unlessAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) {
    value.catch(() => undefined);
    return undefined;
  }
  let abort: () => void = () => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    abort = () => resolve(undefined);
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
