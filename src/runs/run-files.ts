import { sql } from 'kysely';
import type { Pool } from 'pg';
import { modeOf, type Scope } from '../domain/scope.js';
import { fetchRow, run, tables, type Connection } from '../postgres/statements.js';
import type { Sealer } from '../privacy/sealed-bytes.js';

/** `upload`: the input of a run. `rejected`, `ids`: its output. */
export type RunFileKind = 'upload' | 'rejected' | 'ids';

export interface RunFile {
  readonly run: string;
  readonly kind: RunFileKind;
}

/** The file was deleted or replaced. */
export class RunFileGone extends Error {
  override readonly name = 'RunFileGone';
  constructor() {
    super('the file is no longer kept: a person was forgotten, or its time is over');
  }
}

/** The hourly purge makes it a day. */
const KEPT_HOURS = 23;
const CHUNK_BYTES = 256 * 1024;

/** Files of runs, in encrypted chunks in Postgres. The first erasure deletes them. */
export class RunFiles {
  constructor(
    private readonly pool: Pool,
    private readonly sealer: Sealer,
  ) {}

  /**
   * Stores a file, replacing an earlier one. It can be read when it is complete. @returns its
   * bytes.
   * @throws {RunFileGone} when a person was forgotten, or another process stores this file again.
   */
  async store(
    { run: id, kind }: RunFile,
    { tenant, mode }: Scope,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    await this.remove({ run: id, kind });
    const stored = await fetchRow(
      this.pool,
      sql<{ at: string }>`
        insert into ledger.run_files (run, kind, tenant, mode)
        values (${id}, ${kind}, ${tenant}, ${mode}) returning stored_at::text as at`,
    );
    const at = stored?.at ?? '';
    let number = 0;
    let bytes = 0;
    for await (const chunk of chunksOf(pieces)) {
      await this.put({ run: id, kind }, at, { number: number++, chunk });
      bytes += chunk.length;
    }
    const whole = await run(
      this.pool,
      tables
        .updateTable('ledger.run_files')
        .set({ chunks: number, bytes: BigInt(bytes) })
        .where((eb) => eb.and({ run: id, kind }))
        .where(sql<boolean>`stored_at = ${at}::timestamptz`),
    );
    if (whole === 0) throw new RunFileGone();
    return bytes;
  }

  /** Whether the file is complete. */
  async has({ run: id, kind }: RunFile): Promise<boolean> {
    return (await this.chunksOf({ run: id, kind })) !== undefined;
  }

  /** Whether the file is complete and belongs to this tenant and mode. */
  async isOf({ run: id, kind }: RunFile, { tenant, mode }: Scope): Promise<boolean> {
    const row = await fetchRow(
      this.pool,
      tables
        .selectFrom('ledger.run_files')
        .select('chunks')
        .where((eb) => eb.and({ run: id, kind, tenant, mode })),
    );
    return (row?.chunks ?? null) !== null;
  }

  /** @throws {RunFileGone} */
  async *read(file: RunFile): AsyncGenerator<Buffer> {
    const chunks = await this.chunksOf(file);
    if (chunks === undefined) throw new RunFileGone();
    for (let number = 0; number < chunks; number += 1) {
      const row = await fetchRow(
        this.pool,
        tables
          .selectFrom('ledger.run_file_chunks')
          .select('bytes')
          .where((eb) => eb.and({ ...file, number })),
      );
      if (row === undefined) throw new RunFileGone();
      yield await this.sealer.open(row.bytes, placeOf(file, number));
    }
  }

  /**
   * Keeps the file of a run that has begun, even if its start had no answer: it can be continued.
   */
  async removeUnused({ run: id, kind }: RunFile): Promise<void> {
    await run(
      this.pool,
      tables
        .deleteFrom('ledger.run_files')
        .where((eb) => eb.and({ run: id, kind }))
        .where(sql<boolean>`not exists (select from ledger.operation_runs where id = ${id}::uuid)`),
    );
  }

  private async remove({ run: id, kind }: RunFile): Promise<void> {
    await run(
      this.pool,
      tables.deleteFrom('ledger.run_files').where((eb) => eb.and({ run: id, kind })),
    );
  }

  private async chunksOf({ run: id, kind }: RunFile): Promise<number | undefined> {
    const row = await fetchRow(
      this.pool,
      tables
        .selectFrom('ledger.run_files')
        .select('chunks')
        .where((eb) => eb.and({ run: id, kind })),
    );
    return row?.chunks ?? undefined;
  }

  /** @param at start of the file: a file that replaced it accepts no chunks of it. */
  private async put(
    file: RunFile,
    at: string,
    { number, chunk }: { readonly number: number; readonly chunk: Buffer },
  ): Promise<void> {
    const bytes = await this.sealer.seal(chunk, placeOf(file, number));
    const added = await run(
      this.pool,
      sql`insert into ledger.run_file_chunks (run, kind, number, bytes)
          select run, kind, ${number}::integer, ${bytes}::bytea from ledger.run_files
          where run = ${file.run}::uuid and kind = ${file.kind} and stored_at = ${at}::timestamptz
          for key share`,
    );
    if (added === 0) throw new RunFileGone();
  }
}

/**
 * Deletes the files of all runs of the tenant and mode, any of which may name the person. A file
 * has the mode of its ledger: test mode has had several, one after each removal of its data.
 * @param before in test mode, only files of ledgers before that number.
 */
export async function forgetInRunFiles(
  db: Connection,
  { tenant, mode }: Scope,
  before?: number,
): Promise<void> {
  const number = sql`coalesce(substring(mode from '^test-([0-9]+)$')::bigint, 0)`;
  const ofMode = modeOf(mode) === 'live' ? sql`mode = 'live'` : sql`mode <> 'live'`;
  const ofLedgers = before === undefined ? ofMode : sql`${ofMode} and ${number} < ${before}`;
  await run(db, sql`delete from ledger.run_files where tenant = ${tenant} and ${ofLedgers}`);
}

/** Deletes expired files. @returns their number. */
export async function purgeRunFiles(db: Connection): Promise<number> {
  return run(
    db,
    sql`delete from ledger.run_files where stored_at < now() - make_interval(hours => ${KEPT_HOURS})`,
  );
}

const placeOf = ({ run: id, kind }: RunFile, number: number): string =>
  `operation-run/${id}/${kind}/${number}`;

/** Splits a stream into chunks of one size. */
async function* chunksOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces)
    for (let from = 0; from < piece.length;) {
      const part = piece.subarray(from, from + CHUNK_BYTES - bytes);
      held.push(part);
      bytes += part.length;
      from += part.length;
      if (bytes < CHUNK_BYTES) continue;
      yield Buffer.concat(held);
      held = [];
      bytes = 0;
    }
  if (bytes > 0) yield Buffer.concat(held);
}
