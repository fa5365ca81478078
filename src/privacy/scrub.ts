import { setTimeout as delay } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { errorCode } from '../foundation/error-code.js';
import { endWithLocks, tryGenerationsLock } from '../postgres/generations-lock.js';
import { LOCKS } from '../postgres/locks.js';
import { fetchRow, fetchRows, run, tables } from '../postgres/statements.js';

/** The result of a scrub. */
export interface Scrubbed {
  readonly tables: number;
  /** False: the role may not switch the write-ahead log, whose segments expire later. */
  readonly walRemoved: boolean;
}

/** The scrub's access to read models. */
export interface ReadModelsToScrub {
  /** The returned check is true once read models have reached the captured head. */
  reachHead(): Promise<() => Promise<boolean>>;
  /** Drops read models that no process updates: they would keep erased people. */
  dropUnfollowed(client: PoolClient): Promise<void>;
}

export interface ScrubOptions {
  readonly readModels: ReadModelsToScrub;
  /** Leaves larger tables to pg_repack where it is installed. Default 8 MiB. */
  readonly largeBytes?: number;
  /** Called for each table. */
  readonly progress?: (line: string) => void;
}

/** Other statements queue after a waiting lock: the scrub gives up and tries again. */
const LOCK_WAIT = '200ms';
const TRIES_MAX = 60;
/** Rewriting less locks a table for a fraction of a second. */
const LARGE_BYTES = 8 * 1024 * 1024;
const AGAIN_MS = 500;
const OLD_TRANSACTIONS_WAIT_MS = 30_000;

const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

/** An open transaction is older than the erasure and may see the erased rows. */
export class ScrubNotPossible extends Error {
  override readonly name = 'ScrubNotPossible';
}

/**
 * Removes erased bytes from the files of Postgres. A deleted row stays in its table's file until
 * its space is reused, and in the write-ahead log until its segment is removed: so the tables are
 * rewritten, and the log is switched and cut.
 *
 * Rewrites one table after the other. Each is locked meanwhile: for a fraction of a second below 8
 * MiB, for seconds per GiB above, so the daily scrub runs in a maintenance window.
 * @throws {ScrubNotPossible} with one line for the operator; tables rewritten until then stay
 * rewritten.
 */
export async function scrub(
  pool: Pool,
  { readModels, largeBytes = LARGE_BYTES, progress = () => undefined }: ScrubOptions,
): Promise<Scrubbed> {
  await readModelsCatchUp(await readModels.reachHead());
  const client = await pool.connect();
  try {
    await client.query(`set statement_timeout = 0`);
    await client.query('select pg_advisory_lock($1)', [LOCKS.scrub]);
    const began = await fetchRow(client, sql<{ at: Date }>`select clock_timestamp() as at`);
    if (!(await tryGenerationsLock(client)))
      throw new ScrubNotPossible(
        'projections are being rebuilt or repaired: scrub again when that has ended',
      );
    await readModels.dropUnfollowed(client);
    await oldTransactionsEnd(client);
    let rewritten = 0;
    for (const table of await tablesToRewrite(client, largeBytes)) {
      const name = `${table.schema}.${table.name}`;
      if (table.isOfPgRepack) {
        progress(`left ${name} to pg_repack`);
        continue;
      }
      await vacuumFully(client, sql.id(table.schema, table.name), name);
      rewritten++;
      progress(`rewrote ${name}`);
    }
    // The planner's statistics contain samples of the old content.
    await vacuumStatistics(client);
    const walRemoved = await removeOldWal(client);
    if (began) await recordScrubbed(client, began.at);
    return { tables: rewritten, walRemoved };
  } finally {
    // The connection's settings end with it.
    await endWithLocks(client);
  }
}

/** Scrubs when there was an erasure since the last scrub. */
export async function scrubIfNeeded(
  pool: Pool,
  options: ScrubOptions,
): Promise<Scrubbed | undefined> {
  const destroyed = await fetchRow(
    pool,
    tables
      .selectFrom('vault.subject_keys')
      .select('subject')
      .where('destroyed_at', '>', (eb) =>
        eb.fn.coalesce(
          eb.selectFrom('vault.scrubbed').select('until'),
          sql<Date>`'-infinity'::timestamptz`,
        ),
      )
      .limit(1),
  );
  return destroyed ? scrub(pool, options) : undefined;
}

/** Everything that was erased before this time has left the files. */
async function recordScrubbed(client: PoolClient, until: Date): Promise<void> {
  await run(
    client,
    tables
      .insertInto('vault.scrubbed')
      .values({ until })
      .onConflict((conflict) =>
        conflict.column('one').doUpdateSet((eb) => ({
          until: sql<Date>`greatest(${eb.ref('vault.scrubbed.until')}, ${eb.ref('excluded.until')})`,
        })),
      ),
  );
}

/** A read model that lags still contains erased people; rewriting would only move the bytes. */
async function readModelsCatchUp(reached: () => Promise<boolean>): Promise<void> {
  for (
    const end = performance.now() + OLD_TRANSACTIONS_WAIT_MS;
    !(await reached());
    await delay(AGAIN_MS)
  )
    if (performance.now() > end)
      throw new ScrubNotPossible(
        'read models are behind the log, or still contain forgotten people: let the service catch up, and scrub again',
      );
}

interface TableToRewrite {
  readonly schema: string;
  readonly name: string;
  readonly isOfPgRepack: boolean;
}

function tablesToRewrite(client: PoolClient, largeBytes: number): Promise<TableToRewrite[]> {
  return fetchRows(
    client,
    sql<TableToRewrite>`
      select schemaname as schema, tablename as name,
        pg_table_size(format('%I.%I', schemaname, tablename)::regclass) >= ${largeBytes}
          and exists (select from pg_extension where extname = 'pg_repack') as "isOfPgRepack"
      from pg_tables
      where schemaname = 'vault' or schemaname like 'rm\\_%' or (schemaname = 'ledger' and tablename in ('idempotency_keys', 'operation_runs', 'run_file_chunks'))
      order by 1, 2`,
  );
}

/** Rewriting keeps rows that an older transaction might see. */
async function oldTransactionsEnd(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    'select pg_current_xact_id()::xid::text as id',
  );
  for (const end = performance.now() + OLD_TRANSACTIONS_WAIT_MS; ; await delay(AGAIN_MS)) {
    const { rows: old } = await client.query(
      `select from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and age(backend_xmin) > age($1::xid) limit 1`,
      [rows[0]?.id],
    );
    if (old.length === 0) return;
    if (performance.now() > end)
      throw new ScrubNotPossible(
        'a transaction that began before still runs: end it, and scrub again',
      );
  }
}

async function vacuumStatistics(client: PoolClient): Promise<void> {
  const table = 'pg_catalog.pg_statistic';
  try {
    await vacuumFully(client, sql.id('pg_catalog', 'pg_statistic'), table);
  } catch (error) {
    if (errorCode(error) !== INSUFFICIENT_PRIVILEGE) throw error;
  }
}

/** Needs the table for itself, and tries again while it is not free. */
async function vacuumFully(
  client: PoolClient,
  table: RawBuilder<unknown>,
  name: string,
): Promise<void> {
  await client.query(`set lock_timeout = '${LOCK_WAIT}'`);
  for (let tries = 1; ; tries++) {
    try {
      await run(client, sql`vacuum (full, analyze) ${table}`);
      return;
    } catch (error) {
      if (errorCode(error) !== LOCK_NOT_AVAILABLE) throw error;
      if (tries >= TRIES_MAX)
        throw new ScrubNotPossible(
          `${name} is never free: scrub again when fewer statements use it`,
        );
      await delay(AGAIN_MS);
    }
  }
}

/** With `wal_recycle = off`, a checkpoint deletes the segments before it. */
async function removeOldWal(client: PoolClient): Promise<boolean> {
  try {
    await client.query('checkpoint');
    await client.query('select pg_switch_wal()');
    // The first checkpoint ends in the new segment; the second one no longer needs the old ones.
    await client.query('checkpoint');
    await client.query('checkpoint');
    return true;
  } catch (error) {
    if (errorCode(error) === INSUFFICIENT_PRIVILEGE) return false;
    throw error;
  }
}
