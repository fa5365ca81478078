import { sql, type RawBuilder } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { EXPORTS_WAITING_MAX, type ExportedFile } from '../../domain/export/export.decider.js';
import { scopeOf, type Scope } from '../../domain/scope.js';
import { errorCode } from '../../foundation/error-code.js';
import { LOCK_CLASSES } from '../../postgres/locks.js';
import { epochMs, fetchRow, fetchRows, run } from '../../postgres/statements.js';
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

export interface ExportFileRow extends ExportName {
  readonly state: 'WAITING' | 'RUNNING' | 'WRITTEN' | 'STORED' | 'GONE';
  readonly attempt: string | null;
  readonly rowsDone: number | null;
  readonly rowsTotal: number | null;
  readonly file: ExportedFile | null;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

type Stored<R extends ExportName> = Omit<R, 'scope'> & Scope;

const FILES = sql`
  select export_id as "exportId", tenant, mode, state, attempt, file,
    rows_done::float8 as "rowsDone", rows_total::float8 as "rowsTotal",
    ${epochMs(sql<Date>`created_at`)} as "createdAt"
  from ledger.export_files f`;

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
    sql`
      insert into ledger.export_files (export_id, tenant, mode)
      values (${exportId}, ${tenant}, ${mode}) on conflict do nothing`,
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
  changes: RawBuilder<unknown>,
): Promise<boolean> =>
  (await run(
    db,
    sql`
      update ledger.export_files set ${changes}
      where attempt = ${attempt} and state = any(${states}::text[])`,
  )) === 1;

/** False: the attempt was cancelled, or belongs to another process. */
export const recordProgress = (
  pool: Pool,
  attempt: string,
  { rowsDone, rowsTotal }: { readonly rowsDone: number; readonly rowsTotal: number },
): Promise<boolean> =>
  changeAttempt(
    pool,
    attempt,
    ['RUNNING'],
    sql`rows_done = ${rowsDone}, rows_total = ${rowsTotal}`,
  );

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
      sql<{ erased: readonly string[] }>`
        select erased from ledger.export_files
        where attempt = ${attempt} and state = 'RUNNING' for update`,
    );
    if (row === undefined) return 'lost';
    if (await containsAny(client, attempt, row.erased)) return 'forgotten';
    const written = sql`state = 'WRITTEN', file = ${JSON.stringify(file)}::jsonb`;
    await changeAttempt(client, attempt, ['RUNNING'], written);
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
  changeAttempt(pool, attempt, ['WRITTEN'], sql`state = 'STORED'`);

/** Ends the attempt: the export waits again, without chunks. */
export async function releaseAttempt(pool: Pool, attempt: string): Promise<void> {
  const waiting = sql`state = 'WAITING', file = null, rows_done = null, rows_total = null`;
  // After a crash before the deletion, the next claim deletes them.
  if (!(await changeAttempt(pool, attempt, ['RUNNING', 'WRITTEN', 'STORED'], waiting))) return;
  await deleteChunks(pool, attempt);
  await changeAttempt(pool, attempt, ['WAITING'], sql`attempt = null, stored_bytes = 0`);
}

/** Makes the file unavailable. @returns the attempt whose key must be destroyed. */
export async function removeFile(
  pool: Pool | PoolClient,
  exportId: string,
): Promise<string | null | undefined> {
  const row = await fetchRow(
    pool,
    sql<{ attempt: string | null }>`
      update ledger.export_files set state = 'GONE' where export_id = ${exportId}
      returning attempt`,
  );
  return row && row.attempt;
}

/** Deletes the row of a removed file, after its key and chunks. */
export async function deleteRow(pool: Pool, exportId: string): Promise<void> {
  await run(
    pool,
    sql`delete from ledger.export_files where export_id = ${exportId} and state = 'GONE'`,
  );
}

/** Undefined: there is neither work nor a file. */
export async function findExportFile(
  pool: Pool,
  exportId: string,
): Promise<ExportFileRow | undefined> {
  return (await findExportFiles(pool, [exportId])).get(exportId);
}

export async function findExportFiles(
  pool: Pool,
  exportIds: readonly string[],
): Promise<ReadonlyMap<string, ExportFileRow>> {
  if (exportIds.length === 0) return new Map();
  const rows = await fetchRows(
    pool,
    sql<Stored<ExportFileRow>>`${FILES} where export_id = any(${exportIds}::uuid[])`,
  );
  return new Map(rows.map((row) => [row.exportId, named(row)]));
}

/** Rows that no process works on, by id. @param after an id. */
export async function idleFiles(
  pool: Pool,
  after: string,
  limit: number,
): Promise<readonly ExportFileRow[]> {
  const rows = await fetchRows(
    pool,
    sql<Stored<ExportFileRow>>`
      ${FILES} where export_id > ${after} and not exists (
        select from ledger.work_items
        where kind = ${EXPORTS} and id = f.export_id::text and claimed_by is not null)
      order by export_id limit ${limit}`,
  );
  return rows.map(named);
}

/** Stored files past their expiry. */
export async function expiredFiles(pool: Pool, now: number): Promise<readonly ExportName[]> {
  const rows = await fetchRows(
    pool,
    sql<Stored<ExportName>>`
      select export_id as "exportId", tenant, mode from ledger.export_files
      where state = 'STORED' and expires_at <= ${new Date(now)} limit 100`,
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
      sql<Pick<ExportFileRow, 'exportId' | 'attempt' | 'state'>>`
        select export_id as "exportId", attempt, state from ledger.export_files
        where tenant = ${tenant} and mode = ${mode} and state in ('RUNNING', 'WRITTEN', 'STORED')
        order by export_id for update`,
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
