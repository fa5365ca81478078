import { timingSafeEqual } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../embedded-postgres/embedded-postgres.js';
import { openPool } from '../postgres/database.js';
import { migrateToLatest } from '../postgres/migrator.js';
import { KeyedNames } from '../privacy/keyed-names.js';
import { loadMasterKey, purposeKey } from '../privacy/master-key.js';
import { connectionBudget } from './connection-budget.js';

/** The database of the configuration, ready for use, and the master key that belongs to it. */
export interface LedgerDatabase {
  readonly pool: pg.Pool;
  /** Where it is now; contains a password. */
  readonly url: () => string;
  /** The embedded server, when it is one. */
  readonly embedded: EmbeddedPostgres | undefined;
  readonly masterKey: Buffer;
  readonly names: KeyedNames;
  /** Of the migrations that this start carried out. */
  readonly migrated: readonly string[];
  close(): Promise<void>;
}

export interface LedgerDatabaseOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly applicationName: string;
  /** False for benchmarks and tests of the embedded server. */
  readonly fsync?: boolean;
}

/** The master key does not belong to this database. */
export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey';
  constructor() {
    super(
      'the master key is not the one that this database was made with: restore the file from its backup',
    );
  }
}

/**
 * Opens the database (starts it, if it is the embedded one) and brings its schema up to date.
 * @throws {WrongMasterKey}
 */
export async function openLedgerDatabase({
  config,
  logger,
  applicationName,
  fsync = true,
}: LedgerDatabaseOptions): Promise<LedgerDatabase> {
  const masterKey = await loadMasterKey(config);
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
    await pool.end();
    await embedded?.stop();
  };
  try {
    // By a connection of its own: the limit of a request's statement is not meant for a migration.
    const migrated = await migrateToLatest(url());
    const names = new KeyedNames(purposeKey(masterKey, 'stream-names'));
    await checkMasterKey(pool, names);
    return { pool, url, embedded, masterKey, names, migrated, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The first process leaves a digest of its key; later ones compare. A wrong key would split every
 * name and lose every person.
 */
async function checkMasterKey(pool: pg.Pool, names: KeyedNames): Promise<void> {
  const digest = names.digest('master-key-check');
  await pool.query(
    'insert into ledger.identity (master_key_check) values ($1) on conflict do nothing',
    [digest],
  );
  const { rows } = await pool.query<{ master_key_check: string }>(
    'select master_key_check from ledger.identity',
  );
  const known = Buffer.from(rows[0]?.master_key_check ?? '');
  const mine = Buffer.from(digest);
  if (known.length !== mine.length || !timingSafeEqual(known, mine)) throw new WrongMasterKey();
}
