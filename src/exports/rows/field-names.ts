import type { PoolClient } from 'pg';
import type { ExportedRows } from './exported-rows.js';
import type { RowsQuery } from './rows-query.js';

/** The rows have more columns than a file may have. */
export class TooManyColumns extends Error {
  override readonly name = 'TooManyColumns';
}

/**
 * The names that at least one of the rows has a value for, sorted by their bytes.
 * @throws {TooManyColumns} when they are more than `max`.
 */
export async function fieldNames(
  client: PoolClient,
  { fields }: ExportedRows,
  { rows }: RowsQuery,
  max: number,
): Promise<readonly string[]> {
  if (!fields) return [];
  const { rows: found } = await client.query<{ name: string }>(
    `select name from (select distinct ${fields.names} as name from (${rows}) r) n order by name collate "C" limit $1`,
    [max + 1],
  );
  if (found.length > max)
    throw new TooManyColumns(`the users have more than ${max} different custom fields`);
  return found.map(({ name }) => name);
}
