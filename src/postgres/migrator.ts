import { type Kysely, sql } from 'kysely';
import type pg from 'pg';
import * as baseline from '../../migrations/0001_baseline.js';
import { errorCode } from '../foundation/error-code.js';
import { pause } from '../foundation/pause.js';
import { kyselyOver, openPool } from './database.js';
import { LOCKS } from './locks.js';

/** One step of the schema, in its own file below migrations/, frozen once merged. */
export interface SchemaMigration {
  up(db: Kysely<unknown>): Promise<void>;
}

type Migrations = Readonly<Record<string, SchemaMigration>>;

/** Run in the order of their names. A new migration is an import and an entry here. */
export const MIGRATIONS: Migrations = {
  '0001_baseline': baseline,
};

/** The names of the migrations of this release. */
export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS).sort();

/** Made by a development build; no migration leads from there to here. */
export class DatabaseOlderThanBaseline extends Error {
  override readonly name = 'DatabaseOlderThanBaseline';
  constructor() {
    super(
      'the database was made by a development build from before the first release, which this release cannot read: start with a new database (another DATABASE_URL, or an empty DATA_DIR)',
    );
  }
}

/** A newer, confirmed release migrated the database, so its tables are unknown here. */
export class DatabaseNewerThanCode extends Error {
  override readonly name = 'DatabaseNewerThanCode';
  constructor(readonly unknown: readonly string[]) {
    super(
      `the database is newer than this release, which does not know its migration ${unknown.join(', ')}: run the newer release`,
    );
  }
}

/** Others held a lock that a migration needs, for too long. Nothing was changed. */
export class MigrationBlocked extends Error {
  override readonly name = 'MigrationBlocked';
}

export interface MigrateOptions {
  /** Called with one line, immediately and every 30 seconds, while a migration waits for a lock. */
  readonly onWait?: (line: string) => void;
  /** Longest wait for one lock: other statements queue after it. Default 2 000. */
  readonly lockTimeoutMs?: number;
  /** Pause between two attempts, in which the others run. Default 1 000. */
  readonly retryMs?: number;
  /** After this time, an attempt that finds no lock is the last one. Default 300 000. */
  readonly patienceMs?: number;
}

/**
 * Runs all missing migrations in one transaction. Safe when several processes start concurrently
 * (they take turns), and cheap when none is missing (one query). On a database of another release
 * they stay unconfirmed: the older release may start again until `confirmMigrations`
 * (docs/adr/0041).
 * @param database a pool of at least two connections, or the address of the database.
 * @returns the names of the migrations that ran.
 * @throws {DatabaseOlderThanBaseline} {DatabaseNewerThanCode} {MigrationBlocked} and any error of a
 * migration.
 */
export async function migrateToLatest(
  database: pg.Pool | string,
  migrations: Migrations = MIGRATIONS,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  if (typeof database !== 'string') return migrate(database, migrations, options);
  const pool = openPool({ url: database, max: 2, applicationName: 'ledger-migrator' });
  try {
    return await migrate(pool, migrations, options);
  } finally {
    await pool.end();
  }
}

async function migrate(
  pool: pg.Pool,
  migrations: Migrations,
  options: MigrateOptions,
): Promise<readonly string[]> {
  const { lockTimeoutMs = 2_000, retryMs = 1_000, patienceMs = 300_000, onWait } = options;
  if (missingFrom(await appliedMigrations(pool), migrations).length === 0) return [];
  const since = performance.now();
  let saidAt = -Infinity;
  for (;;) {
    try {
      return await attempt(pool, migrations, lockTimeoutMs);
    } catch (error) {
      if (!BLOCKED.has(errorCode(error) ?? '')) throw error;
      if (performance.now() - since > patienceMs)
        throw new MigrationBlocked(`${WAITS}: end that session, and start again`);
      if (performance.now() - saidAt > SAY_AGAIN_MS) {
        onWait?.(WAITS);
        saidAt = performance.now();
      }
    }
    await pause(retryMs);
  }
}

/** @throws SQLSTATE 55P03 when a lock is not free in time; nothing was changed then. */
function attempt(
  pool: pg.Pool,
  migrations: Migrations,
  lockTimeoutMs: number,
): Promise<readonly string[]> {
  return kyselyOver<unknown>(pool)
    .transaction()
    .execute(async (transaction) => {
      await sql`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)`.execute(
        transaction,
      );
      await sql`select pg_advisory_xact_lock(${LOCKS.migrate}::bigint)`.execute(transaction);
      await createOwnTables(transaction);
      const applied = await namesIn(transaction);
      const missing = missingFrom(applied, migrations);
      for (const name of missing) await migrations[name]?.up(transaction);
      // Without an earlier release there is none to return to.
      const table = applied.confirmed.length === 0 ? CONFIRMED : UNCONFIRMED;
      for (const name of missing)
        await sql`insert into ${table} (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(
          transaction,
        );
      return missing;
    });
}

/** The migrations of a database, by whether the release that brought them is confirmed. */
export interface AppliedMigrations {
  readonly confirmed: readonly string[];
  readonly unconfirmed: readonly string[];
}

/** In the order of their names. @throws {DatabaseOlderThanBaseline} {DatabaseNewerThanCode} */
function missingFrom(
  { confirmed, unconfirmed }: AppliedMigrations,
  migrations: Migrations,
): readonly string[] {
  const names = Object.keys(migrations).sort();
  const [first = ''] = names;
  if (confirmed.length > 0 && !confirmed.includes(first)) throw new DatabaseOlderThanBaseline();
  const unknown = confirmed.filter((name) => !(name in migrations));
  if (unknown.length > 0) throw new DatabaseNewerThanCode(unknown);
  const applied = new Set([...confirmed, ...unconfirmed]);
  return names.filter((name) => !applied.has(name));
}

export async function appliedMigrations(pool: pg.Pool): Promise<AppliedMigrations> {
  const db = kyselyOver<unknown>(pool);
  const { rows } = await sql<{ confirmed: boolean; unconfirmed: boolean }>`
    select to_regclass('ledger.migration') is not null as confirmed,
           to_regclass('ledger.migration_unconfirmed') is not null as unconfirmed`.execute(db);
  return namesIn(db, rows[0]);
}

/**
 * Confirms the migrations for the running release: releases without them can no longer start. In
 * the caller's transaction.
 * @returns the names that were not confirmed yet.
 */
export async function confirmMigrations(
  client: pg.PoolClient,
  names: readonly string[] = MIGRATION_NAMES,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `with confirmed as (delete from ledger.migration_unconfirmed where name = any ($1::text[]) returning name, timestamp)
     insert into ledger.migration (name, timestamp) select name, timestamp from confirmed order by name returning name`,
    [names],
  );
  return rows.map(({ name }) => name);
}

const CONFIRMED = sql.table('ledger.migration');
const UNCONFIRMED = sql.table('ledger.migration_unconfirmed');

const ALL_THERE = { confirmed: true, unconfirmed: true };

async function namesIn(
  db: Kysely<unknown>,
  { confirmed, unconfirmed }: typeof ALL_THERE = ALL_THERE,
): Promise<AppliedMigrations> {
  const names = async (table: typeof CONFIRMED): Promise<readonly string[]> =>
    (
      await sql<{ name: string }>`select name from ${table} order by name collate "C"`.execute(db)
    ).rows.map(({ name }) => name);
  return {
    confirmed: confirmed ? await names(CONFIRMED) : [],
    unconfirmed: unconfirmed ? await names(UNCONFIRMED) : [],
  };
}

/** The tables in which migrations are recorded. */
async function createOwnTables(db: Kysely<unknown>): Promise<void> {
  // A role without the right to create schemas may use an existing one.
  const { rows } = await sql`select from pg_namespace where nspname = 'ledger'`.execute(db);
  if (rows.length === 0) await sql`create schema ledger`.execute(db);
  for (const table of [CONFIRMED, UNCONFIRMED])
    await sql`create table if not exists ${table} (
      name text primary key, timestamp text not null)`.execute(db);
}

const SAY_AGAIN_MS = 30_000;
const WAITS =
  'a migration waits for a lock that another session holds (pg_blocking_pids in pg_stat_activity)';
/** No lock in time, and a deadlock. */
const BLOCKED: ReadonlySet<string> = new Set(['55P03', '40P01']);
