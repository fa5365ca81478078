import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { canonicalJson } from '../../foundation/canonical-json.js';
import { fetchRow, fetchRows, run, type Connection } from '../../postgres/statements.js';

/** Numbers equal rows in a temporary table, because a map would grow with the file. */
export class EqualRows {
  private table: Promise<unknown> | undefined;

  constructor(private readonly db: Connection) {}

  /** From 1. */
  async numberOf(values: object): Promise<number> {
    const counted = await fetchRow(
      await this.opened(),
      sql<{ number: number }>`
        insert into equal_import_rows as e values (${digestOf(values)}, 1)
        on conflict (row) do update set number = e.number + 1 returning number`,
    );
    return counted?.number ?? 1;
  }

  /** Whether each is the first of equal ones, in this and earlier calls. */
  async areFirst(values: readonly object[]): Promise<readonly boolean[]> {
    if (values.length === 0) return [];
    const digests = values.map((one) => digestOf(one).toString('hex'));
    const rows = await fetchRows(
      await this.opened(),
      sql<{ row: string }>`
        insert into equal_import_rows select decode(unnest(${digests}::text[]), 'hex'), 1
        on conflict (row) do nothing returning encode(row, 'hex') as row`,
    );
    const added = new Set(rows.map(({ row }) => row));
    return digests.map((digest) => added.delete(digest));
  }

  private async opened(): Promise<Connection> {
    this.table ??= run(
      this.db,
      sql`create temporary table equal_import_rows (row bytea primary key, number integer not null)`,
    );
    await this.table;
    return this.db;
  }
}

const digestOf = (values: object): Buffer =>
  createHash('sha256').update(canonicalJson(values)).digest().subarray(0, 16);
