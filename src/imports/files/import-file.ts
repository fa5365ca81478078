import { cellText, csvLines } from '../../exports/files/csv-lines.js';
import {
  DEPTH_MAX,
  isDeeperThan,
  ROUNDED,
  roundedIn,
  withRoundedMarked,
} from '../../foundation/json-text.js';
import { NOT_STORABLE, unstorablePath } from '../../foundation/outside-text.js';
import type { ImportKind } from '../rows/import-rows.js';
import { Columns } from './columns.js';
import { csvRecords, formatOf, type Delimiter } from './csv-records.js';
import { blocksOf, FileFault, type FileBytes } from './file-blocks.js';
import { typedRow, type TypedRow } from './typed-row.js';

/** A row, or why it is rejected before the ledger decides. */
export interface ReadRow {
  /** The row's first line. */
  readonly line: number;
  readonly read: TypedRow;
  /** The row for the file of rejected rows. */
  readonly rejected: (reason: string) => string;
}

/** A file to import, which can be read repeatedly. */
export interface ImportFile {
  readonly columns: Columns;
  /** The first line of the file of rejected rows. */
  readonly rejectedHead: string;
  /** @throws {FileFault} */
  rows(): AsyncGenerator<ReadRow>;
}

/** @throws {FileFault} for an invalid header. */
export async function openImportFile(
  kind: ImportKind,
  map: ReadonlyMap<string, string>,
  bytes: FileBytes,
): Promise<ImportFile> {
  const columns = new Columns(kind, map);
  const { delimiter } = await formatOf(bytes);
  return delimiter === undefined ? jsonFile(columns, bytes) : csvFile(columns, bytes, delimiter);
}

/** Columns of a file of rejected rows, which a new import replaces. */
const ADDED = ['line', 'reason'];

async function csvFile(
  columns: Columns,
  bytes: FileBytes,
  delimiter: Delimiter,
): Promise<ImportFile> {
  const head = await firstOf(csvRecords(bytes, delimiter));
  const header = head.cells.map((name) => name.trim());
  const fields = columns.ofHeader(header);
  columns.checkRequired(fields);
  const isKept = header.map((name, place) => fields[place] !== undefined || !ADDED.includes(name));
  const lineOf = (cells: readonly string[], added: readonly string[]): string =>
    csvLines([[...cells.filter((_, place) => isKept[place]), ...added]], '\n', delimiter);
  return {
    columns,
    rejectedHead: lineOf(header, ADDED),
    async *rows() {
      for await (const { cells, line } of csvRecords(bytes, delimiter)) {
        if (line === head.line) continue;
        const given = fields.flatMap((field, place) =>
          field === undefined ? [] : [[field, cellText(cells[place] ?? '')] as const],
        );
        const read: TypedRow =
          cells.length === header.length
            ? typedRow(columns, given)
            : {
                reason: `BAD_REQUEST: the row has ${cells.length} cells, the header ${header.length}`,
              };
        const whole = header.map((_, place) => cells[place] ?? '');
        yield { line, read, rejected: (reason) => lineOf(whole, [String(line), reason]) };
      }
    },
  };
}

async function firstOf<T>(all: AsyncGenerator<T>): Promise<T> {
  const first = await all.next();
  // Does not read the rest of the file.
  await all.return(undefined);
  if (first.done) throw new FileFault('the file is empty');
  return first.value;
}

const jsonFile = (columns: Columns, bytes: FileBytes): ImportFile => ({
  columns,
  rejectedHead: '',
  async *rows() {
    for await (const { text, before } of blocksOf(bytes))
      for (const [place, json] of text.split('\n').entries()) {
        if (json.trim() === '') continue;
        const line = before + place + 1;
        const members = membersIn(json, line);
        const read =
          typeof members === 'string' ? { reason: members } : jsonRow(columns, json, members);
        yield { line, read, rejected: (reason) => rejectedJson(json, members, { line, reason }) };
      }
    columns.checkSeen();
  },
});

/** The members of a line, or why it is not an object. @throws {FileFault} */
function membersIn(json: string, line: number): object | string {
  const refused = 'BAD_REQUEST: the line is no JSON object';
  if (isDeeperThan(json, DEPTH_MAX)) return `${refused} of at most ${DEPTH_MAX} levels`;
  let members: unknown;
  try {
    members = JSON.parse(json);
  } catch {
    return refused;
  }
  if (json.includes('\\u') && unstorablePath(members) !== undefined)
    throw new FileFault(`line ${line} ${NOT_STORABLE}`);
  return typeof members === 'object' && members !== null && !Array.isArray(members)
    ? members
    : refused;
}

function jsonRow(columns: Columns, json: string, members: object): TypedRow {
  const [rounded] = roundedIn(withRoundedMarked(json));
  if (rounded !== undefined) return { reason: `BAD_REQUEST: ${rounded} ${ROUNDED}` };
  return typedRow(
    columns,
    Object.entries(members).flatMap(([name, value]) => {
      const field = columns.fieldOf(name);
      return field === undefined ? [] : [[field, value] as const];
    }),
  );
}

function rejectedJson(
  json: string,
  members: object | string,
  added: { readonly line: number; readonly reason: string },
): string {
  if (typeof members === 'string') return `${JSON.stringify({ text: json.trim(), ...added })}\n`;
  const kept = Object.entries(members).filter(([name]) => !ADDED.includes(name));
  return `${JSON.stringify(Object.fromEntries([...kept, ...Object.entries(added)]))}\n`;
}
