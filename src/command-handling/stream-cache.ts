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
}

const CACHED_STREAMS_MAX = 10_000;
/** What was folded from one event of an account takes up to 740 bytes (measured on users with codes): three quarters of a gigabyte at most. */
const CACHED_EVENTS_MAX = 1_000_000;
/** The longest streams are those of many small events, and read anew they cost most: none weighs so much that it could not stay. */
const STREAM_WEIGHT_MAX = 100_000;

/** What an append or a read behind this state has to find there; undefined: nothing. */
export const endOf = ({ revision, eventId, epoch }: Folded<unknown>): StreamEnd | undefined =>
  revision === 'no-stream' || eventId === null ? undefined : { revision, eventId, epoch };

/** The folded streams that this process remembers, newest state only. */
export class StreamCache<S> {
  private readonly streams = new LRUCache<string, Folded<S>>({
    max: CACHED_STREAMS_MAX,
    maxSize: CACHED_EVENTS_MAX,
    sizeCalculation: ({ revision }) => Math.min(Number(toNumber(revision)) + 1, STREAM_WEIGHT_MAX),
  });
  private forgotten = 0;

  /** @param subjectsOf whose plain values stand in a state; left out: nobody's. */
  constructor(private readonly subjectsOf?: (state: S) => Iterable<SubjectId>) {}

  /** How often somebody was forgotten: what was folded while that happened is not remembered. */
  get forgets(): number {
    return this.forgotten;
  }

  get(stream: string): Folded<S> | undefined {
    return this.streams.get(stream);
  }

  /**
   * Remembers a stream. A slower reader never puts an older state in place of a newer one.
   * @param forgetsBefore `forgets` as it was before the events were decoded.
   * @returns what was given.
   */
  keep(stream: string, folded: Folded<S>, forgetsBefore: number): Folded<S> {
    if (this.forgotten !== forgetsBefore) return folded;
    const present = this.streams.get(stream);
    if (present && toNumber(present.revision) > toNumber(folded.revision)) return folded;
    if (folded.revision !== 'no-stream') this.streams.set(stream, folded);
    return folded;
  }

  /** Drops what is remembered of one stream. */
  forget(stream: string): void {
    this.streams.delete(stream);
  }

  /** Drops what is remembered of streams that show one of these subjects in plain; undefined: of all streams. */
  forgetSubjects(subjects?: ReadonlySet<SubjectId>): void {
    this.forgotten++;
    const { subjectsOf } = this;
    if (subjects === undefined) this.streams.clear();
    else if (subjectsOf) {
      for (const [stream, { state }] of [...this.streams.entries()])
        if ([...subjectsOf(state)].some((subject) => subjects.has(subject))) this.streams.delete(stream);
    }
  }
}

const toNumber = (revision: ExpectedRevision): bigint => (revision === 'no-stream' ? -1n : revision);
