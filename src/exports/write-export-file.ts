import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { Position } from '../event-log/event-log.js';
import type { Scope } from '../domain/scope.js';
import { timeNow } from '../foundation/world.js';
import type { ExportFormat } from '../domain/export/export.decider.js';
import type { ExportOrder, WrittenExport } from './export-order.js';
import { csvFile } from './files/csv-lines.js';
import type { Cell, SheetRows } from './files/sheet-rows.js';
import { SHEET_COLUMNS_MAX, xlsxFile } from './files/xlsx-file.js';
import { zipFile } from './files/zip-file.js';
import { fieldNames } from './rows/field-names.js';
import { peopleOfRows } from './rows/people-of-rows.js';
import { readAtPosition, type PositionParts } from './rows/read-at-position.js';
import { headersOf, readCells, type RowsToRead } from './rows/read-cells.js';
import { rowsOfType } from './rows/rows-by-export-type.js';
import { rowsQuery, type RowsQuery } from './rows/rows-query.js';

export interface ExportParts extends PositionParts {
  defaultProgramOf(tenant: string): Promise<string | undefined>;
  /** The ledger's time. Default: the real one. */
  now?(scope: Scope): Promise<number>;
  publicUrl(): string;
}

export interface ExportSink {
  /** @param chunk up to 256 KiB. Resolves when the next one may be written. */
  write(chunk: Buffer): Promise<void>;
}

export interface ExportRun {
  /** Oldest acceptable position of the rows; undefined: any. */
  readonly notBefore: Position | undefined;
  readonly sink: ExportSink;
  /** Receives the sorted first eight bytes of the ids of the people in the rows. */
  readonly people?: ExportSink;
  /** Called from time to time, and at the end. */
  progress(rowsDone: number, rowsTotal: number): void;
  /** Called every few seconds while the read model is not at the position. */
  readonly waits?: () => void;
  /** Ends the writing and the wait. */
  readonly signal: AbortSignal;
}

/**
 * Writes the file of an order from one snapshot. Equal states give equal bytes, and memory does not
 * grow with the rows. @throws {TooManyColumns}, the sink's errors, the signal's reason, the
 * database's errors: the written bytes are incomplete then.
 */
export async function writeExportFile(
  parts: ExportParts,
  order: ExportOrder,
  run: ExportRun,
): Promise<WrittenExport> {
  const { scope, type, format, filters } = order;
  const tenant = {
    scope,
    defaultProgramId: (await parts.defaultProgramOf(scope.tenant)) ?? '',
    publicUrl: parts.publicUrl(),
    now: (await parts.now?.(scope)) ?? timeNow(),
  };
  const exported = rowsOfType(order, tenant);
  const wanted = { readModel: exported.readModel, ...run };
  return readAtPosition(parts, wanted, async ({ client, position, generation }) => {
    const query = rowsQuery(exported, filters, tenant, generation);
    const rowsTotal = await countRows(client, query);
    const counted = new RowCounter(rowsTotal, run);
    counted.report();
    if (run.people)
      for await (const ids of peopleOfRows(client, exported, query)) await run.people.write(ids);
    const max = SHEET_COLUMNS_MAX - exported.columns.length;
    const fields = await fieldNames(client, exported, query, max);
    const rows = { exported, query, fields };
    const file = fileOf(client, { name: type, format, rows }, counted);
    const written = await writeChunks(file, run);
    counted.report();
    return { position, rows: counted.done, ...written };
  });
}

interface FileToWrite {
  readonly name: string;
  readonly format: ExportFormat;
  readonly rows: RowsToRead;
}

function fileOf(
  client: PoolClient,
  { name, format, rows }: FileToWrite,
  counted: RowCounter,
): AsyncGenerator<Buffer> {
  const headers = headersOf(rows);
  const sheet: SheetRows = {
    name,
    headers,
    rows: counted.rows(readCells(client, rows)),
    cellsTotal: counted.total * headers.length,
  };
  return format === 'CSV' ? csvFile(sheet) : zipFile(`${name}.xlsx`, xlsxFile(sheet));
}

async function countRows(client: PoolClient, { rows, values }: RowsQuery): Promise<number> {
  const { rows: counted } = await client.query<{ rows: bigint }>(
    `select count(*) as rows from (${rows}) r`,
    values,
  );
  return Number(counted[0]?.rows ?? 0);
}

const REPORT_ROWS = 1_000;

/** Counts rows and reports from time to time. */
class RowCounter {
  done = 0;

  constructor(
    readonly total: number,
    private readonly run: Pick<ExportRun, 'progress'>,
  ) {}

  report(): void {
    this.run.progress(this.done, this.total);
  }

  async *rows(rows: AsyncIterable<readonly Cell[]>): AsyncGenerator<readonly Cell[]> {
    for await (const row of rows) {
      this.done += 1;
      if (this.done % REPORT_ROWS === 0) this.report();
      yield row;
    }
  }
}

const CHUNK_BYTES_MAX = 256 * 1024;

/** Splits, counts and hashes the bytes. */
async function writeChunks(
  all: AsyncIterable<Buffer>,
  { sink, signal }: Pick<ExportRun, 'sink' | 'signal'>,
): Promise<Pick<WrittenExport, 'bytes' | 'sha256'>> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const piece of all)
    for (let start = 0; start < piece.length; start += CHUNK_BYTES_MAX) {
      const chunk = piece.subarray(start, start + CHUNK_BYTES_MAX);
      digest.update(chunk);
      bytes += chunk.length;
      await sink.write(chunk);
      signal.throwIfAborted();
    }
  return { bytes, sha256: digest.digest('hex') };
}
