import { addAbortSignal } from 'node:stream';
import type { PoolClient, QueryArrayConfig } from 'pg';
import { to as copyTo, type CopyToStreamQuery } from 'pg-copy-streams';
import { csvCell, jsonCell, onOneLine } from '../files/csv-in-sql.js';
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
  const statement = linesStatement(
    exported,
    query,
    names.map(([value]) => given(value)),
  );
  const lines = client.query(copyTo(`copy (${statement}) to stdout (format csv)`));
  return addAbortSignal(signal, lines);
}

/**
 * Each value is computed once, in a subquery that is not merged with the one around it: a cell
 * looks at its value several times.
 * @param names SQL of the names of the fields.
 */
function linesStatement(
  { columns, fields }: ExportedRows,
  query: RowsQuery,
  names: readonly string[],
): string {
  const values = columns.map(({ value }, place) => `${value} as c${place}`);
  if (names.length > 0) values.push(`${fields?.values ?? 'null'} as fields`);
  const ordered = `select ${values.join(', ')} from (${query.rows}) r order by ${query.order}`;
  const fieldValues = names.map(
    (name, place) => `, ${jsonCell(`(v.fields -> ${name})`)} as f${place}`,
  );
  const cells = [
    ...columns.map(({ kind }, place) => csvCell(kind, `w.c${place}`)),
    ...names.map((name, place) =>
      csvCell('text', `w.f${place}`, `(jsonb_typeof(w.fields -> ${name}) = 'number')`),
    ),
  ];
  return `select ${cells.join(', ')} from (select v.*${fieldValues.join('')} from (${ordered}) v offset 0) w`;
}

const BATCH_ROWS = 200;
/** Closed with its transaction. */
const CURSOR = 'export_rows';
const NEXT_ROWS: QueryArrayConfig = {
  text: `fetch forward ${BATCH_ROWS} from ${CURSOR}`,
  rowMode: 'array',
};

/** The cells of each row, oldest first. Few rows are in memory at once. */
export async function* readCells(
  client: PoolClient,
  { exported, query, fields }: RowsToRead,
): AsyncGenerator<readonly Cell[]> {
  const cells = exported.columns.map(({ kind }, place) => cellValue(kind, `v.c${place}`));
  const values = exported.columns.map(({ value }, place) => `${value} as c${place}`);
  if (exported.fields) {
    values.push(`${exported.fields.values} as fields`);
    cells.push(`(${fieldValues('v.fields')})::text`);
  }
  const ordered = `select ${values.join(', ')} from (${query.rows}) r order by ${query.order}`;
  await client.query(
    `declare ${CURSOR} no scroll cursor for select ${cells.join(', ')} from (${ordered}) v`,
  );
  for (;;) {
    const { rows } = await client.query<Cell[]>(NEXT_ROWS);
    for (const row of rows) yield exported.fields ? withFields(row, fields) : row;
    if (rows.length < BATCH_ROWS) return;
  }
}

/** The last cell is an object of the fields. */
function withFields(row: Cell[], fields: readonly string[]): Cell[] {
  const named = row.pop();
  return [...row, ...fieldCells(typeof named === 'string' ? named : '{}', fields)];
}

/** Values of text as they are in a sheet; numbers as numbers, exact to 2^53. */
function cellValue(kind: ExportColumn['kind'], value: string): string {
  if (kind === 'integer') return `(${value})::float8`;
  return kind === 'plain' ? value : `nullif(${onOneLine(value)}, '')`;
}

/** SQL of an object of the values that are no empty cells: texts, and numbers as numerals. */
const fieldValues = (values: string): string => `
  select jsonb_object_agg(key, case jsonb_typeof(value)
    when 'number' then jsonb_build_object('numeral', ${jsonCell('value')}) else to_jsonb(${onOneLine(`value #>> '{}'`)}) end)
  from jsonb_each(${values}) as field (key, value) where value #>> '{}' <> ''`;

function fieldCells(values: string, names: readonly string[]): Cell[] {
  const cells = new Map(Object.entries(JSON.parse(values) as Record<string, string | Numeral>));
  return names.map((name) => cells.get(name) ?? null);
}
