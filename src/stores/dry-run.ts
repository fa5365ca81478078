import { sql } from 'kysely';
import type pg from 'pg';
import type { Commands } from '../command-handling/commands.js';
import { openCommandHandling } from '../command-handling/open-command-handling.js';
import type { CommandBusParts } from '../command-handling/command-bus.js';
import type { DecidedLog } from '../command-handling/handle-command.js';
import { CachedStreams } from '../command-handling/stream-cache.js';
import { openStreams } from '../command-handling/streams.js';
import { EventCodec } from '../event-log/codec.js';
import type {
  AppendResult,
  NewEvent,
  ReadStreamOptions,
  RecordedEvent,
} from '../event-log/event-log.js';
import { timeNow } from '../foundation/world.js';
import { fetchRows, run, type Connection } from '../postgres/statements.js';
import { PostgresKeyRows, type KeyRow, type KeyRows } from '../privacy/key-rows.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import type { Sealer } from '../privacy/sealed-bytes.js';
import { WrappedKeys } from '../privacy/subject-keys.js';

export interface DryRunParts {
  readonly pool: pg.Pool;
  /** For the temporary tables of one dry run. */
  readonly db: Connection;
  readonly log: DecidedLog;
  readonly names: KeyedNames;
  /** Of the keys of people. */
  readonly sealer: Sealer;
  readonly commandsOf: (parts: CommandBusParts) => Commands;
}

const REMEMBERED_BYTES = 64 * 1024 * 1024;

/**
 * Commands on a copy of the service's log that keeps its appends to itself: decided like any
 * others, against the ledger and what the dry run has "recorded" before. Temporary tables of one
 * connection hold the appends, so memory does not grow and nothing remains.
 */
export async function openDryRun(parts: DryRunParts): Promise<Commands> {
  const { pool, db, names, sealer } = parts;
  await run(
    db,
    sql`create temporary table dry_run_events (
          stream text, revision bigint, id text, type text, data text, metadata text,
          primary key (stream, revision))`,
  );
  await run(db, sql`create temporary table dry_run_keys (subject text primary key, wrapped bytea)`);
  const log = new DryRunLog(parts.log, db);
  const keys = new WrappedKeys(new DryRunKeyRows(new PostgresKeyRows(pool), db), sealer);
  const codec = new EventCodec(keys);
  const streams = openStreams(log, codec, new CachedStreams(REMEMBERED_BYTES));
  const nothing = (): Promise<void> => Promise.resolve();
  const handling = openCommandHandling({
    log,
    codec,
    names,
    keys,
    streams,
    announceErasure: nothing,
    announceTenant: nothing,
  });
  return parts.commandsOf(handling);
}

interface KeptEvent extends NewEvent {
  readonly revision: string;
}

/** A stream of the log, followed by the dry run's appends. */
class DryRunLog implements DecidedLog {
  constructor(
    private readonly log: DecidedLog,
    private readonly db: Connection,
  ) {}

  get epoch(): number {
    return this.log.epoch;
  }

  onWentBack(listener: Parameters<DecidedLog['onWentBack']>[0]): () => void {
    return this.log.onWentBack(listener);
  }

  /** A stream has one writer at a time in a process: nothing conflicts. */
  async append(
    stream: string,
    expected: bigint | 'no-stream',
    events: readonly NewEvent[],
  ): Promise<AppendResult> {
    const first = expected === 'no-stream' ? 0n : expected + 1n;
    const of = <K extends keyof NewEvent>(member: K) => events.map((event) => event[member]);
    await run(
      this.db,
      sql`insert into dry_run_events
          select ${stream}, ${first}::bigint + place - 1, id, type, data, metadata
          from unnest(${of('id')}::text[], ${of('type')}::text[], ${of('data')}::text[],
            ${of('metadata')}::text[]) with ordinality as new (id, type, data, metadata, place)`,
    );
    return { kind: 'appended', position: '', revision: first + BigInt(events.length) - 1n };
  }

  async *readStream(
    stream: string,
    { from = 0n, end, limit }: ReadStreamOptions = {},
  ): AsyncGenerator<RecordedEvent> {
    const start = end ? end.revision + 1n : from;
    yield* this.log.readStream(stream, { from: start, ...(limit !== undefined && { limit }) });
    const kept = await fetchRows(
      this.db,
      sql<KeptEvent>`select revision::text, id, type, data, metadata from dry_run_events
                     where stream = ${stream} and revision >= ${start} order by revision`,
    );
    const recordedAt = timeNow();
    for (const { revision, ...event } of kept)
      yield { ...event, stream, revision: BigInt(revision), position: '', recordedAt };
  }
}

/** Keys that only the dry run has are in its own table. */
class DryRunKeyRows implements KeyRows {
  constructor(
    private readonly rows: KeyRows,
    private readonly db: Connection,
  ) {}

  async find(subjects: readonly string[]): Promise<readonly KeyRow[]> {
    const found = await this.rows.find(subjects);
    const known = new Set(found.map(({ subject }) => subject));
    const others = subjects.filter((subject) => !known.has(subject));
    if (others.length === 0) return found;
    const kept = await fetchRows(
      this.db,
      sql<KeyRow>`select subject, wrapped from dry_run_keys where subject = any(${others})`,
    );
    return [...found, ...kept];
  }

  async create(made: Parameters<KeyRows['create']>[0]): Promise<void> {
    for (const { subject, wrapped } of made)
      await run(
        this.db,
        sql`insert into dry_run_keys values (${subject}, ${wrapped}) on conflict do nothing`,
      );
  }

  destroy(): Promise<void> {
    return Promise.reject(new Error('a dry run erases no people'));
  }
}
