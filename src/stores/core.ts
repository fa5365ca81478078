import type pg from 'pg';
import { ChainSigner } from '../chain/chain-signer.js';
import type { CommandBusParts } from '../command-handling/command-bus.js';
import type { Commands } from '../command-handling/commands.js';
import { TooBusy } from '../command-handling/stream-queues.js';
import {
  openCommandHandling,
  type CommandHandlingCore,
} from '../command-handling/open-command-handling.js';
import type { ReadableStreams } from '../command-handling/readable-streams.js';
import { CachedStreams } from '../command-handling/stream-cache.js';
import { forgetSubjects, openStreams, type Streams } from '../command-handling/streams.js';
import { TenantCommands } from '../command-handling/tenant-commands.js';
import { TokenSecrets } from '../tenants/token-secrets.js';
import type { Config } from '../config/config.js';
import type { SubjectId } from '../domain/personal.js';
import type { Scope } from '../domain/scope.js';
import { EventCodec } from '../event-log/codec.js';
import type { Actor } from '../event-log/envelope.js';
import type { EventLogObserver } from '../event-log/event-log-observer.js';
import { EventLogUnavailable, type EventLog } from '../event-log/event-log.js';
import { UnreadableEvent } from '../event-log/event-schemas.js';
import type { EventStoreAddress } from '../config/event-store-url.js';
import type { EventStoreDbEventLogOptions } from '../event-log/eventstoredb/eventstoredb-event-log.js';
import { PostgresEventLog } from '../event-log/postgres/postgres-event-log.js';
import { ExportDownloads } from '../exports/export-downloads.js';
import { Exports } from '../exports/exports.js';
import { ExportChunks } from '../exports/storage/export-chunks.js';
import { isUnavailable } from '../postgres/database.js';
import type { Connection } from '../postgres/statements.js';
import { announceErasure, announceTenant } from '../postgres/announcements.js';
import { replayErasures, SubjectKeysAfterReplay } from './erasure-replay.js';
import { TestAddresses } from '../mails/settings/test-addresses.js';
import { type KeyedNames, STREAM_PREFIX } from '../privacy/keyed-names.js';
import { PaymentConnections } from '../payments/payment-connections.js';
import { PostgresKeyRows } from '../privacy/key-rows.js';
import type { Keyring } from '../privacy/keyring.js';
import { WrappedKeys, type SubjectKeys } from '../privacy/subject-keys.js';
import { ReadModelsIncomplete } from '../projecting/generations/live-generations.js';
import type { Projector } from '../projecting/projector.js';
import { forgetInRuns } from '../runs/recorded-runs.js';
import { ThemeChanges } from '../themes/theme-changes.js';
import { ThemeRows } from '../themes/theme-rows.js';
import { ReceiverAnswers } from '../webhooks/deliveries/receiver-answers.js';
import { WebhookSubscriptions } from '../webhooks/subscriptions/webhook-subscriptions.js';
import { connectionBudget } from '../config/connection-budget.js';
import { AnotherLogFollowed, FollowedLog } from './followed-log.js';
import { openDryRun } from './dry-run.js';
import { openLedgerDatabase, type LedgerDatabaseOptions } from './ledger-database.js';

/** The shared parts of service, command line and benchmarks. */
export type Core = Awaited<ReturnType<typeof openCore>>;

export interface CoreOptions extends LedgerDatabaseOptions {
  readonly actor: Actor;
  readonly observe?: EventLogObserver;
  /** Passed only by a service, which may move the database to a copy of its log. */
  readonly projectors?: readonly Projector[];
  /** Appends to a log whose newest event is ahead of the clock. Default: false. */
  readonly acceptsClock?: boolean;
  /** Loads the command bus immediately; default: with the first command. */
  readonly loadsBus?: boolean;
}

/** Opens database and log. @throws {AnotherLogFollowed} {WrongMasterKey} */
export async function openCore(options: CoreOptions) {
  const { config } = options;
  const database = await openLedgerDatabase(options);
  const { pool, names, masterKey, keyring, embedded, url } = database;
  const closing: (() => Promise<unknown>)[] = [() => database.close()];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0)) await step();
  };
  try {
    const followedLog = new FollowedLog(
      pool,
      options.projectors,
      new ChainSigner(keyring.fixed('chain-signing')),
    );
    const accept = (logId: string): Promise<void> => followedLog.accept(logId);
    const { acceptsClock = false, observe } = options;
    const observed = { acceptsClock, ...(observe && { observe }) };
    const log =
      config.eventStore === undefined
        ? await PostgresEventLog.open({
            url,
            readConnectionsMax: connectionBudget(config).logReaders,
            ...observed,
          })
        : await openEventStoreDbLog(config.eventStore, config, names, {
            accept: orUnavailable(accept),
            ...observed,
          });
    closing.unshift(() => log.close());
    // EventStoreDB may be unavailable: it is identified on the first connection.
    if (config.eventStore === undefined)
      await followedLog.accept(await log.id(), (await log.head()) === undefined);
    if (options.loadsBus) await loadBus();
    return {
      ...wire({ pool, log, names, keyring, ...options }),
      logger: options.logger,
      masterKey,
      /** Which log the database follows. */
      followedLog,
      embedded,
      /** The database's address; contains a password. */
      databaseUrl: url,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The store may be unavailable: calls then wait or fail. */
export async function openEventStoreDbLog(
  address: EventStoreAddress,
  { eventStoreNamespace }: Pick<Config, 'eventStoreNamespace'>,
  names: KeyedNames,
  options: Pick<
    EventStoreDbEventLogOptions,
    'observe' | 'accept' | 'acceptsClock' | 'appendTimeoutMs'
  > = {},
): Promise<EventLog> {
  // Its client takes a good part of a command's start to load.
  const { EventStoreDbEventLog } =
    await import('../event-log/eventstoredb/eventstoredb-event-log.js');
  const namespace = eventStoreNamespace === undefined ? {} : { namespace: eventStoreNamespace };
  return new EventStoreDbEventLog({
    address,
    owner: names.digest('event-log'),
    prefix: STREAM_PREFIX,
    ...namespace,
    ...options,
  });
}

/** As an error of the log, which callers and the health check handle. */
function orUnavailable(accept: (logId: string) => Promise<void>): (logId: string) => Promise<void> {
  return async (logId) => {
    try {
      await accept(logId);
    } catch (error) {
      if (error instanceof AnotherLogFollowed) throw new EventLogUnavailable(error.message);
      if (isUnavailable(error))
        throw new EventLogUnavailable(
          'the database, which names the log to follow, is unavailable',
        );
      throw error;
    }
  };
}

interface Foundations extends Pick<CoreOptions, 'actor' | 'logger' | 'config'> {
  readonly pool: pg.Pool;
  readonly log: EventLog;
  readonly names: KeyedNames;
  readonly keyring: Keyring;
}

function wire({ pool, log, names, keyring, actor, logger, config }: Foundations) {
  const vault = new WrappedKeys(new PostgresKeyRows(pool), keyring.sealer('key-wrapping'));
  const keys: SubjectKeys = new SubjectKeysAfterReplay(vault, () =>
    replayErasures(pool, log, vault),
  );
  const codec = new EventCodec(keys);
  const streams = openStreams(log, codec, rememberedIn(config));
  const forget = forgetting(keys, streams);
  const announce = async (subjects: readonly SubjectId[]): Promise<void> => {
    forget(subjects);
    await announceErasure(pool, subjects);
  };
  const handling = openCommandHandling({
    log,
    codec,
    names,
    keys,
    streams,
    announceErasure: announce,
    forgetInFiles: (scope, persons) => forgetInStoredFiles({ pool, exports }, scope, persons),
    announceTenant: (alias) => announcedTenant(pool, alias, logger),
  });
  const { owners, tenants, moderations, erasures } = handling;
  const commands = commandsOf(handling);
  const exports = new Exports({ commands, streams, names, pool, keys, announce });
  const sealer = keyring.sealer('api-keys');
  const tenantCommands = new TenantCommands(commands, streams, names, sealer, actor);
  const readable: ReadableStreams = streams;
  return {
    pool,
    log,
    codec,
    keys,
    names,
    streams: readable,
    owners,
    tenants,
    /** Every change of a ledger is a command on this bus. */
    commands,
    tenantCommands,
    ...ofExports(exports, { pool, keys, config }),
    ...ofWebhooks({ commands, tenants, names }, keyring, keys),
    ...ofThemes(commands, new ThemeRows(pool, keys)),
    payments: new PaymentConnections({ commands, tenants, sealer, keys, names }),
    /** Recipients of a tenant's test mode. */
    mailTestAddresses: new TestAddresses(sealer, names),
    tokenSecrets: new TokenSecrets(tenants, sealer),
    moderations,
    erasures,
    /** Decides commands like others, without a change. */
    openDryRun: (db: Connection) =>
      openDryRun({ pool, db, log, names, sealer: keyring.sealer('key-wrapping'), commandsOf }),
    /** Evicts the data of people whose keys were destroyed; undefined: of all people. */
    forget,
    keyring,
    ...sealers(keyring),
  };
}

/** In results of operators' runs, and in files of exports. */
async function forgetInStoredFiles(
  { pool, exports }: { readonly pool: pg.Pool; readonly exports: Exports },
  scope: Scope,
  persons: readonly SubjectId[],
): Promise<void> {
  await forgetInRuns(pool, scope);
  await exports.forget(scope, persons);
}

const forgetting =
  (keys: SubjectKeys, streams: Streams) =>
  (subjects?: readonly SubjectId[]): void => {
    keys.forget(subjects);
    forgetSubjects(streams, subjects);
  };

const rememberedIn = ({ rememberedStreamsMb: mb }: CoreOptions['config']): CachedStreams =>
  new CachedStreams(mb * 1024 * 1024);

const ofExports = (
  exports: Exports,
  { pool, keys, config }: Pick<Foundations, 'pool' | 'config'> & { readonly keys: SubjectKeys },
) => ({
  exports,
  downloads: new ExportDownloads({ pool, chunks: new ExportChunks(pool), keys }),
  /** Limit of the bytes of a tenant's files. */
  exportsStoredBytesMax: config.exportsStoredBytesMax,
});

const ofThemes = (commands: Commands, themeRows: ThemeRows) => ({
  themeRows,
  themeChanges: new ThemeChanges(commands, themeRows),
});

const ofWebhooks = (
  parts: { readonly commands: Commands } & Pick<CommandHandlingCore, 'tenants' | 'names'>,
  keyring: Keyring,
  keys: SubjectKeys,
) => ({
  webhooks: new WebhookSubscriptions({ ...parts, sealer: keyring.sealer('webhooks') }),
  webhookAnswers: new ReceiverAnswers(keyring.sealer('webhook-answers'), keys),
});

const sealers = (keyring: Keyring) => ({
  answerSealer: keyring.sealer('idempotency'),
  webhookKeysSealer: keyring.sealer('webhook-signing'),
  chainSigner: new ChainSigner(keyring.fixed('chain-signing')),
});

/** @throws the announcement's error, after it was logged. */
async function announcedTenant(
  pool: pg.Pool,
  alias: string,
  logger: CoreOptions['logger'],
): Promise<void> {
  try {
    await announceTenant(pool, alias);
  } catch (error) {
    logger.warn(
      { tenant: alias },
      'a recorded change of a tenant could not be announced: other processes read it within seconds',
    );
    throw error;
  }
}

/** Opens the bus with the first command: read-only operator commands do not load the framework. */
export function commandsOf(parts: CommandBusParts): Commands {
  let opened: Promise<Commands> | undefined;
  const open = async (): Promise<Commands> => {
    const { openCommandBus } = await loadBus();
    return openCommandBus(parts);
  };
  // Awaited, so that `execute` is on the stack of a command.
  return { execute: async (command) => await (await (opened ??= open())).execute(command) };
}

const loadBus = () => import('../command-handling/command-bus.js');

/** An unavailable or unready store, or an overloaded stream: 503 outside, retried inside. */
export const isStoreUnavailable = (error: unknown): boolean =>
  error instanceof TooBusy || isOutage(error);

/** Returned as 503: an outage, or an account with an event that this release cannot read. */
export const isTemporarilyUnservable = (error: unknown): boolean =>
  error instanceof UnreadableEvent || isStoreUnavailable(error);

/** An unavailable or unready store, for all callers. */
export const isOutage = (error: unknown): boolean =>
  error instanceof EventLogUnavailable ||
  error instanceof ReadModelsIncomplete ||
  isUnavailable(error);
