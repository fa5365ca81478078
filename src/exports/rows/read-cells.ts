import { addAbortSignal } from 'node:stream';
import type { PoolClient } from 'pg';
import { to as copyTo, type CopyToStreamQuery } from 'pg-copy-streams';
import QueryStream from 'pg-query-stream';
import { csvCell, onOneLine } from '../files/csv-in-sql.js';
import type { Cell, Numeral } from '../files/sheet-rows.js';
import type { ExportColumn, ExportedRows } from './exported-rows.js';
import { given, setValues, type RowsQuery } from './rows-query.js';

/** The columns of a file: those of its type, and those that the rows themselves name. */
export interface RowsToRead {
  readonly exported: ExportedRows;
  readonly query: RowsQuery;
  readonly fields: readonly string[];
}

export const headersOf = ({
  exported: { columns, fields },
  fields: names,
}: RowsToRead): string[] => [
  ...columns.map(({ header }) => header),
  ...names.map((name) => fields?.header(name) ?? name),
];

/** The columns of a statement, less some. */
const STATEMENT_COLUMNS_MAX = 1_600;

/** Whether Postgres can write the lines: a statement has so many columns. */
export const canCopyLines = (rows: RowsToRead): boolean =>
  headersOf(rows).length <= STATEMENT_COLUMNS_MAX;

/**
 * The lines of a CSV file without the header, as Postgres writes them: the fastest way. Equal to
 * those of `csvLines`, byte for byte. `rowCount` of the ended stream is their number.
 */
export async function copyLines(
  client: PoolClient,
  { exported, query, fields }: RowsToRead,
  signal: AbortSignal,
): Promise<CopyToStreamQuery> {
  const names = fields.map((name, place) => [`field_${place}`, name] as const);
  await setValues(client, Object.fromEntries(names));
  const columns: readonly ExportColumn[] = [
    ...exported.columns,
    ...names.map(([value, header]) => fieldColumn(exported.fields, header, given(value))),
  ];
  const statement = `select ${columns.map(csvCell).join(', ')} from (${query.rows} order by ${query.order}) r`;
  const lines = client.query(copyTo(`copy (${statement}) to stdout (format csv)`));
  return addAbortSignal(signal, lines);
}

function fieldColumn(fields: ExportedRows['fields'], header: string, name: string): ExportColumn {
  const values = `(${fields?.values ?? `'{}'::jsonb`})`;
  return {
    header,
    kind: 'text',
    value: `${values} ->> ${name}`,
    isNumber: `(jsonb_typeof(${values} -> ${name}) = 'number')`,
  };
}

const BATCH_ROWS = 200;

/** The cells of each row, oldest first. Few rows are in memory at once. */
export async function* readCells(
  client: PoolClient,
  { exported, query, fields }: RowsToRead,
  signal: AbortSignal,
): AsyncGenerator<readonly Cell[]> {
  const cells = exported.columns.map(cellValue);
  if (exported.fields) cells.push(`(${fieldValues(exported.fields.values)})::text`);
  const rows = new QueryStream(
    `select ${cells.join(', ')} from (${query.rows} order by ${query.order}) r`,
    [],
    { batchSize: BATCH_ROWS, highWaterMark: BATCH_ROWS, rowMode: 'array' },
  );
  for await (const row of addAbortSignal(signal, client.query(rows)) as AsyncIterable<Cell[]>) {
    if (!exported.fields) {
      yield row;
      continue;
    }
    const values = row.pop();
    yield [...row, ...fieldCells(typeof values === 'string' ? values : '{}', fields)];
  }
}

/** Values of text as they are in a sheet; numbers as numbers, exact to 2^53. */
function cellValue({ kind, value }: ExportColumn): string {
  if (kind === 'integer') return `(${value})::float8`;
  return kind === 'plain' ? value : `nullif(${onOneLine(value)}, '')`;
}

/** SQL of an object of the values that are no empty cells: texts, and numbers as numerals. */
const fieldValues = (values: string): string => `
  select jsonb_object_agg(key, case jsonb_typeof(value)
    when 'number' then jsonb_build_object('numeral', value #>> '{}') else to_jsonb(${onOneLine(`value #>> '{}'`)}) end)
  from jsonb_each(${values}) as field (key, value) where value #>> '{}' <> ''`;

function fieldCells(values: string, names: readonly string[]): Cell[] {
  const cells = new Map(Object.entries(JSON.parse(values) as Record<string, string | Numeral>));
  return names.map((name) => cells.get(name) ?? null);
}
