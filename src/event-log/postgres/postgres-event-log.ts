import type { Pool } from 'pg';
import { errorCode } from '../../foundation/error-code.js';
import { waitAtMost } from '../../foundation/timeout.js';
import { openPool, rejectsWrites } from '../../postgres/database.js';
import { KeptConnection } from '../../postgres/kept-connection.js';
import { checkAppend } from '../append-checks.js';
import { LogAheadOfClock } from '../clock.js';
import { Doorbell } from '../doorbell.js';
import type { AppendOutcome, EventLogObserver, EventLogOptions } from '../event-log-observer.js';
import type {
  AppendResult,
  EventLog,
  ExpectedRevision,
  LogCheck,
  NewEvent,
  Position,
  ReadStreamOptions,
  RecordedEvent,
  SeenEvent,
  StreamEnd,
} from '../event-log.js';
import { withOrigins } from '../first-recorded.js';
import { followPages } from '../follow-pages.js';
import { NewestSeen } from '../newest-seen.js';
import { attemptTimeout, GroupCommit, type BatchStore } from './group-commit.js';
import { findContradiction } from './postgres-contradiction.js';
import { PostgresEventReader } from './postgres-event-reader.js';
import { asUnavailable, isTransient } from './postgres-failures.js';
import { PostgresPositions } from './postgres-positions.js';
import { PostgresReadPool } from './postgres-read-pool.js';
import { SeenComparison } from './postgres-seen.js';
import { openWriter } from './postgres-writer.js';

export interface PostgresEventLogOptions extends EventLogOptions {
  /** A function is called at every connect: the embedded server's port may change. */
  readonly url: string | (() => string);
  readonly readConnectionsMax?: number;
  /** Limits of one transaction: appends and bytes. */
  readonly batchAppendsMax?: number;
  readonly batchBytesMax?: number;
}

const FOLLOW_PAGE = 1_000;
/** How long closing waits for a server that does not answer. */
const CLOSE_MS = 1_000;

interface PostgresEventLogParts {
  readonly logId: string;
  readonly url: () => string;
  readonly reads: PostgresReadPool;
  readonly commits: GroupCommit;
  readonly doorbell: Doorbell;
  readonly seen: NewestSeen;
  readonly closing: AbortController;
  readonly readTimeoutMs: number;
  readonly pollIntervalMs: number;
  readonly observe: EventLogObserver | undefined;
}

/**
 * The event log on Postgres. Every append updates one position row last, which prevents gaps and
 * late arrivals (migrations/0001_baseline.ts); group commits amortise that row. One connection
 * writes, one listens while the log is followed, and a pool reads.
 */
export class PostgresEventLog implements EventLog {
  private readonly positions: PostgresPositions;
  private readonly events: PostgresEventReader;
  private readonly comparison: SeenComparison;
  private readonly listening: ListeningConnection;
  private closed: Promise<void> | undefined;

  private constructor(private readonly parts: PostgresEventLogParts) {
    this.positions = new PostgresPositions(parts.logId);
    this.events = new PostgresEventReader(parts.reads, this.positions, parts.seen);
    this.comparison = new SeenComparison(
      parts.seen,
      (query) => parts.reads.read(query),
      parts.closing.signal,
    );
    this.listening = listenForAppends(parts, this.comparison);
  }

  /** @throws {EventLogUnavailable}; other errors mean a database of another service. */
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
    const seen = new NewestSeen();
    const closing = new AbortController();
    const reads = new PostgresReadPool({
      url,
      connectionsMax: options.readConnectionsMax ?? 4,
      timeoutMs: readTimeoutMs,
      seen,
      closing: closing.signal,
    });
    observe?.pool?.(reads.use);
    const logId = await reads.logId().catch(async (error: unknown) => {
      await reads.close();
      throw asUnavailable(error);
    });
    const connection = {
      url,
      connectTimeoutMs: attemptTimeout(appendTimeoutMs),
      statementTimeoutMs: attemptTimeout(appendTimeoutMs),
    };
    const writer = {
      ...connection,
      applicationName: 'ledger-log-writer',
      pipeline: true,
      acceptsClock: options.acceptsClock ?? false,
    };
    const commits = groupCommit({ ...options, appendTimeoutMs }, () =>
      openWriter(writer, logId, seen),
    );
    const doorbell = new Doorbell();
    return new PostgresEventLog({
      logId,
      url,
      reads,
      commits,
      doorbell,
      seen,
      closing,
      readTimeoutMs,
      pollIntervalMs,
      observe,
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

  checkNewestSeen(): Promise<void> {
    return this.comparison.run();
  }

  async holds({ position, eventId }: SeenEvent): Promise<boolean> {
    const ordinal = this.positions.parse(position);
    return ordinal !== undefined && (await this.comparison.holds({ ordinal, eventId }));
  }

  /** @throws {InvalidAppend} and the errors of the port. */
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
      this.parts.observe?.append?.(performance.now() - startedAt, outcome);
    try {
      const revisionExpected = expected === 'no-stream' ? -1n : expected;
      const request = {
        stream,
        expected: revisionExpected,
        events: withOrigins(events),
        end: end?.eventId,
      };
      const result = await this.parts.commits.append(request, bytes);
      if (result.kind === 'ahead') throw new LogAheadOfClock();
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
      const token = this.positions.token(position);
      const seen = { ordinal: position, position: token, eventId: events.at(-1)?.id ?? '' };
      this.comparison.appended(seen, { isRepeated, epoch });
      this.parts.doorbell.ring(position);
      return { kind: 'appended', position: token, revision };
    } catch (error) {
      observed('failed');
      throw error;
    }
  }

  readStream(
    stream: string,
    options?: ReadStreamOptions,
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    return this.events.readStream(stream, options);
  }

  /** @throws {TypeError} for a position of another log. @throws {EventLogUnavailable} */
  async readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    return this.events.readPage(this.positions.number(after), limit);
  }

  /** @throws {TypeError} for a position of another log. Ends when the log is closed. */
  async *follow(
    after: Position | undefined,
    {
      signal,
      pageSize = FOLLOW_PAGE,
    }: { readonly signal: AbortSignal; readonly pageSize?: number },
  ): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
    this.listening.kept.startSoon();
    yield* followPages({
      start: this.positions.number(after),
      read: this.events.tail(pageSize),
      ordinal: (cursor: bigint) => cursor,
      doorbell: this.parts.doorbell,
      pollIntervalMs: this.parts.pollIntervalMs,
      endings: [signal, this.parts.closing.signal],
    });
  }

  /** @throws {EventLogUnavailable} */
  async head(): Promise<Position | undefined> {
    const rows = await this.parts.reads.read<[position: bigint]>({
      text: 'select position from ledger.log_head',
      rowMode: 'array',
    });
    const position = rows[0]?.[0] ?? 0n;
    return position === 0n ? undefined : this.positions.token(position);
  }

  /** @throws {TypeError} for a position of another log. */
  compare(a: Position | undefined, b: Position | undefined): number {
    const left = this.positions.number(a);
    const right = this.positions.number(b);
    return left < right ? -1 : left > right ? 1 : 0;
  }

  /** @throws {TypeError} for a position of another log. */
  order(position: Position): bigint {
    return this.positions.number(position);
  }

  isPosition(token: string): boolean {
    return this.positions.parse(token) !== undefined;
  }

  /** Answers waiting appends in their time, ends tails, closes connections. */
  close(): Promise<void> {
    this.parts.closing.abort();
    this.closed ??= (async () => {
      await this.parts.commits.close();
      // A server that does not answer never closes its connections.
      await waitAtMost(
        CLOSE_MS,
        this.listening.kept.stop().then(() => this.listening.pool.end()),
      );
      await this.parts.reads.close();
    })();
    return this.closed;
  }

  id(): Promise<string> {
    return Promise.resolve(this.parts.logId);
  }

  async contradiction(): Promise<Position | null> {
    const { url, readTimeoutMs } = this.parts;
    const position = await findContradiction(url, readTimeoutMs);
    return position === null ? null : this.positions.token(position);
  }

  /** @throws {EventLogUnavailable} */
  async check(): Promise<LogCheck> {
    const rows = await this.parts.reads.read<[position: bigint, at: number, version: string]>({
      text: `select position, recorded_at::float8, current_setting('server_version') from ledger.log_head`,
      rowMode: 'array',
    });
    const [position = 0n, recordedAt = 0, version = 'of unknown version'] = rows[0] ?? [];
    const store = `postgres ${version.split(' ')[0] ?? ''}`;
    return position === 0n
      ? { store, head: undefined, recordedAt: undefined }
      : { store, head: this.positions.token(position), recordedAt };
  }
}

interface ListeningConnection {
  readonly pool: Pool;
  readonly kept: KeptConnection;
}

/**
 * Signals appends of all processes. Each new connection lets every reader read, since notifications
 * in between are lost. Without it readers poll and report what is wrong.
 */
function listenForAppends(
  { url, doorbell }: Pick<PostgresEventLogParts, 'url' | 'doorbell'>,
  comparison: SeenComparison,
): ListeningConnection {
  const pool = openPool({ url, max: 1, applicationName: 'ledger-log-listener' });
  const kept = new KeptConnection(pool, async (client) => {
    client.on('notification', ({ payload = '' }) => {
      if (!/^\d{1,19}$/.test(payload)) return;
      doorbell.ring(BigInt(payload));
      comparison.onAppend(BigInt(payload));
    });
    await client.query('listen ledger_events');
    doorbell.wakeAll();
  });
  return { pool, kept };
}

function groupCommit(
  options: PostgresEventLogOptions & { readonly appendTimeoutMs: number },
  open: () => Promise<BatchStore>,
): GroupCommit {
  const { observe } = options;
  return new GroupCommit({
    open,
    isTransient,
    refusesWrites: rejectsWrites,
    appendTimeoutMs: options.appendTimeoutMs,
    waitingAppendsMax: options.waitingAppendsMax ?? 10_000,
    batchAppendsMax: options.batchAppendsMax ?? 500,
    batchBytesMax: options.batchBytesMax ?? 4 * 1024 * 1024,
    onBatch: (appends, ms) => observe?.batch?.(appends, ms),
    onRetry: (error) => observe?.retry?.(errorCode(error)),
  });
}
