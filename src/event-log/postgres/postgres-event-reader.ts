import type { TailPage } from '../follow-pages.js';
import {
  LogWentBack,
  type ReadStreamOptions,
  type RecordedEvent,
  type StreamEnd,
} from '../event-log.js';
import { asFirstRecorded } from '../first-recorded.js';
import type { NewestSeen } from '../newest-seen.js';
import type { PostgresPositions } from './postgres-positions.js';
import type { PostgresReadPool } from './postgres-read-pool.js';

/** Events of a stream are read in pages of this many. */
const STREAM_PAGE = 1_000;

const EVENT_COLUMNS =
  'position, stream, revision, event_id, type, data, metadata, recorded_at::float8';
/**
 * The event that a reader has already is read again, without its contents, as a proof that it still
 * exists.
 */
const columnsBehind = (place: string): string =>
  `position, stream, revision, event_id, type, case when ${place} then '' else data end, case when ${place} then '' else metadata end, recorded_at::float8`;
const READ_BEHIND = `select ${columnsBehind('position = $1')} from ledger.events where position >= $1 order by position limit $2`;
const READ_STREAM = `select ${EVENT_COLUMNS} from ledger.events where stream = $1 and revision >= $2 order by revision limit $3`;
const READ_STREAM_BEHIND = `select ${columnsBehind('revision = $2')} from ledger.events where stream = $1 and revision >= $2 order by revision limit $3`;
type EventRow = [
  position: bigint,
  stream: string,
  revision: bigint,
  id: string,
  type: string,
  data: string,
  metadata: string,
  recordedAt: number,
];

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
    { from = 0n, end }: ReadStreamOptions = {},
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    const { epoch } = end ?? this.seen;
    let known = end;
    if (known === undefined) {
      const page = await this.readEvents('ledger-read-stream', READ_STREAM, [
        stream,
        from,
        STREAM_PAGE,
      ]);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < STREAM_PAGE) return;
      known = { revision: last.revision, eventId: last.id, epoch };
    }
    for (;;) {
      const page = await this.readStreamBehind(stream, known);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < STREAM_PAGE - 1) return;
      known = { revision: last.revision, eventId: last.id, epoch };
    }
  }

  /** A page less the event that the reader has already. @throws {LogWentBack} */
  private async readStreamBehind(
    stream: string,
    { revision, eventId, epoch }: StreamEnd,
  ): Promise<readonly RecordedEvent[]> {
    if (epoch !== this.seen.epoch) throw new LogWentBack();
    const [known, ...page] = await this.readEvents(
      'ledger-read-stream-behind',
      READ_STREAM_BEHIND,
      [stream, revision, STREAM_PAGE],
    );
    if (known?.revision === revision && known.id === eventId) return page;
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
      const events = await this.readBehind(cursor, pageSize, known, epoch);
      const last = events.at(-1);
      known = last?.id ?? known;
      const page =
        events[0] !== undefined && this.positions.number(events[0].position) === cursor
          ? events.slice(1)
          : events;
      return {
        events: page,
        next: last ? this.positions.number(last.position) : cursor,
        isFull: page.length === pageSize,
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
  ): Promise<readonly RecordedEvent[]> {
    if (cursor === 0n) return this.readPage(cursor, limit);
    const events = await this.readEvents('ledger-read-behind', READ_BEHIND, [cursor, limit + 1]);
    const [at] = events;
    if (
      at !== undefined &&
      this.positions.number(at.position) === cursor &&
      (known === undefined || known === at.id)
    )
      return events;
    this.seen.wentBack({ position: this.positions.token(cursor), eventId: known ?? '' }, epoch);
    throw new LogWentBack();
  }

  readPage(after: bigint, limit: number): Promise<readonly RecordedEvent[]> {
    return this.readEvents(
      'ledger-read-all',
      `select ${EVENT_COLUMNS} from ledger.events where position > $1 order by position limit $2`,
      [after, limit],
    );
  }

  private async readEvents(
    name: string,
    text: string,
    values: readonly (string | bigint | number)[],
  ): Promise<readonly RecordedEvent[]> {
    const { epoch } = this.seen;
    const rows = await this.pool.read<EventRow>({
      name,
      text,
      values: [...values],
      rowMode: 'array',
    });
    this.noteNewest(rows, epoch);
    return rows.map(([position, stream, revision, id, type, data, metadata, recordedAt]) =>
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
  }

  /** Of a page of the log that is the last event; of a page of a stream as well. */
  private noteNewest(rows: readonly EventRow[], epoch: number): void {
    const last = rows.at(-1);
    if (last !== undefined)
      this.seen.note(last[0], { position: this.positions.token(last[0]), eventId: last[3] }, epoch);
  }
}
