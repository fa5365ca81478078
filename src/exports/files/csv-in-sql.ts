import type { ExportColumn } from '../rows/exported-rows.js';

/** What a spreadsheet takes for the beginning of a formula: the list of `csv-stringify`. */
const FORMULA = ['=', '+', '-', '@', '\t', '\uFF1D', '\uFF0B', '\uFF0D', '\uFF20'];
/** A text that reads like a number: it runs nothing, and an apostrophe would make it a text. */
const LIKE_NUMBER = `'^-?[0-9]+([.][0-9]+)?$'`;
const FORMULA_CODES = FORMULA.map((character) => character.codePointAt(0)).join(', ');

/** SQL of a text on one line: a line break becomes one space. Most texts have none. */
export const onOneLine = (value: string): string =>
  `case when strpos(${value}, E'\\n') > 0 or strpos(${value}, E'\\r') > 0
    then replace(replace(replace(${value}, E'\\r\\n', ' '), E'\\n', ' '), E'\\r', ' ') else ${value} end`;

/**
 * SQL of the text of a JSON value. A number has no exponent below 1e21, and one from there on, as
 * JavaScript writes it.
 * @param value SQL of JSON, cheap to repeat.
 */
export const jsonCell = (value: string): string =>
  `case when jsonb_typeof(${value}) = 'number' then
    case when abs((${value} #>> '{}')::numeric) < 1e21 then ${value} #>> '{}' else (${value} #>> '{}')::float8::text end
    else ${value} #>> '{}' end`;

/**
 * SQL of a cell for COPY in the format CSV, which quotes it. Null and '' are an empty cell without
 * quotes.
 * @param value SQL that is cheap to repeat.
 * @param isNumber SQL that is true for a number, which is no formula.
 */
export function csvCell(kind: ExportColumn['kind'], value: string, isNumber = 'false'): string {
  if (kind !== 'text') return value;
  const line = onOneLine(value);
  return `nullif(case when ascii(${value}) in (${FORMULA_CODES}) and not ${isNumber} and ${value} !~ ${LIKE_NUMBER} then '''' || ${line} else ${line} end, '')`;
}
