import { Readable } from 'node:stream';
import { writeXlsxStream } from 'hucre/xlsx';
import { isNumeral, type Cell, type SheetRows } from './sheet-rows.js';

/** Rows per sheet, including the header that each sheet repeats. */
export const SHEET_ROWS_MAX = 1_048_576;
export const SHEET_COLUMNS_MAX = 16_384;

/** Spreadsheets show 15 digits of a number; longer ones are written as text. */
const EXACT_MAX = 999_999_999_999_999;

/** Larger sheets may exceed 4 GiB (about 100 bytes a cell), which not every program reads. */
const LARGE_CELLS = 30_000_000;

/** Excel rejects files with longer texts, in UTF-16 units. */
const CELL_TEXT_MAX = 32_767;

/** Characters that XML does not allow, and single surrogates. */
const NOT_IN_XML = /[\uFFFE\uFFFF]|\p{Surrogate}/gu;
/** Looks like an escaped character. */
const ESCAPE_LIKE = /_(?=x[0-9A-Fa-f]{4}_)/g;

/**
 * An XLSX file with inline cells, so that memory does not grow with the rows. Equal rows give equal
 * bytes. @param rowsMax rows per sheet, including the header.
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
  // Drops half of a surrogate pair at the limit.
  const text = cell.slice(0, CELL_TEXT_MAX).replace(/[\uD800-\uDBFF]$/, '');
  return text.replace(ESCAPE_LIKE, '_x005F_').replace(NOT_IN_XML, '\uFFFD');
}
