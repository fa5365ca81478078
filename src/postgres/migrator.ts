import { type Kysely, sql } from 'kysely';
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
import * as serveReleasesSideBySide from '../../migrations/0041_serve_releases_side_by_side.js';
import * as nameKeys from '../../migrations/0044_name_keys.js';
import * as createWebhookSigningKeys from '../../migrations/0050_create_webhook_signing_keys.js';
import * as deliverWebhooks from '../../migrations/0051_deliver_webhooks.js';
import * as rememberRetriedReactions from '../../migrations/0053_remember_retried_reactions.js';
import * as storeExportFiles from '../../migrations/0054_store_export_files.js';
import * as knowWhenSubscriptionsBegan from '../../migrations/0057_know_when_subscriptions_began.js';
import * as retryByTheDatabasesClock from '../../migrations/0058_retry_by_the_databases_clock.js';
import * as storeMailDeliveries from '../../migrations/0061_store_mail_deliveries.js';
import * as findRewardsToPay from '../../migrations/0062_find_rewards_to_pay.js';
import * as followPaymentProviders from '../../migrations/0064_follow_payment_providers.js';
import * as findWaitingMails from '../../migrations/0065_find_waiting_mails.js';
import * as storeOperatorSessions from '../../migrations/0071_store_operator_sessions.js';
import * as knowSinceWhenPaymentsWait from '../../migrations/0074_know_since_when_payments_wait.js';
import * as recordOperationRuns from '../../migrations/0080_record_operation_runs.js';
import * as notePeopleAndFullEndpoints from '../../migrations/0081_note_people_and_full_endpoints.js';
import * as findDeadWebhooks from '../../migrations/0087_find_dead_webhooks.js';
import * as keepSnapshots from '../../migrations/0090_keep_snapshots_of_long_streams.js';
import * as appendByTheClock from '../../migrations/0094_append_by_the_clock_of_the_process.js';
import * as keepUnsubscribed from '../../migrations/0095_keep_unsubscribed_addresses.js';
import * as dropSnapshots from '../../migrations/0096_drop_snapshots_of_streams.js';
import * as recordDownloads from '../../migrations/0097_record_downloads.js';
import * as keepCheckpointsOfHandlers from '../../migrations/0098_keep_checkpoints_of_handlers.js';
import * as storeThemes from '../../migrations/0099_store_themes.js';
import * as skipParkedEvents from '../../migrations/0100_skip_parked_events.js';
import * as parkAnnouncements from '../../migrations/0101_park_announcements.js';
import * as queueWork from '../../migrations/0103_queue_work.js';
import * as parkStreams from '../../migrations/0102_park_streams_by_their_first_event.js';
import { errorCode } from '../foundation/error-code.js';
import { pause } from '../foundation/pause.js';
import { kyselyOver, openPool } from './database.js';
import { LOCKS } from './locks.js';

/** One step of the schema, in a file of its own below migrations/, frozen once merged. */
export interface SchemaMigration {
  up(db: Kysely<unknown>): Promise<void>;
}

type Migrations = Readonly<Record<string, SchemaMigration>>;

/**
 * In the order of their names, which is the order in which they run. A new migration is one import
 * above and one entry here.
 */
export const MIGRATIONS: Migrations = {
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
  '0041_serve_releases_side_by_side': serveReleasesSideBySide,
  '0044_name_keys': nameKeys,
  '0050_create_webhook_signing_keys': createWebhookSigningKeys,
  '0051_deliver_webhooks': deliverWebhooks,
  '0053_remember_retried_reactions': rememberRetriedReactions,
  '0054_store_export_files': storeExportFiles,
  '0057_know_when_subscriptions_began': knowWhenSubscriptionsBegan,
  '0058_retry_by_the_databases_clock': retryByTheDatabasesClock,
  '0061_store_mail_deliveries': storeMailDeliveries,
  '0062_find_rewards_to_pay': findRewardsToPay,
  '0064_follow_payment_providers': followPaymentProviders,
  '0065_find_waiting_mails': findWaitingMails,
  '0071_store_operator_sessions': storeOperatorSessions,
  '0074_know_since_when_payments_wait': knowSinceWhenPaymentsWait,
  '0080_record_operation_runs': recordOperationRuns,
  '0081_note_people_and_full_endpoints': notePeopleAndFullEndpoints,
  '0087_find_dead_webhooks': findDeadWebhooks,
  '0090_keep_snapshots_of_long_streams': keepSnapshots,
  '0094_append_by_the_clock_of_the_process': appendByTheClock,
  '0095_keep_unsubscribed_addresses': keepUnsubscribed,
  '0096_drop_snapshots_of_streams': dropSnapshots,
  '0097_record_downloads': recordDownloads,
  '0098_keep_checkpoints_of_handlers': keepCheckpointsOfHandlers,
  '0099_store_themes': storeThemes,
  '0100_skip_parked_events': skipParkedEvents,
  '0101_park_announcements': parkAnnouncements,
  '0102_park_streams_by_their_first_event': parkStreams,
  '0103_queue_work': queueWork,
};

/** The names of the migrations of this release. */
export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS).sort();

/**
 * A newer release migrated the database, and that was confirmed: this release does not know what
 * its tables mean and does not touch them.
 */
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
  /**
   * Longest wait for one lock: statements of others queue behind it. The attempt is then rolled
   * back and repeated. Default 2 000.
   */
  readonly lockTimeoutMs?: number;
  /** Pause between two attempts, in which the others run. Default 1 000. */
  readonly retryMs?: number;
  /** From when on an attempt that finds no lock is the last one. Default 300 000. */
  readonly patienceMs?: number;
}

/**
 * Brings the schema up to this release, all missing migrations in one transaction: all or none.
 * Safe when several processes start at once (they take turns), and cheap when none is missing (one
 * query). On a database that another release has used they stay unconfirmed: the older release may
 * start again until `confirmMigrations` (docs/adr/0041-releases-side-by-side.md).
 * @param database a pool of at least two connections, or the address of the database.
 * @returns the names of the migrations that ran.
 * @throws {DatabaseNewerThanCode} {MigrationBlocked} and any error of a migration.
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
      // What no other release has used yet has nobody to go back to.
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

/** In the order of their names. @throws {DatabaseNewerThanCode} */
function missingFrom(
  { confirmed, unconfirmed }: AppliedMigrations,
  migrations: Migrations,
): readonly string[] {
  const unknown = confirmed.filter((name) => !(name in migrations));
  if (unknown.length > 0) throw new DatabaseNewerThanCode(unknown);
  const applied = new Set([...confirmed, ...unconfirmed]);
  return Object.keys(migrations)
    .sort()
    .filter((name) => !applied.has(name));
}

export async function appliedMigrations(pool: pg.Pool): Promise<AppliedMigrations> {
  const db = kyselyOver<unknown>(pool);
  const { rows } = await sql<{ confirmed: boolean; unconfirmed: boolean }>`
    select to_regclass('ledger.migration') is not null as confirmed,
           to_regclass('ledger.migration_unconfirmed') is not null as unconfirmed`.execute(db);
  return namesIn(db, rows[0]);
}

/**
 * The database's migrations belong to the release that runs: releases that do not know them cannot
 * start any more. Within the caller's transaction. @returns the names that were not confirmed yet.
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

/**
 * The tables in which migrations are recorded. Releases before read `ledger.migration` only, with
 * the migrator of Kysely, whose tables and lock these are.
 */
async function createOwnTables(db: Kysely<unknown>): Promise<void> {
  // A role without the right to create schemas may use one that was made for it.
  const { rows } = await sql`select from pg_namespace where nspname = 'ledger'`.execute(db);
  if (rows.length === 0) await sql`create schema ledger`.execute(db);
  for (const table of [CONFIRMED, UNCONFIRMED])
    await sql`create table if not exists ${table} (
      name varchar(255) not null primary key, timestamp varchar(255) not null)`.execute(db);
  await sql`create table if not exists ledger.migration_lock (
    id varchar(255) not null primary key, is_locked integer not null default 0)`.execute(db);
}

const SAY_AGAIN_MS = 30_000;
const WAITS =
  'a migration waits for a lock that another session holds (pg_blocking_pids in pg_stat_activity)';
/** No lock in time, and a deadlock. */
const BLOCKED: ReadonlySet<string> = new Set(['55P03', '40P01']);
