import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { isTransientError, openPool } from '../../postgres/database.js';
import { checkAppend } from '../append-checks.js';
import { Doorbell } from '../doorbell.js';
import type { AppendOutcome, EventLogObserver } from '../event-log-observer.js';
import {
  EventLogUnavailable,
  type AppendResult,
  LogWentBack,
  type EventLog,
  type ExpectedRevision,
  type LogCheck,
  type NewEvent,
  type Position,
  type ReadStreamOptions,
  type RecordedEvent,
  type SeenEvent,
  type StreamEnd,
} from '../event-log.js';
import { asFirstRecorded, withOrigins } from '../first-recorded.js';
import { followPages } from '../follow-pages.js';
import { NewestSeen } from '../newest-seen.js';
import { attemptTimeout, GroupCommit, type BatchStore } from './group-commit.js';
import {
  batchCall,
  END_MISMATCH,
  singleQuery,
  singleResult,
  type BatchedAppend,
  type BatchedResult,
  type BatchRow,
  type SingleRow,
} from './postgres-append-batch.js';
import { openDedicatedConnection } from './postgres-connection.js';
import { PostgresListener } from './postgres-listener.js';
import { compareSeen, countHeld } from './postgres-seen.js';

export interface PostgresEventLogOptions {
  /** A function is called at every connect: the embedded server's port may change. */
  readonly url: string | (() => string);
  /** An append returns within this time, or throws `EventLogUnavailable`. */
  readonly appendTimeoutMs?: number;
  /** Limit of waiting appends; more are refused with `EventLogUnavailable`. */
  readonly waitingAppendsMax?: number;
  /**
   * A read (and the wait for a connection) returns within this time, or throws
   * `EventLogUnavailable`.
   */
  readonly readTimeoutMs?: number;
  readonly readConnectionsMax?: number;
  /** How often a tail reads without being woken. */
  readonly pollIntervalMs?: number;
  /** One transaction takes at most this many appends, and bytes. */
  readonly batchAppendsMax?: number;
  readonly batchBytesMax?: number;
  readonly observe?: EventLogObserver;
}

/** Limit of a scan of the whole log: of ten million events it takes a minute. */
const CONTRADICTION_MS = 600_000;
/** One statement sees one moment of the log, whatever is appended meanwhile. */
const CONTRADICTION = `
  with numbered as (
    select position, stream, revision, row_number() over (order by position) as place,
           row_number() over (partition by stream order by revision) - 1 as expected
      from ledger.events),
  ends as (select stream, max(revision) as revision, max(position) as position from ledger.events group by stream)
  select min(position)::text as position from (
    select place as position from numbered where position <> place
    union all select position from numbered where revision <> expected
    union all select coalesce(e.position, 1) from ends e full join ledger.streams s using (stream) where e.revision is distinct from s.revision
    union all select least(h.position, n.newest) + 1
      from ledger.log_head h, (select coalesce(max(position), 0) as newest from ledger.events) n where h.position <> n.newest
  ) as contradicted`;
/** Events of a stream are read in pages of this many. */
const STREAM_PAGE = 1_000;
const FOLLOW_PAGE = 1_000;
/** Of several reasons to compare the log with the seen events, one is enough for this long. */
const COMPARE_AGAIN_MS = 50;
/** How long closing waits for a server that does not answer a regular close. */
const CLOSE_MS = 2_000;
const POSITION_MAX = 2n ** 63n - 1n;

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

interface PostgresEventLogParts {
  readonly logId: string;
  readonly pool: pg.Pool;
  readonly commits: GroupCommit;
  readonly doorbell: Doorbell;
  readonly listener: PostgresListener;
  readonly seen: NewestSeen;
  readonly options: PostgresEventLogOptions &
    Required<Pick<PostgresEventLogOptions, 'readTimeoutMs' | 'pollIntervalMs'>>;
}

/**
 * The event log on Postgres. Positions are counted by one row that every append updates last
 * (migrations/0001_create_event_log.ts says why that keeps readers from gaps and late arrivals);
 * group commits win back the cost of that row. One writing connection and, while the log is
 * followed, one listening connection; reads use a pool.
 *
 * Position tokens: the first eight hex digits of the log's id, a dash, the position as a decimal.
 */
export class PostgresEventLog implements EventLog {
  private readonly closing = new AbortController();
  private closed: Promise<void> | undefined;
  private readonly tuned = new WeakSet<pg.ClientBase>();
  private readonly prefix: string;
  private looking: NodeJS.Timeout | undefined;

  private constructor(private readonly parts: PostgresEventLogParts) {
    const { logId } = parts;
    this.prefix = logId.slice(0, 8);
  }

  /**
   * Opens the log of a migrated database.
   * @throws {EventLogUnavailable} when the server is away; any other error means that the database
   * is not of this service.
   */
  static async open(options: PostgresEventLogOptions): Promise<PostgresEventLog> {
    // Below the five seconds within which a write returns.
    const {
      appendTimeoutMs = 4_000,
      readTimeoutMs = 4_000,
      pollIntervalMs = 500,
      observe,
    } = options;
    const urlOption = options.url;
    const url = typeof urlOption === 'function' ? urlOption : () => urlOption;
    const pool = openPool({
      url,
      max: options.readConnectionsMax ?? 4,
      applicationName: 'ledger-log-reader',
      statementTimeoutMs: readTimeoutMs,
    });
    let logId: string;
    try {
      logId = await readLogId(pool);
    } catch (error) {
      await endPool(pool);
      throw asUnavailable(error);
    }
    const seen = new NewestSeen();
    const connection = {
      url,
      connectTimeoutMs: attemptTimeout(appendTimeoutMs),
      statementTimeoutMs: attemptTimeout(appendTimeoutMs),
    };
    const commits = new GroupCommit({
      open: () =>
        openWriter(
          { ...connection, applicationName: 'ledger-log-writer', pipeline: true },
          logId,
          seen,
        ),
      isTransient,
      appendTimeoutMs,
      waitingAppendsMax: options.waitingAppendsMax ?? 10_000,
      batchAppendsMax: options.batchAppendsMax ?? 500,
      batchBytesMax: options.batchBytesMax ?? 4 * 1024 * 1024,
      onBatch: (appends, ms) => observe?.batch?.(appends, ms),
      onRetry: (error) => observe?.retry?.(errorCode(error)),
    });
    const doorbell = new Doorbell();
    const listener = new PostgresListener(doorbell, {
      ...connection,
      applicationName: 'ledger-log-listener',
    });
    const opened = { ...options, readTimeoutMs, pollIntervalMs };
    return new PostgresEventLog({
      logId,
      pool,
      commits,
      doorbell,
      listener,
      seen,
      options: opened,
    });
  }

  get newestSeen(): SeenEvent | undefined {
    return this.parts.seen.newest;
  }

  get epoch(): number {
    return this.parts.seen.epoch;
  }

  onWentBack(listener: (from: SeenEvent) => void): () => void {
    return this.parts.seen.onWentBack(listener);
  }

  async checkNewestSeen(): Promise<void> {
    await compareSeen(this.parts.seen, (query) => this.read(query));
  }

  async holds({ position, eventId }: SeenEvent): Promise<boolean> {
    const number = this.parse(position);
    if (number === undefined) return false;
    return (await countHeld((query) => this.read(query), [{ ordinal: number, eventId }])) === 1;
  }

  /** @throws {InvalidAppend} besides what the port names. */
  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    const bytes = checkAppend(stream, expected, events);
    const { epoch } = this.parts.seen;
    if (end !== undefined && end.epoch !== epoch)
      return { kind: 'conflict', expected, actual: expected };
    const startedAt = performance.now();
    const observed = (outcome: AppendOutcome) =>
      this.parts.options.observe?.append?.(performance.now() - startedAt, outcome);
    try {
      const revisionExpected = expected === 'no-stream' ? -1n : expected;
      const request = {
        stream,
        expected: revisionExpected,
        events: withOrigins(events),
        end: end?.eventId,
      };
      const result = await this.parts.commits.append(request, bytes);
      if (result.kind === 'conflict') {
        observed('conflict');
        return {
          kind: 'conflict',
          expected,
          actual: result.actual < 0n ? 'no-stream' : result.actual,
        };
      }
      const { position, revision, isRepeated } = result;
      observed('appended');
      this.appended(position, events, { isRepeated, epoch });
      return { kind: 'appended', position: this.token(position), revision };
    } catch (error) {
      observed('failed');
      throw error;
    }
  }

  /** Each page proves that the one before still exists. @throws {LogWentBack} */
  async *readStream(
    stream: string,
    { from = 0n, end }: ReadStreamOptions = {},
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    const { epoch } = end ?? this.parts.seen;
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
    if (epoch !== this.parts.seen.epoch) throw new LogWentBack();
    const [known, ...page] = await this.readEvents(
      'ledger-read-stream-behind',
      READ_STREAM_BEHIND,
      [stream, revision, STREAM_PAGE],
    );
    if (known?.revision === revision && known.id === eventId) return page;
    this.lost(epoch);
    throw new LogWentBack();
  }

  /** @throws {TypeError} for a position of another log. @throws {EventLogUnavailable} */
  async readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    return this.readPage(this.number(after), limit);
  }

  /** @throws {TypeError} for a position of another log. Ends when the log is closed. */
  async *follow(
    after: Position | undefined,
    {
      signal,
      pageSize = FOLLOW_PAGE,
    }: { readonly signal: AbortSignal; readonly pageSize?: number },
  ): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
    const { epoch } = this.parts.seen;
    const release = this.parts.listener.hold((position) => this.heard(position));
    /** Of the event at the cursor; undefined: the first read finds it. */
    let known: string | undefined;
    try {
      yield* followPages({
        start: this.number(after),
        read: async (cursor) => {
          if (epoch !== this.parts.seen.epoch) throw new LogWentBack();
          const events = await this.readBehind(cursor, pageSize, known, epoch);
          const last = events.at(-1);
          known = last?.id ?? known;
          const page =
            events[0] !== undefined && this.number(events[0].position) === cursor
              ? events.slice(1)
              : events;
          return {
            events: page,
            next: last ? this.number(last.position) : cursor,
            isFull: page.length === pageSize,
          };
        },
        ordinal: (cursor: bigint) => cursor,
        doorbell: this.parts.doorbell,
        pollIntervalMs: this.parts.options.pollIntervalMs,
        endings: [signal, this.closing.signal],
      });
    } finally {
      release();
    }
  }

  /** @throws {EventLogUnavailable} */
  async head(): Promise<Position | undefined> {
    const rows = await this.read<[position: bigint]>({
      text: 'select position from ledger.log_head',
      rowMode: 'array',
    });
    const position = rows[0]?.[0] ?? 0n;
    return position === 0n ? undefined : this.token(position);
  }

  /** @throws {TypeError} for a position of another log. */
  compare(a: Position | undefined, b: Position | undefined): number {
    const left = this.number(a);
    const right = this.number(b);
    return left < right ? -1 : left > right ? 1 : 0;
  }

  fraction(at: Position | undefined, end: Position | undefined): number {
    const all = this.number(end);
    return all === 0n ? 1 : Math.min(1, Number(this.number(at)) / Number(all));
  }

  /** @throws {TypeError} for a position of another log. */
  order(position: Position): bigint {
    return this.number(position);
  }

  isPosition(token: string): boolean {
    return this.parse(token) !== undefined;
  }

  /**
   * Answers the waiting appends (each within its time), ends all tails, then closes all
   * connections.
   */
  close(): Promise<void> {
    this.closing.abort();
    this.closed ??= (async () => {
      await this.parts.commits.close();
      await this.parts.listener.close();
      await endPool(this.parts.pool);
    })();
    return this.closed;
  }

  id(): Promise<string> {
    return Promise.resolve(this.parts.logId);
  }

  async contradiction(): Promise<Position | null> {
    const { url, readTimeoutMs } = this.parts.options;
    const connection = await openDedicatedConnection({
      url: typeof url === 'function' ? url : () => url,
      applicationName: 'ledger-log-verifier',
      connectTimeoutMs: readTimeoutMs,
      statementTimeoutMs: CONTRADICTION_MS,
    }).catch((error: unknown) => {
      throw asUnavailable(error);
    });
    try {
      const { rows } = await connection.client.query<{ position: string | null }>(CONTRADICTION);
      const position = rows[0]?.position ?? null;
      return position === null ? null : this.token(BigInt(position));
    } catch (error) {
      throw asUnavailable(error);
    } finally {
      connection.destroy();
    }
  }

  /** @throws {EventLogUnavailable} */
  async check(): Promise<LogCheck> {
    const rows = await this.read<[position: bigint, version: string]>({
      text: `select position, current_setting('server_version') from ledger.log_head`,
      rowMode: 'array',
    });
    const [position = 0n, version = 'of unknown version'] = rows[0] ?? [];
    return {
      store: `postgres ${version.split(' ')[0] ?? ''}`,
      head: position === 0n ? undefined : this.token(position),
    };
  }

  private token(position: bigint): Position {
    return `${this.prefix}-${position}`;
  }

  private parse(token: string): bigint | undefined {
    const [, prefix, digits] = /^([0-9a-f]{8})-([1-9][0-9]{0,18})$/.exec(token) ?? [];
    if (prefix !== this.prefix || digits === undefined) return undefined;
    const position = BigInt(digits);
    return position > POSITION_MAX ? undefined : position;
  }

  /** 0 is before everything. */
  private number(position: Position | undefined): bigint {
    if (position === undefined) return 0n;
    const number = this.parse(position);
    if (number === undefined) throw new TypeError('not a position of this log');
    return number;
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
      this.number(at.position) === cursor &&
      (known === undefined || known === at.id)
    )
      return events;
    this.parts.seen.wentBack({ position: this.token(cursor), eventId: known ?? '' }, epoch);
    throw new LogWentBack();
  }

  /** An event of this epoch no longer exists. */
  private lost(epoch: number): void {
    const { newest } = this.parts.seen;
    if (newest !== undefined) this.parts.seen.wentBack(newest, epoch);
  }

  private appended(
    position: bigint,
    events: readonly NewEvent[],
    { isRepeated, epoch }: { isRepeated: boolean; epoch: number },
  ): void {
    const { newest } = this.parts.seen;
    // Mostly another answer overtook this one; a log that went back assigns positions again.
    if (!isRepeated && newest !== undefined && position <= newest.ordinal) this.compareSoon();
    this.parts.seen.note(
      position,
      { position: this.token(position), eventId: events.at(-1)?.id ?? '' },
      epoch,
    );
    this.parts.doorbell.ring(position);
  }

  /** Another process appended. */
  private heard(position: bigint): void {
    const { newest } = this.parts.seen;
    if (newest !== undefined && position < newest.ordinal) this.compareSoon();
  }

  private compareSoon(): void {
    if (this.looking !== undefined || this.closing.signal.aborted) return;
    this.looking = setTimeout(() => {
      this.looking = undefined;
      // An unavailable log is compared when it is back.
      this.checkNewestSeen().catch(() => undefined);
    }, COMPARE_AGAIN_MS);
    this.looking.unref();
  }

  private readPage(after: bigint, limit: number): Promise<readonly RecordedEvent[]> {
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
    const { epoch } = this.parts.seen;
    const rows = await this.read<EventRow>({ name, text, values: [...values], rowMode: 'array' });
    this.noteNewest(rows, epoch);
    return rows.map(([position, stream, revision, id, type, data, metadata, recordedAt]) =>
      asFirstRecorded({
        id,
        type,
        data,
        metadata,
        stream,
        revision,
        position: this.token(position),
        recordedAt,
      }),
    );
  }

  /** Of a page of the log that is the last event; of a page of a stream as well. */
  private noteNewest(rows: readonly EventRow[], epoch: number): void {
    const last = rows.at(-1);
    if (last !== undefined)
      this.parts.seen.note(last[0], { position: this.token(last[0]), eventId: last[3] }, epoch);
  }

  /**
   * One statement, within the time for reads, the wait for a connection included; abandoned when
   * the server does not answer.
   */
  private async read<R extends unknown[]>(
    query: pg.QueryArrayConfig<unknown[]>,
  ): Promise<readonly R[]> {
    if (this.closing.signal.aborted) throw new EventLogUnavailable('the event log is closed');
    let giveUp: () => void = () => undefined;
    const late = new Promise<never>((_, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new EventLogUnavailable(`no answer within ${this.parts.options.readTimeoutMs} ms`),
          ),
        this.parts.options.readTimeoutMs,
      );
      giveUp = () => clearTimeout(timer);
    });
    try {
      return await this.readOnConnection<R>(query, late);
    } catch (error) {
      throw asUnavailable(error);
    } finally {
      giveUp();
    }
  }

  /** `late` rejects when the time is over. */
  private async readOnConnection<R extends unknown[]>(
    query: pg.QueryArrayConfig<unknown[]>,
    late: Promise<never>,
  ): Promise<readonly R[]> {
    const connecting = this.parts.pool.connect();
    let client: pg.PoolClient;
    try {
      client = await Promise.race([connecting, late]);
    } catch (error) {
      // A connection that arrives after its caller gave up is for the next reader.
      connecting.then(
        (unused) => unused.release(),
        () => undefined,
      );
      throw error;
    }
    let broken = true;
    try {
      const answer = this.ask<R>(client, query);
      const rows = await Promise.race([answer, late]);
      broken = false;
      return rows;
    } finally {
      client.release(broken);
    }
  }

  private async ask<R extends unknown[]>(
    client: pg.PoolClient,
    query: pg.QueryArrayConfig<unknown[]>,
  ): Promise<readonly R[]> {
    if (!this.tuned.has(client)) {
      await client.query(NO_SCANS);
      // A new connection may be to a server that lacks events of the previous one.
      await compareSeen(
        this.parts.seen,
        async (question) => (await client.query<unknown[]>(question)).rows,
      );
      this.tuned.add(client);
    }
    return (await client.query<R>(query)).rows;
  }
}

/**
 * Plans are made once per connection, maybe while the tables are still tiny; a scan of the whole
 * table, right at that size, would stay in use until the next analyse, while the table grows a
 * thousandfold.
 */
const NO_SCANS = 'set enable_seqscan = off';

/**
 * The writing session. It reads committed rows whatever the database's default is, as
 * ledger.append_batch requires, and it returns only after the disk write, even where commits are
 * asynchronous by default.
 */
const WRITER_SETTINGS = `
  select set_config('default_transaction_isolation', 'read committed', false),
         set_config('enable_seqscan', 'off', false),
         set_config('enable_hashjoin', 'off', false),
         set_config('enable_mergejoin', 'off', false),
         set_config('plan_cache_mode', 'force_generic_plan', false),
         set_config('jit', 'off', false),
         case when current_setting('synchronous_commit') = 'off' then set_config('synchronous_commit', 'on', false) end`;

async function openWriter(
  options: Parameters<typeof openDedicatedConnection>[0],
  logId: string,
  seen: NewestSeen,
): Promise<BatchStore> {
  const connection = await openDedicatedConnection(options);
  const { client, isLost } = connection;
  const destroy = () => connection.destroy();
  const timer = setTimeout(destroy, options.connectTimeoutMs);
  try {
    await client.query(WRITER_SETTINGS);
    if ((await readLogId(client)) !== logId)
      throw new EventLogUnavailable('the address of this log leads to another log');
    await compareSeen(seen, async (question) => (await client.query<unknown[]>(question)).rows);
  } catch (error) {
    destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return {
    isLost,
    destroy,
    commit: async (appends) => {
      try {
        return await commitBatch(client, appends);
      } catch (error) {
        // The detail of a refused row is the row, which must not appear in an error.
        if (error instanceof pg.DatabaseError) error.detail = undefined;
        throw error;
      }
    },
  };
}

/** @param appends one or more. For a single one: a stream with another last event is a conflict. */
async function commitBatch(
  client: pg.Client,
  appends: readonly BatchedAppend[],
): Promise<readonly BatchedResult[]> {
  try {
    return await sendBatch(client, appends);
  } catch (error) {
    const [first, second] = appends;
    if (errorCode(error) !== END_MISMATCH || first === undefined || second !== undefined)
      throw error;
    return [{ kind: 'conflict', actual: first.expected }];
  }
}

async function sendBatch(
  client: pg.Client,
  appends: readonly BatchedAppend[],
): Promise<readonly BatchedResult[]> {
  const [first, second] = appends;
  const [event, another] = first?.events ?? [];
  if (first !== undefined && second === undefined && event !== undefined && another === undefined) {
    const { rows } = await client.query<[...SingleRow]>(singleQuery(first, event));
    const result = singleResult(first.expected, rows[0] ?? [null]);
    if (result !== undefined) return [result];
  }
  const call = batchCall(appends);
  const { rows } = await client.query<[...BatchRow]>(call.query);
  const row = rows[0];
  if (row === undefined) throw new Error('no answer row');
  return call.results(row);
}

async function readLogId(connection: pg.Pool | pg.Client): Promise<string> {
  const { rows } = await connection.query<{ log_id: string }>('select log_id from ledger.log_head');
  const row = rows[0];
  if (row === undefined)
    throw new Error('ledger.log_head has no row: the event log of this database is damaged');
  return row.log_id;
}

const isTransient = (error: unknown): boolean =>
  error instanceof EventLogUnavailable || isTransientError(error);

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

function asUnavailable(error: unknown): unknown {
  return isTransient(error)
    ? new EventLogUnavailable('the event log is away or does not answer', { cause: error })
    : error;
}

async function endPool(pool: pg.Pool): Promise<void> {
  const given = new AbortController();
  await Promise.race([
    pool.end(),
    delay(CLOSE_MS, undefined, { signal: given.signal }).catch(() => undefined),
  ]);
  given.abort();
}
