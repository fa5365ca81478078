import { stringify } from 'csv-stringify/sync';
import { isNumeral, type Cell, type SheetRows } from './sheet-rows.js';

const unescaped = (value: string) => ({ value, escape_formulas: false });

/** A number, or a date from the year 10000 on: it runs nothing. */
const HARMLESS = /^(-?\d+(\.\d+)?|\+\d{6}-\d\d-\d\dT[\d:.]+Z)$/;

/**
 * What a spreadsheet would run begins with an apostrophe. Numbers and texts that read like one are
 * as they are.
 */
const OPTIONS = {
  escape_formulas: true,
  cast: {
    string: (cell: string) => (HARMLESS.test(cell) ? unescaped(cell) : cell),
    object: (cell: object) => (isNumeral(cell) ? unescaped(cell.numeral) : ''),
  },
} as const;

/**
 * Lines of CSV, each with its end. Null is an empty cell.
 * @param end CRLF for what people read as RFC 4180 has it.
 */
export const csvLines = (
  rows: readonly (readonly Cell[])[],
  end: '\n' | '\r\n' = '\n',
  delimiter: ',' | ';' = ',',
): string =>
  stringify(
    rows.map((row) => [...row]),
    { ...OPTIONS, record_delimiter: end, delimiter },
  );

/** The text of a cell: without the apostrophe that `csvLines` puts before some. */
export const cellText = (cell: string): string =>
  /^'[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/.test(cell) && !HARMLESS.test(cell.slice(1))
    ? cell.slice(1)
    : cell;

/** A text as a cell: a line break becomes one space. */
export const oneLine = (text: string): string => text.replace(/\r\n|\r|\n/g, ' ');

/** Cells that are put into one text. */
const BATCH_CELLS = 10_000;

/** A file with a header. */
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
