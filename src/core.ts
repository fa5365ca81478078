import { timingSafeEqual } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { AccountCommands } from './command-handling/account-commands.js';
import { CodeOwners } from './command-handling/code-owners.js';
import { ErasureProcess } from './command-handling/erasure-process.js';
import { ModerationProcess } from './command-handling/moderation-process.js';
import { Reservations } from './command-handling/reservations.js';
import { TooBusy } from './command-handling/one-at-a-time.js';
import { openStreams, type Streams } from './command-handling/streams.js';
import { TenantCommands } from './command-handling/tenant-commands.js';
import { TenantDirectory } from './command-handling/tenant-directory.js';
import type { Config } from './config.js';
import type { SubjectId } from './domain/personal.js';
import { EventCodec } from './event-log/codec.js';
import type { Actor } from './event-log/envelope.js';
import { EventLogUnavailable, type EventLog, type Position } from './event-log/event-log.js';
import type { EventLogObserver } from './event-log/event-log-observer.js';
import { EventStoreDbEventLog } from './event-log/eventstoredb-event-log.js';
import { PostgresEventLog } from './event-log/postgres-event-log.js';
import { isUnavailable, openPool } from './postgres/database.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './postgres/embedded-postgres.js';
import { migrateToLatest } from './postgres/migrator.js';
import { announceErasure } from './postgres/erasure-announcements.js';
import { announceTenant } from './postgres/tenant-announcements.js';
import { replayErasures, SubjectKeysAfterReplay } from './privacy/erasure-replay.js';
import { KeyedNames, STREAM_PREFIX } from './privacy/keyed-names.js';
import { loadMasterKey, purposeKey } from './privacy/master-key.js';
import { PostgresSubjectKeys, type SubjectKeys } from './privacy/subject-keys.js';

/** What every entry (service, command line, benchmark) stands on: the database, the log, and the one door for commands. */
export interface Core {
  readonly pool: pg.Pool;
  readonly log: EventLog;
  readonly codec: EventCodec;
  readonly keys: SubjectKeys;
  readonly names: KeyedNames;
  readonly streams: Streams;
  readonly owners: CodeOwners;
  readonly tenants: TenantDirectory;
  readonly tenantCommands: TenantCommands;
  readonly moderations: ModerationProcess;
  readonly erasures: ErasureProcess;
  /** Drops what this process remembers of people whose keys were destroyed; undefined: of everybody. */
  readonly forget: (subjects?: readonly SubjectId[]) => void;
  readonly accounts: AccountCommands;
  /** Encrypts kept answers. */
  readonly answersKey: Buffer;
  /** Where the database is now; contains a password. */
  readonly databaseUrl: () => string;
  /** The embedded server, when it is one. */
  readonly embedded: EmbeddedPostgres | undefined;
  readonly newest: (a: Position | null, b: Position | null) => Position | null;
  close(): Promise<void>;
}

export interface CoreOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly actor: Actor;
  readonly applicationName: string;
  readonly observe?: EventLogObserver;
  /** False for benchmarks and tests of the embedded server. */
  readonly fsync?: boolean;
}

/** The master key does not belong to this database. */
export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey';
  constructor() {
    super('the master key is not the one that this database was made with: restore the file from its backup');
  }
}

/** Opens the database (starts it, if it is the embedded one), brings its schema up to date and wires what stands on it. */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { config, logger, actor, applicationName } = options;
  const masterKey = await loadMasterKey(config);
  const embedded =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: config.dataDir, logger, fsync: options.fsync ?? true })
      : undefined;
  const url = (): string => embedded?.url ?? config.databaseUrl ?? '';
  const pool = openPool({ url, max: requestConnections(config), applicationName, statementTimeoutMs: config.statementTimeoutMs });
  const closing: (() => Promise<unknown>)[] = [() => pool.end(), async () => embedded?.stop()];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0)) await step();
  };
  try {
    // By a connection of its own: the limit of a request's statement is not meant for a migration.
    await migrateToLatest(url());
    const names = new KeyedNames(purposeKey(masterKey, 'stream-names'));
    await checkMasterKey(pool, names);
    const log = await openLog(config, url, names, options.observe);
    closing.unshift(() => log.close());
    return { ...wire(pool, log, names, masterKey, actor), embedded, databaseUrl: url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The one place that knows which store keeps the log. EventStoreDB may be away yet: whoever asks it waits, or is told so. */
async function openLog(
  config: Config,
  databaseUrl: () => string,
  names: KeyedNames,
  observe: EventLogObserver | undefined,
): Promise<EventLog> {
  const observed = observe === undefined ? {} : { observe };
  const { eventStore: address, eventStoreNamespace } = config;
  if (address === undefined) return PostgresEventLog.open({ url: databaseUrl, ...observed });
  const namespace = eventStoreNamespace === undefined ? {} : { namespace: eventStoreNamespace };
  return new EventStoreDbEventLog({ address, owner: names.digest('event-log'), prefix: STREAM_PREFIX, ...namespace, ...observed });
}

/** What is left of the process's share for requests: the log, the read models, the policies and the jobs take some twenty. */
const requestConnections = ({ databaseConnectionsMax }: Config): number => Math.max(4, databaseConnectionsMax - 20);

function wire(
  pool: pg.Pool,
  log: EventLog,
  names: KeyedNames,
  masterKey: Buffer,
  actor: Actor,
): Omit<Core, 'embedded' | 'databaseUrl' | 'close'> {
  const vault = new PostgresSubjectKeys(pool, purposeKey(masterKey, 'key-wrapping'));
  const keys = new SubjectKeysAfterReplay(vault, () => replayErasures(pool, log, vault));
  const codec = new EventCodec(keys);
  const streams = openStreams(log, codec);
  const forget = (subjects?: readonly SubjectId[]): void => {
    keys.forget(subjects);
    const known = subjects && new Set(subjects);
    streams.accounts.forgetSubjects(known);
    streams.reservations.forgetSubjects(known);
  };
  const erasures = new ErasureProcess(streams, names, keys, async (subjects) => {
    forget(subjects);
    await announceErasure(pool, subjects);
  });
  const owners = new CodeOwners(streams, names);
  const tenants = new TenantDirectory(streams.tenants, names);
  const announce = async (alias: string): Promise<void> => {
    tenants.forget(alias);
    await announceTenant(pool, alias);
  };
  const tenantCommands = new TenantCommands(streams, names, purposeKey(masterKey, 'api-keys'), announce, actor);
  const newest = (a: Position | null, b: Position | null): Position | null => (log.compare(a ?? undefined, b ?? undefined) >= 0 ? a : b);
  const moderations = new ModerationProcess(streams, names, newest);
  const reservations = new Reservations(streams, names);
  const accounts = new AccountCommands(streams, names, owners, reservations, tenants, moderations, erasures);
  const answersKey = purposeKey(masterKey, 'idempotency');
  return {
    ...{
      pool,
      log,
      codec,
      keys,
      names,
      streams,
      owners,
      tenants,
      tenantCommands,
      moderations,
      erasures,
      forget,
      accounts,
      answersKey,
      newest,
    },
  };
}

/** The first process leaves a digest of its key; later ones compare. A wrong key would split every name and lose every person. */
async function checkMasterKey(pool: pg.Pool, names: KeyedNames): Promise<void> {
  const digest = names.digest('master-key-check');
  await pool.query('insert into ledger.identity (master_key_check) values ($1) on conflict do nothing', [digest]);
  const { rows } = await pool.query<{ master_key_check: string }>('select master_key_check from ledger.identity');
  const known = Buffer.from(rows[0]?.master_key_check ?? '');
  const mine = Buffer.from(digest);
  if (known.length !== mine.length || !timingSafeEqual(known, mine)) throw new WrongMasterKey();
}

/** An error that says that a store is away, or that too much is asked of one stream: 503 outside, tried again inside. */
export const isStoreAway = (error: unknown): boolean =>
  error instanceof EventLogUnavailable || error instanceof TooBusy || isUnavailable(error);
