import type { PoolClient } from 'pg';
import type { ExportedRows } from './exported-rows.js';
import type { RowsQuery } from './rows-query.js';

/** Hex digits of an id that are stored in a file's list of people. */
const DIGITS = 16;
const BATCH_IDS = 10_000;
const CURSOR = 'export_people';

/**
 * The people of the rows, in the same snapshot: the sorted first eight bytes of their ids. Postgres
 * removes duplicates and sorts, so that memory does not grow with the rows.
 */
export async function* peopleOfRows(
  client: PoolClient,
  { persons }: Pick<ExportedRows, 'persons'>,
  { rows, values }: RowsQuery,
): AsyncGenerator<Buffer> {
  const ids = persons.map(
    (person) =>
      `select left(replace(${person}, '-', ''), ${DIGITS}) collate "C" as id from (${rows}) r`,
  );
  await client.query(
    `declare ${CURSOR} no scroll cursor for select distinct id from (${ids.join(' union all ')}) people where id is not null order by id`,
    values,
  );
  for (;;) {
    const { rows: found } = await client.query<{ id: string }>(
      `fetch forward ${BATCH_IDS} from ${CURSOR}`,
    );
    if (found.length > 0) yield Buffer.from(found.map(({ id }) => id).join(''), 'hex');
    if (found.length < BATCH_IDS) return;
  }
}
