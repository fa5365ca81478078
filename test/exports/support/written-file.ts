import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import readExcelFile from 'read-excel-file/node';
import type { ExportOrder, WrittenExport } from '../../../src/exports/export-order.js';
import {
  writeExportFile,
  type ExportParts,
  type ExportRun,
} from '../../../src/exports/write-export-file.js';
import type { FollowedProjections } from '../../support/followed.js';
import type { ProjectedLedger } from '../../support/projected-ledger.js';

export const PUBLIC_URL = 'https://refer.example/x/';

export const partsOf = (projected: ProjectedLedger, runner: FollowedProjections): ExportParts => ({
  pool: projected.pool,
  log: projected.log,
  generations: projected.generations,
  waitFor: (...awaited) => runner.waitFor(...awaited),
  defaultProgramOf: () => Promise.resolve('default'),
  publicUrl: () => PUBLIC_URL,
});

export interface WrittenFile {
  readonly bytes: Buffer;
  readonly written: WrittenExport;
  readonly progress: readonly (readonly [done: number, total: number])[];
  readonly chunkMax: number;
}

export async function writtenFile(
  parts: ExportParts,
  order: ExportOrder,
  over: Partial<ExportRun> = {},
): Promise<WrittenFile> {
  const chunks: Buffer[] = [];
  const progress: (readonly [number, number])[] = [];
  const written = await writeExportFile(parts, order, {
    notBefore: undefined,
    sink: { write: (chunk) => Promise.resolve(void chunks.push(Buffer.from(chunk))) },
    progress: (...counted) => progress.push(counted),
    signal: new AbortController().signal,
    ...over,
  });
  const bytes = Buffer.concat(chunks);
  const chunkMax = Math.max(...chunks.map(({ length }) => length));
  return { bytes, written, progress, chunkMax };
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Rows with the header, as a program of the trade reads them. */
export const readCsv = (bytes: Buffer): string[][] => parse(bytes, { relax_column_count: false });

/** The sheets of the one file in the zip, as a library that did not write them reads them. */
export async function readSheets(
  bytes: Buffer,
): Promise<readonly { readonly sheet: string; readonly data: readonly (readonly unknown[])[] }[]> {
  return readExcelFile(onlyEntry(bytes).content, { trim: false });
}

/** The one, stored entry of a zip file, by its central directory. */
export function onlyEntry(zip: Buffer): { readonly name: string; readonly content: Buffer } {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06'));
  if (zip.readUInt16LE(end + 10) !== 1) throw new Error('not one entry');
  const directory = zip.readUInt32LE(end + 16);
  const size = zip.readUInt32LE(directory + 24);
  if (zip.readUInt16LE(directory + 10) !== 0) throw new Error('not stored');
  const local = zip.readUInt32LE(directory + 42);
  const nameLength = zip.readUInt16LE(local + 26);
  const start = local + 30 + nameLength + zip.readUInt16LE(local + 28);
  return {
    name: zip.toString('utf8', local + 30, local + 30 + nameLength),
    content: zip.subarray(start, start + size),
  };
}
