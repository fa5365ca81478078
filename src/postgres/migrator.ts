import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import type pg from 'pg';
import * as createEventLog from '../../migrations/0001_create_event_log.js';
import * as createProjections from '../../migrations/0002_create_projections.js';
import * as createKeysAndRequests from '../../migrations/0003_create_keys_and_requests.js';
import * as appendOneEvent from '../../migrations/0004_append_one_event.js';
import * as appendToDistinctStreams from '../../migrations/0005_append_to_distinct_streams.js';
import * as followOneLog from '../../migrations/0006_follow_one_log.js';
import * as createCallCounts from '../../migrations/0007_create_call_counts.js';
import * as nameDefinitionsOfGenerations from '../../migrations/0008_name_definitions_of_generations.js';
import * as forgetPeople from '../../migrations/0009_forget_people.js';
import * as rebuildProjections from '../../migrations/0010_rebuild_projections.js';
import * as createChainSeals from '../../migrations/0011_create_chain_seals.js';
import * as nameCommandsOfKeys from '../../migrations/0013_name_commands_of_keys.js';
import * as appendBehindAKnownEvent from '../../migrations/0014_append_behind_a_known_event.js';
import * as carryOutParkedReactions from '../../migrations/0015_carry_out_parked_reactions.js';
import * as forgetInPieces from '../../migrations/0018_forget_in_pieces.js';
import * as rememberWhereTheLogStood from '../../migrations/0024_remember_where_the_log_stood.js';
import * as sealTheWholeLog from '../../migrations/0034_seal_the_whole_log.js';
import * as searchByTrigrams from '../../migrations/0037_search_by_trigrams.js';
import * as nameKeys from '../../migrations/0044_name_keys.js';
import * as createWebhookSigningKeys from '../../migrations/0050_create_webhook_signing_keys.js';
import * as deliverWebhooks from '../../migrations/0051_deliver_webhooks.js';
import { kyselyOver, openPool } from './database.js';

/** One step of the schema, in a file of its own below migrations/, frozen once merged. */
export interface SchemaMigration {
  up(db: Kysely<unknown>): Promise<void>;
}

/** All tables of the service are in this schema; other schemas of the database are not touched. */
const SCHEMA = 'ledger';

/**
 * In the order of their names, which is the order in which they run. A new migration is one import
 * above and one entry here.
 */
export const MIGRATIONS: Readonly<Record<string, SchemaMigration>> = {
  '0001_create_event_log': createEventLog,
  '0002_create_projections': createProjections,
  '0003_create_keys_and_requests': createKeysAndRequests,
  '0004_append_one_event': appendOneEvent,
  '0005_append_to_distinct_streams': appendToDistinctStreams,
  '0006_follow_one_log': followOneLog,
  '0007_create_call_counts': createCallCounts,
  '0008_name_definitions_of_generations': nameDefinitionsOfGenerations,
  '0009_forget_people': forgetPeople,
  '0010_rebuild_projections': rebuildProjections,
  '0011_create_chain_seals': createChainSeals,
  '0013_name_commands_of_keys': nameCommandsOfKeys,
  '0014_append_behind_a_known_event': appendBehindAKnownEvent,
  '0015_carry_out_parked_reactions': carryOutParkedReactions,
  '0018_forget_in_pieces': forgetInPieces,
  '0024_remember_where_the_log_stood': rememberWhereTheLogStood,
  '0034_seal_the_whole_log': sealTheWholeLog,
  '0037_search_by_trigrams': searchByTrigrams,
  '0044_name_keys': nameKeys,
  '0050_create_webhook_signing_keys': createWebhookSigningKeys,
  '0051_deliver_webhooks': deliverWebhooks,
};

/**
 * A newer release migrated the database: this release does not know what its tables mean and does
 * not touch them.
 */
export class DatabaseNewerThanCode extends Error {
  override readonly name = 'DatabaseNewerThanCode';
  constructor(readonly unknown: readonly string[]) {
    super(
      `the database is newer than this release, which does not know its migration ${unknown.join(', ')}: run the newer release`,
    );
  }
}

/**
 * Brings the schema up to this release, all missing migrations in one transaction: all or none.
 * Safe when several processes start at once (they take turns), and cheap when none is missing (one
 * query).
 * @param database a pool of at least two connections, or the address of the database.
 * @returns the names of the migrations that ran.
 * @throws {DatabaseNewerThanCode} and any error of a migration.
 */
export async function migrateToLatest(
  database: pg.Pool | string,
  migrations: Readonly<Record<string, SchemaMigration>> = MIGRATIONS,
): Promise<readonly string[]> {
  if (typeof database !== 'string') return migrate(database, migrations);
  const pool = openPool({ url: database, max: 2, applicationName: 'ledger-migrator' });
  try {
    return await migrate(pool, migrations);
  } finally {
    await pool.end();
  }
}

async function migrate(
  pool: pg.Pool,
  migrations: Readonly<Record<string, SchemaMigration>>,
): Promise<readonly string[]> {
  const done = await appliedMigrations(pool);
  const unknown = done.filter((name) => !(name in migrations));
  if (unknown.length > 0) throw new DatabaseNewerThanCode(unknown);
  if (done.length > 0 && done.length === Object.keys(migrations).length) return [];

  const db = kyselyOver<unknown>(pool);
  await createSchema(db);
  const migrator = new Migrator({
    db,
    provider: {
      getMigrations: () => Promise.resolve({ ...migrations } satisfies Record<string, Migration>),
    },
    migrationTableSchema: SCHEMA,
    migrationTableName: 'migration',
    migrationLockTableName: 'migration_lock',
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  return (results ?? [])
    .filter(({ status }) => status === 'Success')
    .map(({ migrationName }) => migrationName);
}

async function appliedMigrations(pool: pg.Pool): Promise<readonly string[]> {
  const { rows: known } = await pool.query<{ made: boolean }>(
    `select to_regclass('${SCHEMA}.migration') is not null as made`,
  );
  if (!known[0]?.made) return [];
  const { rows } = await pool.query<{ name: string }>(
    `select name from ${SCHEMA}.migration order by name`,
  );
  return rows.map(({ name }) => name);
}

/**
 * Without the lock, `if not exists` loses a race against another process's `create schema`, and
 * then fails on the catalogue's unique index.
 */
async function createSchema(db: Kysely<unknown>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(hashtext(${`create schema ${SCHEMA}`}))`.execute(
      transaction,
    );
    // A role without the right to create schemas may use one that was made for it.
    const { rows } = await sql`select from pg_namespace where nspname = ${SCHEMA}`.execute(
      transaction,
    );
    if (rows.length === 0) await sql`create schema ${sql.id(SCHEMA)}`.execute(transaction);
  });
}
