import { Readable } from 'node:stream';
import { writeXlsxStream } from 'hucre/xlsx';
import { isNumeral, type Cell, type SheetRows } from './sheet-rows.js';

/** A sheet's rows, with the header that each of them repeats. */
export const SHEET_ROWS_MAX = 1_048_576;
/** Columns of a sheet. */
export const SHEET_COLUMNS_MAX = 16_384;

/** A spreadsheet program shows 15 digits of a number; longer ones are texts. */
const EXACT_MAX = 999_999_999_999_999;

/**
 * From here on a sheet may be beyond 4 GiB: some 100 bytes a cell. Below it the file has the form
 * that every program reads.
 */
const LARGE_CELLS = 30_000_000;

/** Excel refuses a file with a longer text; in UTF-16 units. */
const CELL_TEXT_MAX = 32_767;

/** XML has no such characters; neither have half surrogate pairs a place in it. */
const NOT_IN_XML = /[\uFFFE\uFFFF]|\p{Surrogate}/gu;
/** A text that reads like an escape of a character. */
const LIKE_ESCAPE = /_(?=x[0-9A-Fa-f]{4}_)/g;

/**
 * An XLSX file. Cells are inline, so memory does not grow with the rows; the same rows are the same
 * bytes.
 * @param rowsMax of a sheet, its header included: more go to further sheets.
 */
export function xlsxFile(
  { name, headers, rows, cellsTotal }: SheetRows,
  rowsMax = SHEET_ROWS_MAX,
): Readable {
  const stream = writeXlsxStream(sheetCells(rows), {
    name,
    columns: headers.map((header) => ({ header })),
    maxRowsPerSheet: rowsMax,
    zip64: cellsTotal >= LARGE_CELLS,
  });
  return Readable.fromWeb(stream);
}

async function* sheetCells(rows: SheetRows['rows']): AsyncGenerator<(string | number | null)[]> {
  for await (const row of rows) yield row.map(sheetCell);
}

function sheetCell(cell: Cell): string | number | null {
  if (typeof cell === 'number') return Math.abs(cell) > EXACT_MAX ? String(cell) : cell;
  if (isNumeral(cell)) return sheetCell(Number(cell.numeral));
  if (cell === null || cell === '') return null;
  // A pair that the limit divides is left out.
  const text = cell.slice(0, CELL_TEXT_MAX).replace(/[\uD800-\uDBFF]$/, '');
  return text.replace(LIKE_ESCAPE, '_x005F_').replace(NOT_IN_XML, '\uFFFD');
}
