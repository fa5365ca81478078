import type { PoolClient, QueryArrayConfig } from 'pg';
import type { Cell, Numeral } from '../files/sheet-rows.js';
import type { ExportColumn, ExportedRows } from './exported-rows.js';
import type { RowsQuery } from './rows-query.js';

/** The columns of a file: those of its type, and those that the rows contain. */
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

const BATCH_ROWS = 200;
const CURSOR = 'export_rows';
const NEXT_ROWS: QueryArrayConfig = {
  text: `fetch forward ${BATCH_ROWS} from ${CURSOR}`,
  rowMode: 'array',
};

/** The cells of each row, oldest first. Few rows are in memory. */
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
    query.values,
  );
  for (;;) {
    const { rows } = await client.query<Cell[]>(NEXT_ROWS);
    for (const row of rows) yield exported.fields ? withFields(row, fields) : row;
    if (rows.length < BATCH_ROWS) return;
  }
}

/** The last cell is an object of fields. */
function withFields(row: Cell[], fields: readonly string[]): Cell[] {
  const named = row.pop();
  return [...row, ...fieldCells(typeof named === 'string' ? named : '{}', fields)];
}

/** Texts on one line; numbers as numbers, exact to 2^53. */
function cellValue(kind: ExportColumn['kind'], value: string): string {
  if (kind === 'integer') return `(${value})::float8`;
  return kind === 'plain' ? value : `nullif(${onOneLine(value)}, '')`;
}

/** SQL that replaces line breaks by spaces, which few texts have. */
const onOneLine = (value: string): string =>
  `case when strpos(${value}, E'\\n') > 0 or strpos(${value}, E'\\r') > 0
    then replace(replace(replace(${value}, E'\\r\\n', ' '), E'\\n', ' '), E'\\r', ' ') else ${value} end`;

/** SQL of the text of a JSON value; numbers as in JavaScript. @param value cheap to repeat. */
const jsonCell = (value: string): string =>
  `case when jsonb_typeof(${value}) = 'number' then
    case when abs((${value} #>> '{}')::numeric) < 1e21 then ${value} #>> '{}' else (${value} #>> '{}')::float8::text end
    else ${value} #>> '{}' end`;

/** SQL of an object of the non-empty values: texts, and numbers as numerals. */
const fieldValues = (values: string): string => `
  select jsonb_object_agg(key, case jsonb_typeof(value)
    when 'number' then jsonb_build_object('numeral', ${jsonCell('value')}) else to_jsonb(${onOneLine(`value #>> '{}'`)}) end)
  from jsonb_each(${values}) as field (key, value) where value #>> '{}' <> ''`;

function fieldCells(values: string, names: readonly string[]): Cell[] {
  const cells = new Map(Object.entries(JSON.parse(values) as Record<string, string | Numeral>));
  return names.map((name) => cells.get(name) ?? null);
}
