import { isStoredObject } from './stored-values.js';
import type { ReadModelTable, Row, ValueCheck } from './projector.js';

/** No projector writes such a value. The message names the place, never the value. */
export class DamagedRow extends Error {
  override readonly name = 'DamagedRow';
  constructor(table: string, column: string) {
    super(`the stored value of ${table}.${column} is damaged`);
  }
}

/** Returns the check of a table's stored rows, which returns the first damaged column. */
export function damageCheck({
  columns,
  checks = {},
}: ReadModelTable): (row: Row) => string | undefined {
  const checked = Object.entries(columns).flatMap(([column, type]) => {
    const check = checks[column] ?? (/^jsonb?\b/i.test(type) ? isStoredObject : undefined);
    return check ? [[column, check] satisfies readonly [string, ValueCheck]] : [];
  });
  return (row) =>
    checked.find(([column, check]) => {
      const value = row[column];
      return value !== null && value !== undefined && !check(value);
    })?.[0];
}
