import type { ExportColumn } from '../rows/exported-rows.js';

/** What a spreadsheet takes for the beginning of a formula: the list of `csv-stringify`. */
const FORMULA = `('=', '+', '-', '@', E'\\t', U&'\\FF1D', U&'\\FF0B', U&'\\FF0D', U&'\\FF20')`;

/**
 * SQL of a cell for COPY in the format CSV, which quotes it. Null and '' are an empty cell without
 * quotes.
 */
export function csvCell({ kind, value }: ExportColumn): string {
  if (kind !== 'text') return value;
  const line = `replace(replace(replace(${value}, E'\\r\\n', ' '), E'\\n', ' '), E'\\r', ' ')`;
  return `nullif(case when left(${value}, 1) in ${FORMULA} then '''' || ${line} else ${line} end, '')`;
}
