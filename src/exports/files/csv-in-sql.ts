import type { ExportColumn } from '../rows/exported-rows.js';

/** What a spreadsheet takes for the beginning of a formula: the list of `csv-stringify`. */
const FORMULA = ['=', '+', '-', '@', '\t', '\uFF1D', '\uFF0B', '\uFF0D', '\uFF20'];
const FORMULA_CODES = FORMULA.map((character) => character.codePointAt(0)).join(', ');

/** SQL of a text on one line: a line break becomes one space. Most texts have none. */
export const onOneLine = (value: string): string =>
  `case when strpos(${value}, E'\\n') > 0 or strpos(${value}, E'\\r') > 0
    then replace(replace(replace(${value}, E'\\r\\n', ' '), E'\\n', ' '), E'\\r', ' ') else ${value} end`;

/**
 * SQL of a cell for COPY in the format CSV, which quotes it. Null and '' are an empty cell without
 * quotes.
 * @param value SQL that is cheap to repeat.
 * @param isNumber SQL that is true for a number, which is no formula.
 */
export function csvCell(kind: ExportColumn['kind'], value: string, isNumber = 'false'): string {
  if (kind !== 'text') return value;
  const line = onOneLine(value);
  return `nullif(case when ascii(${value}) in (${FORMULA_CODES}) and not ${isNumber} then '''' || ${line} else ${line} end, '')`;
}
