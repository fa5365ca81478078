/**
 * The port to the event log, with two adapters and one contract suite
 * (test/event-log/event-log.contract.ts). No code outside this folder depends on the adapter.
 * Positions are opaque: only their own log can read or compare them (docs/glossary.md).
 */

export type Position = string;

/** The stream's required revision; `no-stream`: the stream must not exist. */
export type ExpectedRevision = bigint | 'no-stream';

/** Where and when another log first recorded a copied event. */
export interface Origin {
  /** Only the log that recorded it can compare it. */
  readonly position: Position;
  /** Epoch milliseconds of that log's clock. */
  readonly recordedAt: number;
}

/** `data` and `metadata` are JSON texts, returned byte for byte. */
export interface NewEvent {
  /** A UUID made once per append, so that a repeated append is recognised. */
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
  /** Of a copied event. Stored with the metadata, and not part of `metadata`. */
  readonly origin?: Origin;
}

export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  /** First recording, epoch milliseconds of that log's clock (a cluster's leader). */
  readonly recordedAt: number;
}

/** An event and its position when this process read or wrote it. */
export interface SeenEvent {
  readonly position: Position;
  readonly eventId: string;
}

/** The newest event of a stream, as a reader remembers it. */
export interface StreamEnd {
  readonly revision: bigint;
  readonly eventId: string;
  /** `EventLog.epoch` when it was read or written. */
  readonly epoch: number;
}

export type AppendResult =
  | {
      readonly kind: 'appended';
      /** The last event of this append. */
      readonly position: Position;
      readonly revision: bigint;
    }
  | {
      readonly kind: 'conflict';
      readonly expected: ExpectedRevision;
      readonly actual: ExpectedRevision;
    };

export interface EventLog {
  /**
   * The newest event that this process read or wrote. A log that lost its end (fail-over to a
   * server without it, restore) no longer has it there. It is looked up again: at every reconnect,
   * in every tail, by `checkNewestSeen`, and when an append is recorded at or before its position.
   */
  readonly newestSeen: SeenEvent | undefined;

  /**
   * How many times this process found that the log had lost its end. Events of earlier epochs may
   * be gone.
   */
  readonly epoch: number;

  /**
   * The listener is called before any further read or append returns. Returns a function that
   * removes it.
   */
  onWentBack(listener: (from: SeenEvent) => void): () => void;

  /** Compares the newest event seen with the log. @throws {EventLogUnavailable} */
  checkNewestSeen(): Promise<void>;

  /** False for a position of another log. @throws {EventLogUnavailable} */
  holds(event: SeenEvent): Promise<boolean>;

  /**
   * Appends to one stream, all or nothing. A repeat with the same ids at the same expected revision
   * returns the result of the first call, also after an unknown outcome (`EventLogUnavailable`); a
   * new decision needs new ids.
   * @param end the newest event that the decision depends on, at the expected revision. An append
   * based on another epoch conflicts. Postgres also compares the event's id in the transaction;
   * EventStoreDB has revisions only (docs/adr/0023).
   * @throws {InvalidAppend} {AppendTooLarge} before anything is sent.
   * @throws {EventLogUnavailable} when the log is unavailable or late; `LogAheadOfClock` while the
   * newest event is ahead of this process's clock.
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult>;

  /**
   * Events of one stream in order, from revision `from` on (default 0), or after `end`. Empty for a
   * missing stream.
   * @throws {LogWentBack} when the stream lost `end` or events that were already read.
   */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;

  /** At most `limit` events in order; fewer above `PAGE_BYTES_MAX`, none only at the head. */
  readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]>;

  /**
   * The live tail: pages as of `readAll`, each as soon as it has an event. No event at or before a
   * returned position arrives later. Waits while the log is unavailable; ends with the signal.
   * @throws {LogWentBack} when the log lost the event at the reader's position.
   */
  follow(
    after: Position | undefined,
    options: { readonly signal: AbortSignal; readonly pageSize?: number },
  ): AsyncIterable<readonly RecordedEvent[]>;

  /** The position of the newest event; undefined: the log is empty. */
  head(): Promise<Position | undefined>;

  /** Negative, zero or positive, as for sorting. Undefined is before everything. */
  compare(a: Position | undefined, b: Position | undefined): number;

  /** Up to 2^64, grows with the position; for comparisons in the database and for progress. */
  order(position: Position): bigint;

  /** True for a well-formed position of this log; it may lie beyond the head. */
  isPosition(token: string): boolean;

  /** The identity of the log; a copy is another log. @throws {EventLogUnavailable} */
  id(): Promise<string>;

  /**
   * Reads the whole log. Returns where the store's numbering (gapless positions, revisions) first
   * contradicts its events; null: nowhere. Missing for a store without such numbering.
   * @throws {EventLogUnavailable}
   */
  contradiction?(): Promise<Position | null>;

  /** Calls the store. @throws {EventLogUnavailable} with a message for operators. */
  check(): Promise<LogCheck>;

  close(): Promise<void>;
}

export interface ReadStreamOptions {
  readonly from?: bigint;
  /** Reads the events after it and checks that it still exists; `from` is ignored. */
  readonly end?: StreamEnd | undefined;
  /** Positive; default: all. A few are read without a whole page. */
  readonly limit?: number;
}

export interface LogCheck {
  /** The store and its version, for people: `postgres 18.1`. */
  readonly store: string;
  readonly head: Position | undefined;
  /** Recording time of the newest event, epoch milliseconds; undefined: the log is empty. */
  readonly recordedAt: number | undefined;
}

/** Bytes of data and metadata that every adapter can append. */
export const APPEND_BYTES_MAX = 900 * 1024;

export class AppendTooLarge extends Error {
  override readonly name = 'AppendTooLarge';
  constructor(readonly bytes: number) {
    super(`an append of ${bytes} bytes is over the limit of ${APPEND_BYTES_MAX}`);
  }
}

/** The log is unavailable or late. An append may or may not have happened. */
export class EventLogUnavailable extends Error {
  override readonly name: string = 'EventLogUnavailable';
}

/** A development build from before the first release made the log, and it stays unavailable. */
export class LogOlderThanBaseline extends EventLogUnavailable {
  override readonly name = 'LogOlderThanBaseline';
  constructor() {
    super(
      'EventStoreDB holds the log of a development build from before the first release, which this release cannot read: set another store in EVENT_STORE_URL, or another EVENT_STORE_NAMESPACE',
    );
  }
}

/** The log lost an event that this process read or wrote: data read before are stale. */
export class LogWentBack extends Error {
  override readonly name = 'LogWentBack';
  constructor() {
    super('the log lost an event that was read from it');
  }
}

export function appendBytes(events: readonly NewEvent[]): number {
  return events.reduce(
    (sum, event) => sum + Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata),
    0,
  );
}
