import { addAbortSignal } from 'node:stream';
import type { PoolClient } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { ExportedRows } from './exported-rows.js';
import type { RowsQuery } from './rows-query.js';

/** Hex digits of an id that are stored in a file's list of people. */
const DIGITS = 16;

/**
 * The people of the rows, in the same snapshot: the sorted first eight bytes of their ids. Postgres
 * removes duplicates and sorts, so that memory does not grow with the rows.
 */
export async function* peopleOfRows(
  client: PoolClient,
  { persons }: Pick<ExportedRows, 'persons'>,
  { rows }: RowsQuery,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const ids = persons.map(
    (person) =>
      `select left(replace(${person}, '-', ''), ${DIGITS}) collate "C" as id from (${rows}) r`,
  );
  const copied = client.query(
    copyTo(
      `copy (select distinct id from (${ids.join(' union all ')}) people where id is not null order by id) to stdout`,
    ),
  );
  // Closing the connection on this side does not end the stream.
  const stream = addAbortSignal(signal, copied);
  let rest = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const text = rest + chunk.toString('latin1');
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    yield Buffer.from(text.slice(0, end).replaceAll('\n', ''), 'hex');
  }
}
