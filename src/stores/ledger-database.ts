import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../embedded-postgres/embedded-postgres.js';
import { makeDataFolder } from '../embedded-postgres/data-folder.js';
import { waitAtMost } from '../foundation/timeout.js';
import { openPool } from '../postgres/database.js';
import { migrateToLatest } from '../postgres/migrator.js';
import { KeyedNames } from '../privacy/keyed-names.js';
import type { Keyring } from '../privacy/keyring.js';
import { loadMasterKey } from '../privacy/master-key.js';
import { openServiceKeys } from '../privacy/service-keys.js';
import { connectionBudget } from '../config/connection-budget.js';
import { untilDatabaseOpens } from './open-database.js';

const CLOSE_MS = 2_000;
/** A start reports a database that is unavailable for longer. */
const OPEN_WITHIN_MS = 7_000;

/** The configured database, ready for use, and its master key. */
export interface LedgerDatabase {
  readonly pool: pg.Pool;
  /** The database's address; contains a password. */
  readonly url: () => string;
  readonly embedded: EmbeddedPostgres | undefined;
  readonly masterKey: Buffer;
  readonly keyring: Keyring;
  readonly names: KeyedNames;
  close(): Promise<void>;
}

export interface LedgerDatabaseOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly applicationName: string;
  /** False for benchmarks and tests of the embedded server. */
  readonly fsync?: boolean;
  /** True: waits some seconds for an unavailable database. Default: it is reported immediately. */
  readonly waitsForDatabase?: boolean;
}

/**
 * Opens the database (and starts the embedded one) and migrates its schema.
 * @throws {WrongMasterKey} {MasterKeyError} {EmbeddedPostgresError} {DatabaseNotOpened}
 * {DatabaseOlderThanBaseline} {DatabaseNewerThanCode}
 */
export async function openLedgerDatabase({
  config,
  logger,
  applicationName,
  fsync = true,
  waitsForDatabase = false,
}: LedgerDatabaseOptions): Promise<LedgerDatabase> {
  if (config.databaseUrl === undefined) await makeDataFolder(config.dataDir);
  const masterKey = await loadMasterKey(config);
  if (config.databaseUrl !== undefined)
    await untilDatabaseOpens(config.databaseUrl, {
      withinMs: OPEN_WITHIN_MS,
      waits: waitsForDatabase,
      logger,
    });
  const embedded =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: config.dataDir, logger, fsync })
      : undefined;
  const url = (): string => embedded?.url ?? config.databaseUrl ?? '';
  const pool = openPool({
    url,
    max: connectionBudget(config).requests,
    applicationName,
    statementTimeoutMs: config.statementTimeoutMs,
  });
  const close = async (): Promise<void> => {
    // A server that does not answer never closes its connections.
    await waitAtMost(CLOSE_MS, pool.end());
    await embedded?.stop();
  };
  try {
    // On its own connection: a request's statement timeout is too short for a migration.
    await migrateToLatest(url(), undefined, {
      onWait: (line) => logger.warn({}, line),
    });
    const keyring = await openServiceKeys(pool, masterKey);
    const names = new KeyedNames(keyring.fixed('stream-names'));
    return { pool, url, embedded, masterKey, keyring, names, close };
  } catch (error) {
    await close();
    throw error;
  }
}
