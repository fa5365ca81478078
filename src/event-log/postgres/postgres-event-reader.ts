import { batched } from '../../foundation/batched.js';
import type { TailPage } from '../follow-pages.js';
import {
  LogWentBack,
  type ReadStreamOptions,
  type RecordedEvent,
  type StreamEnd,
} from '../event-log.js';
import { PAGE_BYTES_MAX } from '../event-pages.js';
import { asFirstRecorded } from '../first-recorded.js';
import type { NewestSeen } from '../newest-seen.js';
import type { PostgresPositions } from './postgres-positions.js';
import type { PostgresReadPool } from './postgres-read-pool.js';

/** Events per page of a stream. */
const STREAM_PAGE = 1_000;

/** The first page of a stream is small: one statement reads those of many streams. */
const FIRST_PAGE = 50;
const FIRST_PAGE_BYTES = 128 * 1024;
const STREAMS_AT_ONCE = 64;

const EVENT_COLUMNS =
  'position, stream, revision, event_id, type, data, metadata, recorded_at::float8';
/**
 * The first events of a query, up to the one that reaches the bytes of a page, which is marked. No
 * event is as large as a page, so one event after the reader's own is always included. Large texts
 * are measured without reading them.
 */
const pageOf = (
  columns: string,
  where: string,
  order: string,
  { limit, bytesMax = PAGE_BYTES_MAX }: { readonly limit: string; readonly bytesMax?: number },
): string =>
  `select ${columns}, bytes >= ${bytesMax} from (
    select *, octet_length(data) + octet_length(metadata) as own_bytes,
      sum(octet_length(data) + octet_length(metadata)) over (
        order by ${order} rows unbounded preceding) as bytes
    from ledger.events where ${where} order by ${order} limit ${limit}) page
  where bytes - own_bytes < ${bytesMax} order by ${order}`;
/** Reads the reader's last event again, without its contents, to prove that it still exists. */
const columnsAfter = (place: string): string =>
  `position, stream, revision, event_id, type, case when ${place} then '' else data end, case when ${place} then '' else metadata end, recorded_at::float8`;
const READ_ALL = pageOf(EVENT_COLUMNS, 'position > $1', 'position', { limit: '$2' });
const READ_BEHIND = pageOf(columnsAfter('position = $1'), 'position >= $1', 'position', {
  limit: '$2',
});
const OF_STREAM = 'stream = $1 and revision >= $2';
const READ_STREAM = pageOf(EVENT_COLUMNS, OF_STREAM, 'revision', { limit: '$3' });
const READ_STREAM_BEHIND = pageOf(columnsAfter('revision = $2'), OF_STREAM, 'revision', {
  limit: '$3',
});
const READ_FIRST = `select page.*, place from unnest($1::text[], $2::bigint[], $3::bigint[])
    with ordinality as wanted (stream, start, known, place) cross join lateral (
  ${pageOf(
    columnsAfter('revision = wanted.known'),
    'stream = wanted.stream and revision >= wanted.start',
    'revision',
    { limit: String(FIRST_PAGE), bytesMax: FIRST_PAGE_BYTES },
  )}) page order by place, page.revision`;
type EventRow = [
  position: bigint,
  stream: string,
  revision: bigint,
  id: string,
  type: string,
  data: string,
  metadata: string,
  recordedAt: number,
  reachesLimit: boolean,
  /** Of the stream among those of the statement, from 1. */
  place?: bigint,
];

interface FirstPage {
  readonly stream: string;
  readonly start: bigint;
  /** Revision of the reader's last event; -1: none. */
  readonly known: bigint;
}

interface EventsRead {
  readonly events: readonly RecordedEvent[];
  /** Positions of the events in the log. */
  readonly ordinals: readonly bigint[];
  /** More may follow. */
  readonly isFull: boolean;
}

/** Reads pages of a stream or of the whole log after the reader's last event. */
export class PostgresEventReader {
  constructor(
    private readonly pool: PostgresReadPool,
    private readonly positions: PostgresPositions,
    private readonly seen: NewestSeen,
  ) {}

  /** Each page proves that the one before still exists. @throws {LogWentBack} */
  async *readStream(
    stream: string,
    { from = 0n, end, limit = Infinity }: ReadStreamOptions = {},
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    const { epoch } = end ?? this.seen;
    let known = end;
    for (let left = limit, isFirst = left >= STREAM_PAGE; left > 0; isFirst = false) {
      const size = Math.min(left, STREAM_PAGE);
      const { events, isFull } =
        known !== undefined
          ? await this.readStreamAfter(stream, known, isFirst ? undefined : size)
          : isFirst
            ? await this.readFirst({ stream, start: from, known: -1n })
            : await this.readEvents('ledger-read-stream', READ_STREAM, [stream, from], size);
      yield* events;
      const last = events.at(-1);
      if (last === undefined || !isFull) return;
      left -= events.length;
      known = { revision: last.revision, eventId: last.id, epoch };
    }
  }

  /**
   * The first page of a stream. Concurrent calls share the next statement: a command reads several
   * streams, most of them short or new, and a statement costs more than its rows.
   */
  private readonly readFirst = batched<FirstPage, EventsRead>(async (pages) => {
    const all: EventsRead[] = [];
    for (let from = 0; from < pages.length; from += STREAMS_AT_ONCE) {
      const wanted = pages.slice(from, from + STREAMS_AT_ONCE);
      const { epoch } = this.seen;
      const rows = await this.rowsOf('ledger-read-streams', READ_FIRST, [
        wanted.map(({ stream }) => stream),
        wanted.map(({ start }) => start),
        wanted.map(({ known }) => known),
      ]);
      const byPlace = wanted.map((): EventRow[] => []);
      for (const row of rows) byPlace[Number(row[9]) - 1]?.push(row);
      all.push(...byPlace.map((page) => this.eventsOf(page, FIRST_PAGE, epoch)));
    }
    return all;
  });

  /** @param size undefined: the first page, shared with others. @throws {LogWentBack} */
  private async readStreamAfter(
    stream: string,
    { revision, eventId, epoch }: StreamEnd,
    size: number | undefined,
  ): Promise<EventsRead> {
    if (epoch !== this.seen.epoch) throw new LogWentBack();
    const name = 'ledger-read-stream-behind';
    const read =
      size === undefined
        ? await this.readFirst({ stream, start: revision, known: revision })
        : await this.readEvents(name, READ_STREAM_BEHIND, [stream, revision], size + 1);
    const [known, ...events] = read.events;
    if (known?.revision === revision && known.id === eventId)
      return { ...read, events, ordinals: read.ordinals.slice(1) };
    this.seen.lost(epoch);
    throw new LogWentBack();
  }

  /** Each page proves that the event at its cursor exists. @throws {LogWentBack} */
  tail(pageSize: number): (cursor: bigint) => Promise<TailPage<bigint>> {
    const { epoch } = this.seen;
    /** Id of the event at the cursor; undefined: the first read finds it. */
    let known: string | undefined;
    return async (cursor) => {
      if (epoch !== this.seen.epoch) throw new LogWentBack();
      const { events, ordinals, isFull } = await this.readAfter(cursor, pageSize, known, epoch);
      const isKnown = ordinals[0] === cursor;
      known = events.at(-1)?.id ?? known;
      return {
        events: isKnown ? events.slice(1) : events,
        next: ordinals.at(-1) ?? cursor,
        isFull,
      };
    };
  }

  /** Reads the event at the cursor first. @throws {LogWentBack} when it is another one. */
  private async readAfter(
    cursor: bigint,
    limit: number,
    known: string | undefined,
    epoch: number,
  ): Promise<EventsRead> {
    if (cursor === 0n) return this.readAll(cursor, limit);
    const read = await this.readEvents('ledger-read-behind', READ_BEHIND, [cursor], limit + 1);
    const [at] = read.events;
    if (at !== undefined && read.ordinals[0] === cursor && (known === undefined || known === at.id))
      return read;
    this.seen.wentBack({ position: this.positions.token(cursor), eventId: known ?? '' }, epoch);
    throw new LogWentBack();
  }

  async readPage(after: bigint, limit: number): Promise<readonly RecordedEvent[]> {
    return (await this.readAll(after, limit)).events;
  }

  private readAll(after: bigint, limit: number): Promise<EventsRead> {
    return this.readEvents('ledger-read-all', READ_ALL, [after], limit);
  }

  /** @param values of the query, without its last one: the limit. */
  private async readEvents(
    name: string,
    text: string,
    values: readonly (string | bigint)[],
    limit: number,
  ): Promise<EventsRead> {
    const { epoch } = this.seen;
    return this.eventsOf(await this.rowsOf(name, text, [...values, limit]), limit, epoch);
  }

  private rowsOf(
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly EventRow[]> {
    return this.pool.read<EventRow>({ name, text, values: [...values], rowMode: 'array' });
  }

  private eventsOf(rows: readonly EventRow[], limit: number, epoch: number): EventsRead {
    this.noteNewest(rows, epoch);
    const events = rows.map(([position, stream, revision, id, type, data, metadata, recordedAt]) =>
      asFirstRecorded({
        id,
        type,
        data,
        metadata,
        stream,
        revision,
        position: this.positions.token(position),
        recordedAt,
      }),
    );
    return {
      events,
      ordinals: rows.map(([position]) => position),
      isFull: rows.length === limit || rows.at(-1)?.[8] === true,
    };
  }

  /** Applies to pages of the log and of streams: their last event is the newest. */
  private noteNewest(rows: readonly EventRow[], epoch: number): void {
    const last = rows.at(-1);
    if (last !== undefined)
      this.seen.note(last[0], { position: this.positions.token(last[0]), eventId: last[3] }, epoch);
  }
}
