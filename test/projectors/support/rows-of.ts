import type { Row } from '../../../src/projecting/projector.js';
import type { TableOf } from '../../../src/projecting/table.js';

/** Makes rows of a table, of the live mode of `demo`, with null for missing members. */
export const rowsOf = <R extends Row>({ columns }: TableOf<R>, known: Partial<R>) => {
  const nullable = Object.entries(columns).filter(([, type]) => !type.includes('not null'));
  const empty = Object.fromEntries(nullable.map(([column]) => [column, null]));
  return (over: Partial<R> = {}): R =>
    ({ ...empty, tenant: 'demo', mode: 'live', ...known, ...over }) as unknown as R;
};
