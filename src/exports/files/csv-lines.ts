import { stringify } from 'csv-stringify/sync';
import { isNumeral, type Cell, type SheetRows } from './sheet-rows.js';

const unescaped = (value: string) => ({ value, escape_formulas: false });

/** A number, or a date after the year 9999: not a formula. */
const NUMERIC = /^(-?\d+(\.\d+)?|\+\d{6}-\d\d-\d\dT[\d:.]+Z)$/;

/** Formulas get an apostrophe; numbers and texts that look like numbers stay unchanged. */
const OPTIONS = {
  escape_formulas: true,
  cast: {
    string: (cell: string) => (NUMERIC.test(cell) ? unescaped(cell) : cell),
    object: (cell: object) => (isNumeral(cell) ? unescaped(cell.numeral) : ''),
  },
} as const;

/** CSV lines with their line ends; null is an empty cell. @param end CRLF follows RFC 4180. */
export const csvLines = (
  rows: readonly (readonly Cell[])[],
  end: '\n' | '\r\n' = '\n',
  delimiter: ',' | ';' = ',',
): string =>
  stringify(
    rows.map((row) => [...row]),
    { ...OPTIONS, record_delimiter: end, delimiter },
  );

/** The text of a cell without the apostrophe of `csvLines`. */
export const cellText = (cell: string): string =>
  /^'[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/.test(cell) && !NUMERIC.test(cell.slice(1))
    ? cell.slice(1)
    : cell;

/** Replaces line breaks by spaces. */
export const oneLine = (text: string): string => text.replace(/\r\n|\r|\n/g, ' ');

const BATCH_CELLS = 10_000;

export async function* csvFile({
  headers,
  rows,
}: Pick<SheetRows, 'headers' | 'rows'>): AsyncGenerator<Buffer> {
  let batch: (readonly Cell[])[] = [headers];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length * headers.length < BATCH_CELLS) continue;
    yield Buffer.from(csvLines(batch));
    batch = [];
  }
  if (batch.length > 0) yield Buffer.from(csvLines(batch));
}
