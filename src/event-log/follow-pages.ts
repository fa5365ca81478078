import { backOffMs, pause } from '../foundation/pause.js';
import type { Doorbell } from './doorbell.js';
import { EventLogUnavailable, type RecordedEvent } from './event-log.js';

/** A stretch of the log, and where the next one begins. */
export interface TailPage<C> {
  readonly events: readonly RecordedEvent[];
  readonly next: C;
  /** There may be more right behind it. */
  readonly isFull: boolean;
}

export interface Tail<C> {
  readonly start: C;
  /**
   * `rung`: somebody said that there is news; otherwise it is a look out of caution. @throws
   * {EventLogUnavailable}
   */
  read(cursor: C, rung: boolean): Promise<TailPage<C>>;
  /** Of a cursor, in the doorbell's own count. */
  ordinal(cursor: C): bigint;
  readonly doorbell: Doorbell;
  /** How long to wait for the doorbell before looking all the same. */
  readonly pollIntervalMs: number;
  /** Each of them ends the tail. */
  readonly endings: readonly AbortSignal[];
}

const RETRY = { first: 50, max: 1_000 };

/**
 * Pages for ever, in order, from the start on; a store that is away is asked again until it is
 * back. Ends with any of the signals.
 */
export async function* followPages<C>(
  tail: Tail<C>,
): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
  const { doorbell, pollIntervalMs } = tail;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  for (const ended of tail.endings) {
    if (ended.aborted) end();
    ended.addEventListener('abort', end);
  }
  try {
    let cursor = tail.start;
    let failures = 0;
    for (let isRung = false; !ending.signal.aborted;) {
      const before = doorbell.position;
      const { alarms } = doorbell;
      let page: TailPage<C> | undefined;
      try {
        page = await unlessAborted(tail.read(cursor, isRung), ending.signal);
        failures = 0;
      } catch (error) {
        if (!(error instanceof EventLogUnavailable)) throw error;
        await pause(backOffMs(failures++, RETRY), ending.signal);
        continue;
      }
      if (page === undefined) return;
      cursor = page.next;
      if (page.events.length > 0) yield page.events;
      if (page.isFull) {
        // Behind a page of events there is more; behind one without any, of a store that others
        // use, nobody knows.
        isRung = page.events.length > 0;
        continue;
      }
      // Beyond what it was rung for before the read as well: had the log lost its end, waiting for
      // that again would never end.
      const known = before > tail.ordinal(cursor) ? before : tail.ordinal(cursor);
      await doorbell.beyond(known, alarms, pollIntervalMs, ending.signal);
      isRung = doorbell.position > known;
    }
  } finally {
    for (const ended of tail.endings) ended.removeEventListener('abort', end);
  }
}

/** The value, or undefined as soon as the signal aborts; what comes after that is dropped. */
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
