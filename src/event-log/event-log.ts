/**
 * The port between the service and its log. Two adapters stand behind it, one contract suite holds
 * them (test/event-log/event-log.contract.ts). Nothing outside this folder knows which one runs.
 *
 * Words: a *stream* is the ordered history of one thing; a *revision* is an event's place in its
 * stream (0, 1, 2 …, dense); a *position* is its place in the whole log, an opaque string that only
 * its own log can read or compare.
 */

export type Position = string;

/**
 * The revision that the stream must have for the append to happen; `no-stream`: the stream must not
 * exist.
 */
export type ExpectedRevision = bigint | 'no-stream';

/**
 * Where and when an event was recorded first, of an event that this log has by copying another log.
 */
export interface Origin {
  /** In the log that recorded it; only that log can compare it. */
  readonly position: Position;
  /** Epoch milliseconds of that log's clock. */
  readonly recordedAt: number;
}

/**
 * An event as it is stored. `data` and `metadata` are JSON texts; what is stored is given back byte
 * for byte.
 */
export interface NewEvent {
  /** A UUID, made once per append: by it a log recognises the same append when it comes again. */
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
  /**
   * Where and when another log recorded it first, of an event that is copied from there. Stored
   * beside the metadata; `metadata` is without it.
   */
  readonly origin?: Origin;
}

export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  /**
   * When it was recorded first, epoch milliseconds of that log's own clock (of a cluster: of the
   * node that led).
   */
  readonly recordedAt: number;
}

/** An event and where it stood in the log when this process read or wrote it. */
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
   * its end (a fail-over to a server that lacked it, a restore) no longer holds it there. It is
   * compared at every reconnect, in every tail, by `look`, and whenever an append comes to stand at
   * or before it.
   */
  readonly newestSeen: SeenEvent | undefined;

  /**
   * How often this process found that the log went back. What was read in another epoch than this
   * one may be in no log any more.
   */
  readonly epoch: number;

  /**
   * Called at once, before any further read or append is answered, each time the log is found to
   * have gone back. Returns how to stop.
   */
  onWentBack(listener: (from: SeenEvent) => void): () => void;

  /** Compares the newest event seen with the log. @throws {EventLogUnavailable} */
  look(): Promise<void>;

  /**
   * Whether this event stands at this position. False for a position of another log. @throws
   * {EventLogUnavailable}
   */
  holds(event: SeenEvent): Promise<boolean>;

  /**
   * Appends to one stream, all or nothing. The same ids at the same expected revision are a success
   * that returns the first position, and nothing tells it from the first time: whoever decides anew
   * takes new ids. After an unknown outcome (`EventLogUnavailable`) the identical call may be
   * repeated.
   * @param end the newest event that the decision rests on, at the expected revision. An append on
   * a state of another epoch conflicts. Postgres compares the event's id in the same transaction as
   * well; EventStoreDB knows revisions only (docs/adr/0023).
   * @throws {InvalidAppend} {AppendTooLarge} before anything is sent.
   * @throws {EventLogUnavailable} when the log is away or does not answer in time.
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
   * @throws {LogWentBack} when the stream no longer ends in, or goes on behind, the event that
   * `end` names; and when it lost what was read
   *   of it already.
   */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;

  /**
   * One page of the whole log: at most `limit` events after the position, in order; empty at the
   * head.
   */
  readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]>;

  /**
   * The live tail: pages after the position, for ever, each page as soon as there is something.
   * Ends when the signal aborts. A reader past P is never handed something at or before P later.
   * Survives the loss of the log: it waits and goes on.
   * @throws {LogWentBack} when the log lost the event at the reader's position: what was read is
   * not in this log.
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
   * How much of what ends at `end` lies at or before `at`, from 0 to 1: an estimate, for people who
   * wait. Asks nobody.
   */
  fraction(at: Position | undefined, end: Position | undefined): number;

  /**
   * A number that is greater for a later position, at most 2^64: for comparing positions in the
   * database.
   */
  order(position: Position): bigint;

  /**
   * True for a position that this log could have given out (its own log, well-formed); says nothing
   * of the head.
   */
  isPosition(token: string): boolean;

  /**
   * Who the log is. Positions are of one log; a copy of a log is another one. @throws
   * {EventLogUnavailable}
   */
  id(): Promise<string>;

  /**
   * Where what the store keeps beside the events contradicts them first (positions without gaps,
   * revisions of streams); null: nowhere. Left out where the store keeps nothing that we could
   * compare. Reads the whole log. @throws {EventLogUnavailable}
   */
  contradiction?(): Promise<Position | null>;

  /**
   * Asks the store. @throws {EventLogUnavailable} whose message says to an operator what is wrong.
   */
  check(): Promise<LogCheck>;

  close(): Promise<void>;
}

export interface ReadStreamOptions {
  readonly from?: bigint;
  /** Read what comes behind it, and make sure that it is still there; `from` is ignored. */
  readonly end?: StreamEnd | undefined;
}

/** What a log says of itself when it is well. */
export interface LogCheck {
  /** The store and its version, for people: `postgres 18.1`. */
  readonly store: string;
  readonly head: Position | undefined;
}

/**
 * One append is bounded, so that every adapter can hold it: the summed bytes of data and metadata.
 */
export const APPEND_BYTES_MAX = 900 * 1024;

export class AppendTooLarge extends Error {
  override readonly name = 'AppendTooLarge';
  constructor(readonly bytes: number) {
    super(`an append of ${bytes} bytes is over the limit of ${APPEND_BYTES_MAX}`);
  }
}

/** The log cannot be reached or did not answer in time. An append may or may not have happened. */
export class EventLogUnavailable extends Error {
  override readonly name = 'EventLogUnavailable';
}

/**
 * The log no longer holds an event that this process had read or written: it lost its end. Whoever
 * remembers anything begins again.
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
