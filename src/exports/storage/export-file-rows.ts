import { sql, type InferResult, type Updateable } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { EXPORTS_WAITING_MAX, type ExportedFile } from '../../domain/export/export.decider.js';
import { scopeOf, type Scope } from '../../domain/scope.js';
import { errorCode } from '../../foundation/error-code.js';
import type { LedgerTables } from '../../postgres/ledger-tables.js';
import { LOCK_CLASSES } from '../../postgres/locks.js';
import { anyOf, epochMs, fetchRow, fetchRows, run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { addWork } from '../../work-queue/work-items.js';
import { digestOf, includesDigest } from './people-in-file.js';

/**
 * The rows of `ledger.export_files`: waiting exports, their progress, and stored files. An
 * *attempt* writes a file once and names its chunks and their key: a process that lost its attempt
 * can write nothing more.
 */

/** Work kind of exports; a tenant has a lane per mode. */
export const EXPORTS = 'export';
const UNIQUE_VIOLATION = '23505';

export interface ExportName {
  readonly scope: Scope;
  readonly exportId: string;
}

export interface ClaimedExport extends ExportName {
  readonly attempt: string;
}

const FILES = tables
  .selectFrom('ledger.export_files as f')
  .select((eb) => [
    'export_id as exportId',
    'tenant',
    'mode',
    'state',
    'attempt',
    sql<number | null>`rows_done::float8`.as('rowsDone'),
    sql<number | null>`rows_total::float8`.as('rowsTotal'),
    'file',
    epochMs(eb.ref('created_at')).as('createdAt'),
  ]);

export type ExportFileRow = ExportName & Omit<InferResult<typeof FILES>[number], 'tenant' | 'mode'>;

const named = <R extends { readonly tenant: string; readonly mode: string }>({
  tenant,
  mode,
  ...row
}: R) => ({ ...row, scope: scopeOf({ tenant, mode }) });

/** False: too many exports of the tenant are waiting. */
export async function reserveWaiting(
  pool: Pool,
  { scope: { tenant, mode }, exportId }: ExportName,
  waitingMax = EXPORTS_WAITING_MAX,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [
      LOCK_CLASSES['exports of a tenant'],
      tenant,
    ]);
    const row = await fetchRow(
      client,
      sql<{ waiting: number; known: boolean }>`
        select count(*)::integer as waiting, coalesce(bool_or(export_id = ${exportId}), false) as known
        from ledger.export_files where tenant = ${tenant} and state in ('WAITING', 'RUNNING', 'WRITTEN')`,
    );
    if (row?.known) return true;
    if ((row?.waiting ?? 0) >= waitingMax) return false;
    await addWaiting(client, { scope: { tenant, mode }, exportId });
    return true;
  });
}

/** Adds a row for a recorded export, without a limit. An existing row stays. */
export async function addWaiting(
  db: Pool | PoolClient,
  { scope: { tenant, mode }, exportId }: ExportName,
): Promise<void> {
  await run(
    db,
    tables
      .insertInto('ledger.export_files')
      .values({ export_id: exportId, tenant, mode })
      .onConflict((conflict) => conflict.doNothing()),
  );
  const item = { kind: EXPORTS, id: exportId, tenant, lane: mode, payload: {} };
  await addWork(db, [item]);
}

export interface NewAttempt {
  readonly attempt: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** Called with the export's earlier attempt. */
  readonly destroyKey: (attempt: string) => Promise<void>;
}

/**
 * Starts an attempt of a claimed export and deletes what an earlier one left. @returns undefined:
 * the export has ended, or another one of its tenant and mode is running.
 */
export async function beginAttempt(
  pool: Pool,
  { exportId, scope }: ExportName,
  { attempt, expiresAt, destroyKey }: NewAttempt,
): Promise<ClaimedExport | undefined> {
  const before = await fetchRow(
    pool,
    sql<{ attempt: string | null }>`
      update ledger.export_files set state = 'WAITING'
      where export_id = ${exportId} and state in ('WAITING', 'RUNNING') returning attempt`,
  );
  if (before === undefined) return undefined;
  if (before.attempt !== null) {
    await destroyKey(before.attempt);
    await deleteChunks(pool, before.attempt);
  }
  try {
    const begun = await run(
      pool,
      sql`
        update ledger.export_files set state = 'RUNNING', attempt = ${attempt},
          rows_done = null, rows_total = null, stored_bytes = 0, file = null, erased = '{}',
          expires_at = ${new Date(expiresAt)}
        where export_id = ${exportId} and state = 'WAITING'
          and attempt is not distinct from ${before.attempt}::uuid`,
    );
    return begun === 0 ? undefined : { exportId, scope, attempt };
  } catch (error) {
    if (errorCode(error) === UNIQUE_VIOLATION) return undefined;
    throw error;
  }
}

/** 64 MiB, so that a statement ends far below its time limit. */
const CHUNKS_PER_PIECE = 256;

/** Deletes the chunks of an ended attempt: a file may have thousands. */
export async function deleteChunks(pool: Pool, attempt: string): Promise<void> {
  const piece = sql`delete from ledger.export_chunks where ctid = any (array(
    select ctid from ledger.export_chunks where attempt = ${attempt} limit ${CHUNKS_PER_PIECE}))`;
  while ((await run(pool, piece)) === CHUNKS_PER_PIECE);
}

/** Changes the row of an attempt in one of these states. False: it has another state, or ended. */
const changeAttempt = async (
  db: Pool | PoolClient,
  attempt: string,
  states: readonly ExportFileRow['state'][],
  changes: Updateable<LedgerTables['ledger.export_files']>,
): Promise<boolean> =>
  (await run(
    db,
    tables
      .updateTable('ledger.export_files')
      .set(changes)
      .where('attempt', '=', attempt)
      .where('state', 'in', states),
  )) === 1;

/** False: the attempt was cancelled, or belongs to another process. */
export const recordProgress = (
  pool: Pool,
  attempt: string,
  { rowsDone, rowsTotal }: { readonly rowsDone: number; readonly rowsTotal: number },
): Promise<boolean> =>
  changeAttempt(pool, attempt, ['RUNNING'], {
    rows_done: BigInt(rowsDone),
    rows_total: BigInt(rowsTotal),
  });

/** Bytes of the tenant's files. */
export async function storedBytesOf(pool: Pool, tenant: string): Promise<bigint> {
  const row = await fetchRow(
    pool,
    sql<{ bytes: bigint }>`
      select coalesce(sum(stored_bytes), 0)::bigint as bytes from ledger.export_files
      where tenant = ${tenant}`,
  );
  return row?.bytes ?? 0n;
}

/**
 * Marks the file as written; from now on, erasures of people in it remove it.
 * @returns `forgotten`: a person in it was forgotten while it was written; `lost`: the attempt was
 * cancelled, or belongs to another process.
 */
export async function finishAttempt(
  pool: Pool,
  attempt: string,
  file: ExportedFile,
): Promise<'written' | 'forgotten' | 'lost'> {
  return inTransaction(pool, async (client) => {
    const row = await fetchRow(
      client,
      tables
        .selectFrom('ledger.export_files')
        .select('erased')
        .where('attempt', '=', attempt)
        .where('state', '=', 'RUNNING')
        .forUpdate(),
    );
    if (row === undefined) return 'lost';
    if (await containsAny(client, attempt, row.erased)) return 'forgotten';
    await changeAttempt(client, attempt, ['RUNNING'], {
      state: 'WRITTEN',
      file: JSON.stringify(file),
    });
    return 'written';
  });
}

/** One query: an account with a thousand users and ten files would need ten thousand. */
async function containsAny(
  client: PoolClient,
  attempt: string,
  persons: readonly string[],
): Promise<boolean> {
  const digests = persons.map(digestOf);
  const chunks = await fetchRows(
    client,
    sql<{ bytes: Buffer; wanted: readonly Buffer[] }>`
      select chunk.bytes, asked.wanted
      from (
        select nearest.first, array_agg(digest) as wanted
        from unnest(${digests}::bytea[]) as digest
        cross join lateral (
          select first from ledger.export_chunks
          where attempt = ${attempt} and kind = 'people' and first <= digest
          order by first desc limit 1
        ) as nearest
        group by nearest.first
      ) as asked
      join ledger.export_chunks as chunk
        on chunk.attempt = ${attempt} and chunk.kind = 'people' and chunk.first = asked.first`,
  );
  return chunks.some(({ bytes, wanted }) => wanted.some((digest) => includesDigest(bytes, digest)));
}

/** The completion is recorded. False: the file is gone, or belongs to another attempt. */
export const storeAttempt = (pool: Pool, attempt: string): Promise<boolean> =>
  changeAttempt(pool, attempt, ['WRITTEN'], { state: 'STORED' });

/** Ends the attempt: the export waits again, without chunks. */
export async function releaseAttempt(pool: Pool, attempt: string): Promise<void> {
  const waiting = { state: 'WAITING', file: null, rows_done: null, rows_total: null } as const;
  // After a crash before the deletion, the next claim deletes them.
  if (!(await changeAttempt(pool, attempt, ['RUNNING', 'WRITTEN', 'STORED'], waiting))) return;
  await deleteChunks(pool, attempt);
  await changeAttempt(pool, attempt, ['WAITING'], { attempt: null, stored_bytes: 0n });
}

/** Makes the file unavailable. @returns the attempt whose key must be destroyed. */
export async function removeFile(
  pool: Pool | PoolClient,
  exportId: string,
): Promise<string | null | undefined> {
  const row = await fetchRow(
    pool,
    tables
      .updateTable('ledger.export_files')
      .set({ state: 'GONE' })
      .where('export_id', '=', exportId)
      .returning('attempt'),
  );
  return row && row.attempt;
}

/** Deletes the row of a removed file, after its key and chunks. */
export async function deleteRow(pool: Pool, exportId: string): Promise<void> {
  await run(
    pool,
    tables
      .deleteFrom('ledger.export_files')
      .where('export_id', '=', exportId)
      .where('state', '=', 'GONE'),
  );
}

/** Undefined: there is neither work nor a file. */
export async function findExportFile(
  pool: Pool,
  exportId: string,
): Promise<ExportFileRow | undefined> {
  const row = await fetchRow(pool, FILES.where('export_id', '=', exportId));
  return row && named(row);
}

export async function findExportFiles(
  pool: Pool,
  exportIds: readonly string[],
): Promise<ReadonlyMap<string, ExportFileRow>> {
  if (exportIds.length === 0) return new Map();
  const rows = await fetchRows(pool, FILES.where('export_id', '=', anyOf([...exportIds])));
  return new Map(rows.map((row) => [row.exportId, named(row)]));
}

/** Rows that no process works on, by id. @param after an id. */
export async function idleFiles(
  pool: Pool,
  after: string,
  limit: number,
): Promise<readonly ExportFileRow[]> {
  const isResting = sql<boolean>`not exists (
    select from ledger.work_items
    where kind = ${EXPORTS} and id = f.export_id::text and claimed_by is not null)`;
  const resting = FILES.where('export_id', '>', after).where(isResting);
  return (await fetchRows(pool, resting.orderBy('export_id').limit(limit))).map(named);
}

/** Stored files past their expiry. */
export async function expiredFiles(pool: Pool, now: number): Promise<readonly ExportName[]> {
  const rows = await fetchRows(
    pool,
    tables
      .selectFrom('ledger.export_files')
      .select(['export_id as exportId', 'tenant', 'mode'])
      .where('state', '=', 'STORED')
      .where('expires_at', '<=', new Date(now))
      .limit(100),
  );
  return rows.map(named);
}

/** Removes the files that contain one of these people; running ones are checked when written. */
export async function removeFilesOf(
  pool: Pool,
  { tenant, mode }: Scope,
  persons: readonly string[],
): Promise<readonly ExportName[]> {
  return inTransaction(pool, async (client) => {
    const rows = await fetchRows(
      client,
      tables
        .selectFrom('ledger.export_files')
        .select(['export_id as exportId', 'attempt', 'state'])
        .where((eb) => eb.and({ tenant, mode }))
        .where('state', 'in', ['RUNNING', 'WRITTEN', 'STORED'])
        .orderBy('export_id')
        .forUpdate(),
    );
    const taken: ExportName[] = [];
    for (const { exportId, attempt, state } of rows) {
      if (attempt === null) continue;
      if (state === 'RUNNING') await recordErased(client, exportId, persons);
      else if (await containsAny(client, attempt, persons)) {
        await removeFile(client, exportId);
        taken.push({ exportId, scope: { tenant, mode } });
      }
    }
    return taken;
  });
}

const recordErased = (
  client: PoolClient,
  exportId: string,
  persons: readonly string[],
): Promise<number> =>
  run(
    client,
    sql`update ledger.export_files set erased = erased || ${persons}::uuid[]
        where export_id = ${exportId}`,
  );

export interface ExportFigures {
  readonly waiting: number;
  readonly running: number;
  readonly stored: number;
  readonly storedBytes: number;
  /** Age of the oldest waiting export; 0: none. */
  readonly oldestWaitingSeconds: number;
}

export async function exportFigures(pool: Pool): Promise<ExportFigures> {
  const row = await fetchRow(
    pool,
    sql<ExportFigures>`
      select count(*) filter (where state = 'WAITING')::float8 as waiting,
        count(*) filter (where state in ('RUNNING', 'WRITTEN'))::float8 as running,
        count(*) filter (where state = 'STORED')::float8 as stored,
        coalesce(sum(stored_bytes), 0)::float8 as "storedBytes",
        coalesce(extract(epoch from now() - min(created_at) filter (where state = 'WAITING')), 0)::float8
          as "oldestWaitingSeconds"
      from ledger.export_files`,
  );
  return row ?? { waiting: 0, running: 0, stored: 0, storedBytes: 0, oldestWaitingSeconds: 0 };
}
