import { sql, type InferResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { EXPORTS_WAITING_MAX, type ExportedFile } from '../../domain/export/export.decider.js';
import { scopeOf, type Scope } from '../../domain/scope.js';
import { errorCode } from '../../foundation/error-code.js';
import { LOCK_CLASSES } from '../../postgres/locks.js';
import { anyOf, epochMs, fetchRow, fetchRows, run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { addWork } from '../../work-queue/work-items.js';
import { digestOf, isAmong } from './people-in-file.js';

/**
 * The rows of `ledger.export_files`: which exports wait, how far each is, and which files are
 * stored. The work queue says which process writes which. An *attempt* is one writing of a file: it
 * names the chunks and their key, and a process that lost its attempt can write nothing more.
 */

/** In the work queue: a tenant has a lane for each mode. */
export const EXPORTS = 'export';
const UNIQUE_VIOLATION = '23505';

export interface ExportName {
  readonly scope: Scope;
  readonly exportId: string;
}

/** An attempt that this process makes. */
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

/** False: as many exports of the tenant wait as may. */
export async function reservePlace(
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
    await putWaiting(client, { scope: { tenant, mode }, exportId });
    return true;
  });
}

/** Without a limit: the export is recorded. A row that is there stays, and is worked on. */
export async function putWaiting(
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

/** What a claim makes of a row. */
export interface NewAttempt {
  readonly attempt: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** Called for the attempt that the export had before, which is over. */
  readonly destroyKey: (attempt: string) => Promise<void>;
}

/**
 * Begins an attempt of an export that this process has claimed. What is left of an earlier one is
 * deleted. @returns undefined: it is over by now, or one of its tenant and mode is not ended yet.
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

/** 64 MiB: a statement stays far below its limit of time. */
const CHUNKS_PER_PIECE = 256;

/** Of an attempt that stores nothing more: a file may have many thousands. */
export async function deleteChunks(pool: Pool, attempt: string): Promise<void> {
  const piece = sql`delete from ledger.export_chunks where ctid = any (array(
    select ctid from ledger.export_chunks where attempt = ${attempt} limit ${CHUNKS_PER_PIECE}))`;
  while ((await run(pool, piece)) === CHUNKS_PER_PIECE);
}

/** False: the attempt was cancelled, or is another process's by now. */
export async function noteProgress(
  pool: Pool,
  attempt: string,
  progress: { readonly rowsDone: number; readonly rowsTotal: number },
): Promise<boolean> {
  const changed = await run(
    pool,
    tables
      .updateTable('ledger.export_files')
      .set({ rows_done: BigInt(progress.rowsDone), rows_total: BigInt(progress.rowsTotal) })
      .where('attempt', '=', attempt)
      .where('state', '=', 'RUNNING'),
  );
  return changed === 1;
}

/** Bytes that the tenant's files take. */
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
 * The file is whole. From here on it is told when somebody in it is forgotten.
 * @returns `forgotten`: somebody in it was forgotten while it was written; `lost`: the attempt was
 * cancelled, or is another process's by now.
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
    if (await holdsAny(client, attempt, row.erased)) return 'forgotten';
    await run(
      client,
      tables
        .updateTable('ledger.export_files')
        .set({ state: 'WRITTEN', file: JSON.stringify(file) })
        .where('attempt', '=', attempt),
    );
    return 'written';
  });
}

/**
 * In one query, which returns each of the chunks once: an account of a thousand users and ten files
 * were ten thousand queries, one after the other.
 */
async function holdsAny(
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
  return chunks.some(({ bytes, wanted }) => wanted.some((digest) => isAmong(bytes, digest)));
}

/** The completion is recorded. False: the file is gone, or another attempt took its place. */
export async function storeAttempt(pool: Pool, attempt: string): Promise<boolean> {
  const changed = await run(
    pool,
    tables
      .updateTable('ledger.export_files')
      .set({ state: 'STORED' })
      .where('attempt', '=', attempt)
      .where('state', '=', 'WRITTEN'),
  );
  return changed === 1;
}

/** The attempt is over: the export waits again, without chunks. */
export async function releaseAttempt(pool: Pool, attempt: string): Promise<void> {
  const released = await run(
    pool,
    tables
      .updateTable('ledger.export_files')
      .set({ state: 'WAITING', file: null, rows_done: null, rows_total: null })
      .where('attempt', '=', attempt)
      .where('state', 'in', ['RUNNING', 'WRITTEN', 'STORED']),
  );
  // After a crash in between, the next claim deletes what is left.
  if (released === 0) return;
  await deleteChunks(pool, attempt);
  await run(
    pool,
    tables
      .updateTable('ledger.export_files')
      .set({ attempt: null, stored_bytes: 0n })
      .where('attempt', '=', attempt)
      .where('state', '=', 'WAITING'),
  );
}

/** Takes the file out of every hand. @returns the attempt whose key is to be destroyed. */
export async function takeAway(
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

/** Deletes a row that was taken away. Its key is destroyed by now, its chunks are deleted. */
export async function deleteRow(pool: Pool, exportId: string): Promise<void> {
  await run(
    pool,
    tables
      .deleteFrom('ledger.export_files')
      .where('export_id', '=', exportId)
      .where('state', '=', 'GONE'),
  );
}

/** Undefined: there is nothing to do, and no file. */
export async function findExportFile(
  pool: Pool,
  exportId: string,
): Promise<ExportFileRow | undefined> {
  const row = await fetchRow(pool, FILES.where('export_id', '=', exportId));
  return row && named(row);
}

/** Several, by id. */
export async function findExportFiles(
  pool: Pool,
  exportIds: readonly string[],
): Promise<ReadonlyMap<string, ExportFileRow>> {
  if (exportIds.length === 0) return new Map();
  const rows = await fetchRows(pool, FILES.where('export_id', '=', anyOf([...exportIds])));
  return new Map(rows.map((row) => [row.exportId, named(row)]));
}

/** Rows that no process works on, in the order of their ids. @param after an id. */
export async function restingFiles(
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

/** Stored files whose time is over. */
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

/**
 * Takes away the files that hold one of these people; a file that is being written is compared when
 * it is whole.
 */
export async function takeAwayFilesOf(
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
      if (state === 'RUNNING') await noteErased(client, exportId, persons);
      else if (await holdsAny(client, attempt, persons)) {
        await takeAway(client, exportId);
        taken.push({ exportId, scope: { tenant, mode } });
      }
    }
    return taken;
  });
}

const noteErased = (
  client: PoolClient,
  exportId: string,
  persons: readonly string[],
): Promise<number> =>
  run(
    client,
    sql`update ledger.export_files set erased = erased || ${persons}::uuid[]
        where export_id = ${exportId}`,
  );

/** For metrics. */
export interface ExportFigures {
  readonly waiting: number;
  readonly running: number;
  readonly stored: number;
  readonly storedBytes: number;
  /** Age of the oldest that waits; 0: none does. */
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
