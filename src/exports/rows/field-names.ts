import type { PoolClient } from 'pg';
import type { ExportedRows } from './exported-rows.js';
import type { RowsQuery } from './rows-query.js';

/** The rows have more columns than a file may have. */
export class TooManyColumns extends Error {
  override readonly name = 'TooManyColumns';
}

/** The names with a value in any row, sorted by bytes. @throws {TooManyColumns} above `max`. */
export async function fieldNames(
  client: PoolClient,
  { fields }: ExportedRows,
  { rows, values }: RowsQuery,
  max: number,
): Promise<readonly string[]> {
  if (!fields) return [];
  const { rows: found } = await client.query<{ name: string }>(
    `select name from (select distinct ${fields.names} as name from (${rows}) r) n order by name collate "C" limit ${max + 1}`,
    values,
  );
  if (found.length > max)
    throw new TooManyColumns(`the users have more than ${max} different custom fields`);
  return found.map(({ name }) => name);
}
