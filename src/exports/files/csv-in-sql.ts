import type { ExportColumn } from '../rows/exported-rows.js';

/** What a spreadsheet takes for the beginning of a formula: the list of `csv-stringify`. */
const FORMULA = `('=', '+', '-', '@', E'\\t', U&'\\FF1D', U&'\\FF0B', U&'\\FF0D', U&'\\FF20')`;

/** SQL of a text on one line: a line break becomes one space. */
export const onOneLine = (value: string): string =>
  `replace(replace(replace(${value}, E'\\r\\n', ' '), E'\\n', ' '), E'\\r', ' ')`;

/**
 * SQL of a cell for COPY in the format CSV, which quotes it. Null and '' are an empty cell without
 * quotes.
 */
export function csvCell({ kind, value, isNumber = 'false' }: ExportColumn): string {
  if (kind !== 'text') return value;
  const line = onOneLine(value);
  return `nullif(case when left(${value}, 1) in ${FORMULA} and not ${isNumber} then '''' || ${line} else ${line} end, '')`;
}
