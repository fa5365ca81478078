import type { Pool } from 'pg';
import { sql } from 'kysely';
import { errorCode } from '../../foundation/error-code.js';
import { fetchRow, run } from '../../postgres/statements.js';

export type ChunkKind = 'file' | 'people';

export interface Chunk {
  readonly attempt: string;
  readonly kind: ChunkKind;
  readonly number: number;
}

/** The attempt was cancelled, or replaced by another process. */
export class AttemptLost extends Error {
  override readonly name = 'AttemptLost';
  constructor() {
    super('the export was cancelled, or is written by another process');
  }
}

const FOREIGN_KEY_VIOLATION = '23503';

/** The encrypted bytes of files, deleted with the row of the attempt. */
export class ExportChunks {
  constructor(private readonly pool: Pool) {}

  /** @throws {AttemptLost} when the attempt belongs to another process. */
  async put({ attempt, kind, number }: Chunk, bytes: Buffer, first?: Buffer): Promise<void> {
    try {
      const changed = await run(
        this.pool,
        sql`
          with counted as (
            update ledger.export_files set stored_bytes = stored_bytes + ${bytes.length}
            where attempt = ${attempt} and state = 'RUNNING' returning attempt
          )
          insert into ledger.export_chunks (attempt, kind, number, first, bytes)
          select attempt, ${kind}, ${number}, ${first ?? null}::bytea, ${bytes}::bytea from counted
          -- A later commit of the same attempt makes them durable.
          where set_config('synchronous_commit', 'off', true) is not null`,
      );
      if (changed !== 1) throw new AttemptLost();
    } catch (error) {
      if (errorCode(error) === FOREIGN_KEY_VIOLATION) throw new AttemptLost();
      throw error;
    }
  }

  /** Undefined: it does not exist. */
  async get({ attempt, kind, number }: Chunk): Promise<Buffer | undefined> {
    const row = await fetchRow(
      this.pool,
      sql<{ bytes: Buffer }>`
        select bytes from ledger.export_chunks
        where attempt = ${attempt} and kind = ${kind} and number = ${number}`,
    );
    return row?.bytes;
  }
}
