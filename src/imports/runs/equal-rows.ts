import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { canonicalJson } from '../../foundation/canonical-json.js';
import { fetchRow } from '../../postgres/statements.js';

/**
 * Numbers equal rows of a file in their order. In a temporary table: a map would grow with the
 * file.
 */
export class EqualRows {
  private client: PoolClient | undefined;

  constructor(private readonly pool: Pool) {}

  /** From 1. */
  async numberOf(row: object): Promise<number> {
    if (this.client === undefined) {
      this.client = await this.pool.connect();
      await this.client.query(
        'create temporary table equal_import_rows (row bytea primary key, number integer not null)',
      );
    }
    const digest = createHash('sha256').update(canonicalJson(row)).digest().subarray(0, 16);
    const counted = await fetchRow(
      this.client,
      sql<{ number: number }>`
        insert into equal_import_rows as e values (${digest}, 1)
        on conflict (row) do update set number = e.number + 1 returning number`,
    );
    return counted?.number ?? 1;
  }

  /** Ends the connection, and its table with it. */
  close(): void {
    this.client?.release(true);
    this.client = undefined;
  }
}
