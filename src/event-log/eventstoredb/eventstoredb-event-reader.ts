import {
  EventLogUnavailable,
  LogWentBack,
  type Position,
  type ReadStreamOptions,
  type RecordedEvent,
} from '../event-log.js';
import { asFirstRecorded } from '../first-recorded.js';
import type { TailPage } from '../follow-pages.js';
import type { NewestSeen } from '../newest-seen.js';
import { BEFORE_ALL, comparePositions, positionOf, tokenOf } from './eventstoredb-positions.js';
import { ENDS_UNNAMED_MAX, type EventStoreDbReads } from './eventstoredb-reads.js';
import type { SeenComparison } from './eventstoredb-seen.js';
import type { WireEvent, WirePosition } from './eventstoredb-wire.js';

const STREAM_PAGE = 1_000;
const HEAD_PAGE = 1_000;

type NewestEvent = Pick<WireEvent, 'position' | 'createdAt'>;

/** A page and how far it reached. */
interface ReadPage extends TailPage<WirePosition> {
  /** The newest event in it. */
  readonly last: NewestEvent | undefined;
  readonly isAtEnd: boolean;
}

export interface EventReaderOptions {
  readonly reads: EventStoreDbReads;
  readonly seen: NewestSeen;
  readonly comparison: SeenComparison;
  /** Precedes the names of all streams; not part of them outside the store. */
  readonly namespace: string;
  /** Of this log's streams in the store, the namespace included. */
  readonly prefix: string;
}

/** Reads this log's events in a store with other users. */
export class EventStoreDbEventReader {
  /** The newest event of this log, and up to where no other event of this log follows it. */
  private newest:
    { readonly last: NewestEvent | undefined; readonly upTo: WirePosition } | undefined;

  constructor(private readonly options: EventReaderOptions) {
    options.seen.onWentBack(() => (this.newest = undefined));
  }

  async *readStream(
    stream: string,
    { from = 0n, end, limit = Infinity }: ReadStreamOptions = {},
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    if (end === undefined) return yield* this.readStreamFrom(stream, from, limit);
    if (end.epoch !== this.options.seen.epoch) throw new LogWentBack();
    let isKnownThere = false;
    let isReplaced = false;
    for await (const event of this.readStreamFrom(stream, end.revision, limit + 1)) {
      if (isKnownThere) yield event;
      else if (event.id === end.eventId && event.revision === end.revision) isKnownThere = true;
      else {
        isReplaced = true;
        break;
      }
    }
    if (isKnownThere) return;
    // The server may have broken off the read of an empty page: the newest event shows more.
    if (isReplaced) this.options.seen.lost(end.epoch);
    else await this.options.comparison.run();
    throw new LogWentBack();
  }

  private async *readStreamFrom(
    stream: string,
    from: bigint,
    limit: number,
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    for (let next = from, left = limit, empty = 0; left > 0;) {
      const count = Math.min(left, STREAM_PAGE);
      const { events, isEndNamed } = await this.options.reads.read({
        of: { stream: `${this.options.namespace}${stream}`, from: next },
        count,
      });
      yield* events.map((event) => this.recorded(event));
      const last = events.at(-1);
      if (last !== undefined) next = last.revision + 1n;
      left -= events.length;
      empty = last === undefined ? empty + 1 : 0;
      if (events.length === count) continue;
      if (isEndNamed) return;
      // Without named ends, two empty pages count as the end.
      if (empty >= 2 && !(await this.options.reads.session()).namesEnds) return;
      if (empty >= ENDS_UNNAMED_MAX)
        throw new EventLogUnavailable('EventStoreDB ends reads before their end');
    }
  }

  async readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    const cursor = positionOf(after, this.options.reads.logId);
    const { events } = await this.readPage(cursor, limit);
    if (events.length > 0) return events;
    // Without a named end, the answer is complete when the end was seen.
    for await (const look of this.readPages(cursor, limit))
      if (look.events.length > 0) return look.events;
    return [];
  }

  async head(): Promise<Position | undefined> {
    return (await this.newestEvent())?.position;
  }

  /** By the server's clock. Skips other users' events only once. */
  async newestEvent(): Promise<{ position: Position; recordedAt: number } | undefined> {
    const { epoch } = this.options.seen;
    let { last, upTo } = this.newest ?? (await this.findNewest());
    for await (const look of this.readPages(upTo, HEAD_PAGE)) {
      last = look.last ?? last;
      upTo = look.next;
    }
    if (
      epoch === this.options.seen.epoch &&
      (this.newest === undefined || comparePositions(this.newest.upTo, upTo) < 0)
    )
      this.newest = { last, upTo };
    const { logId } = await this.options.reads.session();
    return last && { position: tokenOf(logId, last.position), recordedAt: last.createdAt };
  }

  async readPage(after: WirePosition, limit: number): Promise<TailPage<WirePosition>> {
    const { events, isFull } = await this.eventsAfter(after, [this.options.prefix], limit);
    return {
      events: events.map((event) => this.recorded(event)),
      next: events.at(-1)?.position ?? after,
      isFull,
    };
  }

  /**
   * A page and how far it reached, other users' events included. A server that cancels a call ends
   * the read as if it were complete. Therefore the newest event of the store is read first, then
   * all events of this log and of that event's stream: its arrival proves that no event of this log
   * before it is missing.
   */
  async readNextPage(after: WirePosition, limit: number): Promise<ReadPage> {
    return this.look(await this.newestAfter(after), after, limit);
  }

  /** Ends at the store's newest event of the beginning, whatever others append. */
  private async *readPages(
    after: WirePosition,
    limit: number,
  ): AsyncGenerator<ReadPage, void, undefined> {
    let newest: WireEvent | undefined;
    for (let cursor = after; ;) {
      newest ??= await this.newestAfter(cursor);
      const look = await this.look(newest, cursor, limit);
      yield look;
      if (look.isAtEnd) return;
      // The server broke the read off, or that event has been scavenged.
      if (look.next === cursor) newest = undefined;
      cursor = look.next;
    }
  }

  /** Undefined: the server broke the read off. */
  private async newestAfter(after: WirePosition): Promise<WireEvent | undefined> {
    const [newest] = (
      await this.options.reads.read({
        of: { prefixes: null, from: 'end' },
        backwards: true,
        count: 1,
      })
    ).events;
    // The store ends before the reader: it lost events that were read.
    if (newest !== undefined && comparePositions(newest.position, after) < 0)
      await this.options.comparison.run();
    return newest;
  }

  private async look(
    newest: WireEvent | undefined,
    after: WirePosition,
    limit: number,
  ): Promise<ReadPage> {
    if (newest !== undefined && comparePositions(newest.position, after) <= 0)
      return { events: [], last: undefined, next: after, isFull: false, isAtEnd: true };
    const { events: found, isFull } =
      newest === undefined
        ? { events: [], isFull: false }
        : await this.eventsAfter(after, [this.options.prefix, newest.stream], limit);
    const next = found.at(-1)?.position ?? after;
    const own = found.filter(({ stream }) => stream.startsWith(this.options.prefix));
    return {
      events: own.map((event) => this.recorded(event)),
      last: own.at(-1),
      next,
      isFull,
      isAtEnd: newest !== undefined && comparePositions(next, newest.position) >= 0,
    };
  }

  private async findNewest(): Promise<{
    readonly last: NewestEvent | undefined;
    readonly upTo: WirePosition;
  }> {
    const { events } = await this.options.reads.read({
      of: { prefixes: [this.options.prefix], from: 'end' },
      backwards: true,
      count: 1,
    });
    const [last] = events;
    return { last, upTo: last?.position ?? BEFORE_ALL };
  }

  private async eventsAfter(
    after: WirePosition,
    prefixes: readonly string[],
    limit: number,
  ): Promise<{ readonly events: readonly WireEvent[]; readonly isFull: boolean }> {
    // Includes the event at the position itself when it passes the filter.
    const { events: read, isCut } = await this.options.reads.read({
      of: { prefixes, from: after === BEFORE_ALL ? 'start' : after },
      count: limit + 1,
    });
    const events = read
      .filter(({ position }) => comparePositions(position, after) > 0)
      .slice(0, limit);
    return { events, isFull: events.length === limit || isCut };
  }

  private recorded({ createdAt, position, stream, ...event }: WireEvent): RecordedEvent {
    const logId = this.options.reads.logId ?? '';
    return asFirstRecorded({
      ...event,
      stream: stream.slice(this.options.namespace.length),
      position: tokenOf(logId, position),
      recordedAt: createdAt,
    });
  }
}
