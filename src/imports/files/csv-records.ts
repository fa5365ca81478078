import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { blocksOf, FileFault, type FileBytes } from './file-blocks.js';

export type Delimiter = ',' | ';';

/** The cells of a row, with its first line. */
export interface CsvRecord {
  readonly cells: readonly string[];
  readonly line: number;
}

/** Limits a record: an unclosed quote would include the rest of the file. */
const RECORD_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The beginning of a file, and its separator: the one that its first line has more of. Undefined:
 * it is JSON lines. @throws {FileFault}
 */
export async function formatOf(bytes: FileBytes) {
  for await (const { text } of blocksOf(bytes)) {
    const begun = text.trimStart();
    if (begun === '') continue;
    const [head = ''] = begun.split('\n', 1);
    const csv: Delimiter = head.split(';').length > head.split(',').length ? ';' : ',';
    return { begun, delimiter: begun.startsWith('{') ? undefined : csv };
  }
  throw new FileFault('the file is empty');
}

/** The records of a CSV file (RFC 4180), without blank lines. @throws {FileFault} */
export async function* csvRecords(
  bytes: FileBytes,
  delimiter: Delimiter,
): AsyncGenerator<CsvRecord> {
  const parser = parse({
    delimiter,
    info: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: RECORD_BYTES_MAX,
  });
  // The iteration throws the error.
  pipeline(Readable.from(textsOf(bytes)), parser, () => undefined);
  let extra = 0;
  try {
    for await (const { record: cells, info } of parser as AsyncIterable<Parsed>) {
      // The parser counts a carriage return within a cell as a line.
      extra += countOf('\r', cells);
      const line = info.lines - extra - countOf('\n', cells);
      if (cells.length > 1 || cells[0]?.trim()) yield { cells, line };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const why = FAULTS.get(error.code) ?? 'is no CSV';
    const records = Number(error['records']);
    throw new FileFault(`row ${records + 1}, with the header as row 1, ${why}`);
  }
}

interface Parsed {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

async function* textsOf(bytes: FileBytes): AsyncGenerator<string> {
  for await (const { text } of blocksOf(bytes)) yield text;
}

function countOf(character: string, cells: readonly string[]): number {
  let count = 0;
  for (const cell of cells) if (cell.includes(character)) count += cell.split(character).length - 1;
  return count;
}

const FAULTS: ReadonlyMap<string, string> = new Map([
  ['CSV_QUOTE_NOT_CLOSED', 'has a quote that is not closed'],
  ['CSV_INVALID_CLOSING_QUOTE', 'has text after a closing quote'],
  ['INVALID_OPENING_QUOTE', 'has a quote within a cell without quotes: write it twice, in quotes'],
  ['CSV_MAX_RECORD_SIZE', `is longer than ${RECORD_BYTES_MAX} bytes: is a quote missing?`],
]);
