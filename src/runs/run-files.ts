import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { Scope } from '../domain/scope.js';
import { fetchRow, run, tables, type Connection } from '../postgres/statements.js';
import type { Sealer } from '../privacy/sealed-bytes.js';

/** `upload`: what a run reads. `rejected`, `ids`: what it writes. */
export type RunFileKind = 'upload' | 'rejected' | 'ids';

/** A file that belongs to a run. */
export interface RunFile {
  readonly run: string;
  readonly kind: RunFileKind;
}

/** The file was removed or replaced: its time is over, or a person was forgotten. */
export class RunFileGone extends Error {
  override readonly name = 'RunFileGone';
  constructor() {
    super('the file is no longer kept: a person was forgotten, or its time is over');
  }
}

/** Within a day, as the purge of every hour finds them. */
const KEPT_HOURS = 23;
const CHUNK_BYTES = 256 * 1024;

/** Files of runs, in Postgres, in encrypted chunks. They go with the first erasure. */
export class RunFiles {
  constructor(
    private readonly pool: Pool,
    private readonly sealer: Sealer,
  ) {}

  /**
   * Stores a file in place of an earlier one. It can be read once it is whole.
   * @returns how many bytes it has.
   * @throws {RunFileGone} when a person was forgotten meanwhile, or the run continues elsewhere and
   * stores this file anew.
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

  /** Whether the file is there as a whole. */
  async has({ run: id, kind }: RunFile): Promise<boolean> {
    return (await this.chunksOf({ run: id, kind })) !== undefined;
  }

  /** Whether it is there as a whole, and of this tenant and mode. */
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

  /** Its bytes, chunk by chunk. @throws {RunFileGone} */
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

  /** Not that of a run that has begun, though its start had no answer: it can be continued. */
  async removeUnbegun({ run: id, kind }: RunFile): Promise<void> {
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

  /** @param at when the file was begun: another one in its place takes no chunks of this one. */
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

/** Of all runs of the tenant and mode: any of them may name the person. */
export async function forgetInRunFiles(db: Connection, { tenant, mode }: Scope): Promise<void> {
  await run(
    db,
    tables.deleteFrom('ledger.run_files').where((eb) => eb.and({ tenant, mode })),
  );
}

/** Deletes what is no longer kept. @returns how many files. */
export async function purgeRunFiles(db: Connection): Promise<number> {
  return run(
    db,
    sql`delete from ledger.run_files where stored_at < now() - make_interval(hours => ${KEPT_HOURS})`,
  );
}

const placeOf = ({ run: id, kind }: RunFile, number: number): string =>
  `operation-run/${id}/${kind}/${number}`;

/** Pieces of any size, as chunks of one size. */
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
