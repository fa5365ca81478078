import type { ImportKind } from '../rows/import-rows.js';
import { CUSTOM, Columns, fieldsOfKind, REQUIRED } from './columns.js';
import { csvRecords, formatOf, type Delimiter } from './csv-records.js';
import type { FileBytes } from './file-blocks.js';

/** A column of a file with the field that it would become. */
export interface PreviewedColumn {
  readonly name: string;
  /** By the column's name; null: not imported. */
  readonly field: string | null;
  /** Values of the first rows. */
  readonly values: readonly string[];
}

/** The first rows of an unchecked file. */
export interface FilePreview {
  readonly columns: readonly PreviewedColumn[];
  /** Possible fields of a column. */
  readonly fields: readonly string[];
  readonly required: readonly string[];
}

const SHOWN_ROWS = 3;

/** @throws {FileFault} for an invalid file and a repeated column. */
export async function previewFile(kind: ImportKind, bytes: FileBytes): Promise<FilePreview> {
  const { header, rows, isCsv } = await firstRows(bytes);
  const columns = new Columns(kind, new Map());
  const fields = isCsv ? columns.ofHeader(header) : header.map((name) => columns.fieldOf(name));
  return {
    columns: header.map((name, place) => ({
      name,
      field: fields[place] ?? null,
      values: rows.map((cells) => cells[place] ?? ''),
    })),
    fields: [
      ...fieldsOfKind(kind),
      ...(kind === 'users' ? header.filter(isCustomName).map((name) => `${CUSTOM}${name}`) : []),
    ],
    required: REQUIRED[kind],
  };
}

const isCustomName = (name: string): boolean => name !== '' && !name.startsWith('customFields');

async function firstRows(bytes: FileBytes) {
  const { begun, delimiter } = await formatOf(bytes);
  return delimiter === undefined ? jsonRows(begun) : csvRows(bytes, delimiter);
}

async function csvRows(bytes: FileBytes, delimiter: Delimiter) {
  const rows: (readonly string[])[] = [];
  for await (const { cells } of csvRecords(bytes, delimiter)) {
    rows.push(cells);
    if (rows.length > SHOWN_ROWS) break;
  }
  const [header = [], ...others] = rows;
  return { header: header.map((name) => name.trim()), rows: others, isCsv: true };
}

function jsonRows(text: string) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const objects = lines.slice(0, SHOWN_ROWS).map(membersOf);
  const header = [...new Set(objects.flatMap((members) => [...members.keys()]))];
  const rows = objects.map((members) => header.map((name) => shownValue(members.get(name))));
  return { header, rows, isCsv: false };
}

/** A line that is not an object has no members; the check rejects it. */
function membersOf(line: string): ReadonlyMap<string, unknown> {
  try {
    return new Map(Object.entries(Object(JSON.parse(line)) as object));
  } catch {
    return new Map();
  }
}

const shownValue = (value: unknown): string =>
  value === undefined || value === null
    ? ''
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
