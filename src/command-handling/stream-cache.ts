import { LRUCache } from 'lru-cache';
import type { SubjectId } from '../domain/personal.js';
import type { ExpectedRevision, Position, StreamEnd } from '../event-log/event-log.js';
import type { HandledCommands } from './handled-commands.js';

/** A stream's state as of its newest event that this process has read. */
export interface Folded<S> {
  readonly state: S;
  readonly revision: ExpectedRevision;
  /** Of the newest event; null when the stream does not exist. */
  readonly position: Position | null;
  /** Of the newest event; null when the stream does not exist. */
  readonly eventId: string | null;
  /** `EventLog.epoch` at the read. */
  readonly epoch: number;
  /** One per stream, shared by its successive states. */
  readonly handled: HandledCommands;
  /** Estimated memory; grows with every event. */
  readonly bytes: number;
}

/**
 * Upper bound of a cached stream's memory per stored byte, metadata included. Measured over
 * accounts of many shapes: sealed texts and metadata, most of the log, take least in a state.
 */
export const HEAP_PER_STORED_BYTE = 2;
/** Of a repeatable command: two entries, its ids and its fingerprint. */
export const HEAP_PER_HANDLED = 1024;
/** Of an empty stream: its entry, its name, its state. */
export const HEAP_PER_STREAM = 4 * 1024;

/** Bytes that a state keeps of these types (src/domain/account/users/events-seen.ts). */
const DATA_KEPT_MAX: Readonly<Record<string, number>> = {
  UserEventReceived: 1024,
};

export interface StoredBytes {
  readonly type?: string;
  readonly data: string;
  readonly metadata: string;
}

/** Estimated memory that these events add. */
export const bytesOf = (events: readonly StoredBytes[]): number =>
  HEAP_PER_STORED_BYTE *
  events.reduce(
    (sum, { type = '', data, metadata }) =>
      sum + Math.min(data.length, DATA_KEPT_MAX[type] ?? Infinity) + metadata.length,
    0,
  );

/** The default limit for all kinds of streams together. */
const CACHE_BYTES = 512 * 1024 * 1024;

interface CacheEntry {
  /** The cache of its kind. */
  readonly of: object;
  readonly folded: Folded<unknown>;
}

/** The cache of streams of every kind, with the least recently used evicted first. */
export class CachedStreams extends LRUCache<string, CacheEntry> {
  /** @param bytesMax a larger stream is not cached. */
  constructor(bytesMax = CACHE_BYTES) {
    super({
      maxSize: bytesMax,
      maxEntrySize: bytesMax,
      sizeCalculation: ({ folded }) => Math.ceil(folded.bytes),
    });
  }

  get bytes(): number {
    return this.calculatedSize;
  }
}

/** The event that an append or a read after this state must find; undefined: none. */
export const streamEndOf = ({
  revision,
  eventId,
  epoch,
}: Folded<unknown>): StreamEnd | undefined =>
  revision === 'no-stream' || eventId === null ? undefined : { revision, eventId, epoch };

/** The cached streams of one kind, newest state only. */
export class StreamCache<S> {
  private evictionCount = 0;

  /**
   * @param remembered shared with other kinds; stream names are unique over all of them.
   * @param subjectsOf the people whose plain values a state contains.
   */
  constructor(
    private readonly remembered: CachedStreams,
    private readonly subjectsOf?: (state: S) => Iterable<SubjectId>,
  ) {}

  /** A state that was folded across an eviction is not cached. */
  get evictions(): number {
    return this.evictionCount;
  }

  get(stream: string): Folded<S> | undefined {
    return this.remembered.get(stream)?.folded as Folded<S> | undefined;
  }

  /**
   * Caches a stream; an older state never replaces a newer one.
   * @param evictionsBefore `evictions` before the events were decoded.
   * @returns `folded`.
   */
  put(stream: string, folded: Folded<S>, evictionsBefore: number): Folded<S> {
    if (this.evictionCount !== evictionsBefore) return folded;
    const present = this.get(stream);
    if (present && toNumber(present.revision) > toNumber(folded.revision)) return folded;
    if (folded.revision !== 'no-stream') this.remembered.set(stream, { of: this, folded });
    return folded;
  }

  forget(stream: string): void {
    this.remembered.delete(stream);
  }

  /** Evicts the streams with plain values of these people; undefined: all streams. */
  forgetSubjects(subjects?: ReadonlySet<SubjectId>): void {
    this.evictionCount++;
    const { remembered, subjectsOf } = this;
    const isGone = (state: S): boolean =>
      subjects === undefined ||
      [...(subjectsOf?.(state) ?? [])].some((subject) => subjects.has(subject));
    for (const [stream, { of, folded }] of [...remembered.entries()])
      if (of === this && isGone(folded.state as S)) remembered.delete(stream);
  }
}

const toNumber = (revision: ExpectedRevision): bigint =>
  revision === 'no-stream' ? -1n : revision;
