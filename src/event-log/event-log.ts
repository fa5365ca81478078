/**
 * The port between the service and its log. It has two adapters and one contract suite
 * (test/event-log/event-log.contract.ts). Nothing outside this folder knows which adapter runs.
 *
 * Words: a *stream* is the ordered history of one thing; a *revision* is an event's index in its
 * stream (0, 1, 2 …, dense); a *position* is its place in the whole log, an opaque string that only
 * its own log can read or compare.
 */

export type Position = string;

/**
 * The revision that the stream must have for the append; `no-stream`: the stream must not exist.
 */
export type ExpectedRevision = bigint | 'no-stream';

/** Where and when another log first recorded an event that was copied into this log. */
export interface Origin {
  /** In the log that recorded it; only that log can compare it. */
  readonly position: Position;
  /** Epoch milliseconds of that log's clock. */
  readonly recordedAt: number;
}

/** An event as stored. `data` and `metadata` are JSON texts, returned byte for byte. */
export interface NewEvent {
  /** A UUID, made once per append: it makes a repeated append recognisable. */
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
  /**
   * Of a copied event: where and when another log first recorded it. Stored beside the metadata;
   * `metadata` is without it.
   */
  readonly origin?: Origin;
}

export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  /**
   * When it was first recorded, epoch milliseconds of that log's own clock (in a cluster: of the
   * leading node).
   */
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
      /** The position and revision of the last event of this append. */
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
   * The newest event that this process has read or written; undefined: none yet. A log that lost
   * its end (a fail-over to a server that lacked it, a restore) no longer has it there. It is
   * compared at every reconnect, in every tail, by `look`, and whenever an append is recorded at or
   * before its position.
   */
  readonly newestSeen: SeenEvent | undefined;

  /**
   * How often this process found that the log went back. Events read in an earlier epoch may no
   * longer exist.
   */
  readonly epoch: number;

  /**
   * Called each time the log is found to have gone back, before any further read or append returns.
   * Returns how to stop.
   */
  onWentBack(listener: (from: SeenEvent) => void): () => void;

  /** Compares the newest event seen with the log. @throws {EventLogUnavailable} */
  checkNewestSeen(): Promise<void>;

  /**
   * Whether the log has this event at this position. False for a position of another log. @throws
   * {EventLogUnavailable}
   */
  holds(event: SeenEvent): Promise<boolean>;

  /**
   * Appends to one stream, all or nothing. A repeat of the same ids at the same expected revision
   * succeeds with the first position and looks like the first call: a new decision needs new ids.
   * After an unknown outcome (`EventLogUnavailable`) the identical call may be repeated.
   * @param end the newest event that the decision rests on, at the expected revision. An append on
   * a state of another epoch conflicts. Postgres compares the event's id in the same transaction as
   * well; EventStoreDB knows revisions only (docs/adr/0023).
   * @throws {InvalidAppend} {AppendTooLarge} before anything is sent.
   * @throws {EventLogUnavailable} when the log is away or does not answer in time;
   * `LogAheadOfClock` while the newest event is ahead of the clock of this process.
   */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult>;

  /**
   * Events of one stream in order, from revision `from` on (default 0), or those behind `end`. A
   * stream that does not exist is empty.
   * @throws {LogWentBack} when the stream no longer has the event of `end` in its place, or lost
   * events that were read already.
   */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;

  /**
   * One page of the whole log: at most `limit` events after the position, in order, and fewer when
   * they are large (`PAGE_BYTES_MAX`); empty at the head alone.
   */
  readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]>;

  /**
   * The live tail: pages after the position, without end, each as soon as it has an event, limited
   * as those of `readAll`. Ends when the signal aborts. No event at or before a position that was
   * returned arrives later. Survives an unavailable log: it waits and goes on.
   * @throws {LogWentBack} when the log lost the event at the reader's position.
   */
  follow(
    after: Position | undefined,
    options: { readonly signal: AbortSignal; readonly pageSize?: number },
  ): AsyncIterable<readonly RecordedEvent[]>;

  /** The position of the newest event; undefined when the log is empty. */
  head(): Promise<Position | undefined>;

  /** Negative, zero or positive, as for sorting. Undefined is before everything. */
  compare(a: Position | undefined, b: Position | undefined): number;

  /**
   * A number that grows with the position, at most 2^64, about evenly with what is stored: for
   * comparing positions in the database, and for progress. Makes no call to the store.
   */
  order(position: Position): bigint;

  /** True for a well-formed position of this log; it may lie beyond the head. */
  isPosition(token: string): boolean;

  /**
   * The identity of the log. Positions belong to one log; a copy of a log is another log. @throws
   * {EventLogUnavailable}
   */
  id(): Promise<string>;

  /**
   * Where the store's own numbering (positions without gaps, revisions of streams) first
   * contradicts its events; null: nowhere. Missing for a store without numbering that could be
   * compared. Reads the whole log. @throws {EventLogUnavailable}
   */
  contradiction?(): Promise<Position | null>;

  /**
   * Calls the store. @throws {EventLogUnavailable} whose message tells an operator what is wrong.
   */
  check(): Promise<LogCheck>;

  close(): Promise<void>;
}

export interface ReadStreamOptions {
  readonly from?: bigint;
  /** Read the events behind it, and check that it still exists; `from` is ignored. */
  readonly end?: StreamEnd | undefined;
  /** At most this many events, above zero; default: all. A few are read without a whole page. */
  readonly limit?: number;
}

/** The result of a successful check. */
export interface LogCheck {
  /** The store and its version, for people: `postgres 18.1`. */
  readonly store: string;
  readonly head: Position | undefined;
  /** When the store recorded the newest event, epoch milliseconds; undefined: the log is empty. */
  readonly recordedAt: number | undefined;
}

/** The limit of one append, which every adapter can hold: the summed bytes of data and metadata. */
export const APPEND_BYTES_MAX = 900 * 1024;

export class AppendTooLarge extends Error {
  override readonly name = 'AppendTooLarge';
  constructor(readonly bytes: number) {
    super(`an append of ${bytes} bytes is over the limit of ${APPEND_BYTES_MAX}`);
  }
}

/** The log cannot be reached or did not answer in time. An append may or may not have happened. */
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

/**
 * The log no longer has an event that this process had read or written: it lost its end. Everything
 * remembered of it must be read anew.
 */
export class LogWentBack extends Error {
  override readonly name = 'LogWentBack';
  constructor() {
    super('the log no longer holds an event that was read from it');
  }
}

export function appendBytes(events: readonly NewEvent[]): number {
  return events.reduce(
    (sum, event) => sum + Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata),
    0,
  );
}
