import { LRUCache } from 'lru-cache';
import type { SubjectId } from '../domain/personal.js';
import type { ExpectedRevision, Position, StreamEnd } from '../event-log/event-log.js';
import type { HandledCommands } from './handled-commands.js';

/** A stream as of its newest event that this process has seen. */
export interface Folded<S> {
  readonly state: S;
  readonly revision: ExpectedRevision;
  /** Position of the newest event; null when the stream does not exist. */
  readonly position: Position | null;
  /** Id of the newest event; null when the stream does not exist. */
  readonly eventId: string | null;
  /** `EventLog.epoch` when it was read. */
  readonly epoch: number;
  /** One per stream, shared by its successive states. */
  readonly handled: HandledCommands;
  /** What remembering it takes, estimated; grows with every event. */
  readonly bytes: number;
}

/**
 * Bytes of memory that a remembered stream takes at most for each byte of its events as they are
 * stored, metadata included. Measured over accounts of many shapes (`npm run bench:remembered`,
 * figures in docs/benchmarks.md): what is longest in the log, sealed texts and metadata, takes
 * least in a state.
 */
export const HEAP_PER_STORED_BYTE = 2;
/** Of a stream itself: its entry, its name, the empty state. */
export const HEAP_PER_STREAM = 4 * 1024;

/** What remembering these events adds, by the bytes that the log has of them. */
export const bytesOf = (
  events: readonly { readonly data: string; readonly metadata: string }[],
): number =>
  HEAP_PER_STORED_BYTE *
  events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);

/** So much all kinds of streams together may take, unless it is configured. */
const REMEMBERED_BYTES = 512 * 1024 * 1024;

/**
 * The memory for remembered streams of every kind. When it is full, the stream that was used
 * longest ago is dropped.
 */
export class RememberedStreams {
  readonly #streams: LRUCache<string, { readonly of: object; readonly folded: Folded<unknown> }>;

  /**
   * @param bytesMax a stream that is larger by itself is not remembered: it is read anew each time.
   */
  constructor(bytesMax = REMEMBERED_BYTES) {
    this.#streams = new LRUCache({
      maxSize: bytesMax,
      maxEntrySize: bytesMax,
      sizeCalculation: ({ folded }) => Math.ceil(folded.bytes),
    });
  }

  /** What is remembered now, as estimated. */
  get bytes(): number {
    return this.#streams.calculatedSize;
  }

  get size(): number {
    return this.#streams.size;
  }

  get(stream: string): Folded<unknown> | undefined {
    return this.#streams.get(stream)?.folded;
  }

  set(stream: string, of: object, folded: Folded<unknown>): void {
    this.#streams.set(stream, { of, folded });
  }

  delete(stream: string): void {
    this.#streams.delete(stream);
  }

  /** Drops those of one kind that `isGone` says of. */
  deleteWhere(of: object, isGone: (folded: Folded<unknown>) => boolean): void {
    for (const [stream, entry] of [...this.#streams.entries()])
      if (entry.of === of && isGone(entry.folded)) this.#streams.delete(stream);
  }
}

/** What an append or a read behind this state has to find there; undefined: nothing. */
export const endOf = ({ revision, eventId, epoch }: Folded<unknown>): StreamEnd | undefined =>
  revision === 'no-stream' || eventId === null ? undefined : { revision, eventId, epoch };

/** The streams of one kind that this process remembers, newest state only. */
export class StreamCache<S> {
  private forgotten = 0;

  /**
   * @param remembered shared with other kinds; names of streams are unique over all of them.
   * @param subjectsOf whose plain values stand in a state; left out: nobody's.
   */
  constructor(
    private readonly remembered: RememberedStreams,
    private readonly subjectsOf?: (state: S) => Iterable<SubjectId>,
  ) {}

  /** How often somebody was forgotten: what was folded while that happened is not remembered. */
  get forgets(): number {
    return this.forgotten;
  }

  get(stream: string): Folded<S> | undefined {
    return this.remembered.get(stream) as Folded<S> | undefined;
  }

  /**
   * Remembers a stream. A slower reader never puts an older state in place of a newer one.
   * @param forgetsBefore `forgets` as it was before the events were decoded.
   * @returns what was given.
   */
  keep(stream: string, folded: Folded<S>, forgetsBefore: number): Folded<S> {
    if (this.forgotten !== forgetsBefore) return folded;
    const present = this.get(stream);
    if (present && toNumber(present.revision) > toNumber(folded.revision)) return folded;
    if (folded.revision !== 'no-stream') this.remembered.set(stream, this, folded);
    return folded;
  }

  /** Drops what is remembered of one stream. */
  forget(stream: string): void {
    this.remembered.delete(stream);
  }

  /**
   * Drops what is remembered of streams that show one of these subjects in plain; undefined: of all
   * streams.
   */
  forgetSubjects(subjects?: ReadonlySet<SubjectId>): void {
    this.forgotten++;
    const { subjectsOf } = this;
    if (subjects === undefined) this.remembered.deleteWhere(this, () => true);
    else if (subjectsOf)
      this.remembered.deleteWhere(this, ({ state }) =>
        [...subjectsOf(state as S)].some((subject) => subjects.has(subject)),
      );
  }
}

const toNumber = (revision: ExpectedRevision): bigint =>
  revision === 'no-stream' ? -1n : revision;
