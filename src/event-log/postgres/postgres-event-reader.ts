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

/** Events of a stream are read in pages of this many. */
const STREAM_PAGE = 1_000;

const EVENT_COLUMNS =
  'position, stream, revision, event_id, type, data, metadata, recorded_at::float8';
/**
 * The first events of a query, up to the one that reaches the bytes of a page, which says so. No
 * event is as large as a page, so that one behind the reader's own is always among them. The
 * lengths of large texts are read without the texts.
 */
const pageOf = (columns: string, where: string, order: string, limit: string): string =>
  `select ${columns}, bytes >= ${PAGE_BYTES_MAX} from (
    select *, octet_length(data) + octet_length(metadata) as own_bytes,
      sum(octet_length(data) + octet_length(metadata)) over (
        order by ${order} rows unbounded preceding) as bytes
    from ledger.events where ${where} order by ${order} limit ${limit}) page
  where bytes - own_bytes < ${PAGE_BYTES_MAX} order by ${order}`;
/**
 * The event that a reader has already is read again, without its contents, as a proof that it still
 * exists.
 */
const columnsBehind = (place: string): string =>
  `position, stream, revision, event_id, type, case when ${place} then '' else data end, case when ${place} then '' else metadata end, recorded_at::float8`;
const READ_ALL = pageOf(EVENT_COLUMNS, 'position > $1', 'position', '$2');
const READ_BEHIND = pageOf(columnsBehind('position = $1'), 'position >= $1', 'position', '$2');
const OF_STREAM = 'stream = $1 and revision >= $2';
const READ_STREAM = pageOf(EVENT_COLUMNS, OF_STREAM, 'revision', '$3');
const READ_STREAM_BEHIND = pageOf(columnsBehind('revision = $2'), OF_STREAM, 'revision', '$3');
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
];

interface EventsRead {
  readonly events: readonly RecordedEvent[];
  /** Of the events, in the log. */
  readonly ordinals: readonly bigint[];
  /** More may follow. */
  readonly isFull: boolean;
}

/** Reads events by page: of a stream, of the whole log, behind what the reader has already. */
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
    for (let left = limit; left > 0;) {
      const size = Math.min(left, STREAM_PAGE);
      const { events, isFull } =
        known === undefined
          ? await this.readEvents('ledger-read-stream', READ_STREAM, [stream, from], size)
          : await this.readStreamBehind(stream, known, size);
      yield* events;
      const last = events.at(-1);
      if (last === undefined || !isFull) return;
      left -= events.length;
      known = { revision: last.revision, eventId: last.id, epoch };
    }
  }

  /** A page less the event that the reader has already. @throws {LogWentBack} */
  private async readStreamBehind(
    stream: string,
    { revision, eventId, epoch }: StreamEnd,
    size: number,
  ): Promise<EventsRead> {
    if (epoch !== this.seen.epoch) throw new LogWentBack();
    const read = await this.readEvents(
      'ledger-read-stream-behind',
      READ_STREAM_BEHIND,
      [stream, revision],
      size + 1,
    );
    const [known, ...events] = read.events;
    if (known?.revision === revision && known.id === eventId)
      return { ...read, events, ordinals: read.ordinals.slice(1) };
    this.seen.lost(epoch);
    throw new LogWentBack();
  }

  /**
   * Reads the pages behind its cursors, for as long as the log does not go back. Each page proves
   * that the event at the cursor still exists. @throws {LogWentBack}
   */
  tail(pageSize: number): (cursor: bigint) => Promise<TailPage<bigint>> {
    const { epoch } = this.seen;
    /** Of the event at the cursor; undefined: the first read finds it. */
    let known: string | undefined;
    return async (cursor) => {
      if (epoch !== this.seen.epoch) throw new LogWentBack();
      const { events, ordinals, isFull } = await this.readBehind(cursor, pageSize, known, epoch);
      const isKnown = ordinals[0] === cursor;
      known = events.at(-1)?.id ?? known;
      return {
        events: isKnown ? events.slice(1) : events,
        next: ordinals.at(-1) ?? cursor,
        isFull,
      };
    };
  }

  /**
   * The event at the cursor is read first, where there is one. @throws {LogWentBack} when it is
   * missing, or another one is there.
   */
  private async readBehind(
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

  /** @param values of the query, less its last one: the limit. */
  private async readEvents(
    name: string,
    text: string,
    values: readonly (string | bigint)[],
    limit: number,
  ): Promise<EventsRead> {
    const { epoch } = this.seen;
    const rows = await this.pool.read<EventRow>({
      name,
      text,
      values: [...values, limit],
      rowMode: 'array',
    });
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

  /** Of a page of the log that is the last event; of a page of a stream as well. */
  private noteNewest(rows: readonly EventRow[], epoch: number): void {
    const last = rows.at(-1);
    if (last !== undefined)
      this.seen.note(last[0], { position: this.positions.token(last[0]), eventId: last[3] }, epoch);
  }
}
