import { createHash } from 'node:crypto';
import { to as copyTo } from 'pg-copy-streams';
import type { Position } from '../event-log/event-log.js';
import type { ExportOrder, WrittenExport } from './export-order.js';
import { csvCell } from './files/csv-in-sql.js';
import {
  readAtPosition,
  type PositionParts,
  type ReadModelAtPosition,
} from './rows/read-at-position.js';
import { rowsOfType } from './rows/rows-of-types.js';
import { rowsQuery, SET_VALUE, settingOf, type RowsQuery } from './rows/rows-query.js';

export type ExportParts = PositionParts;

/** Takes the bytes of a file, in order. */
export interface ExportSink {
  /** @param chunk of at most 256 KiB. The next one is written when this one is taken. */
  write(chunk: Buffer): Promise<void>;
}

export interface ExportRun {
  /** The rows include this position; undefined: any position will do. */
  readonly notBefore: Position | undefined;
  readonly sink: ExportSink;
  /** Called now and then. */
  progress(rowsDone: number, rowsTotal: number): void;
  /** Ends the writing, also while it waits for the position. */
  readonly signal: AbortSignal;
}

const CHUNK_BYTES_MAX = 256 * 1024;

/**
 * Writes the file of an order: the state at one position, in one snapshot. The same state is the
 * same bytes. Memory does not grow with the rows.
 * @throws the sink's errors, the signal's reason, the database's errors. What the sink has taken is
 * no file then.
 */
export async function writeExportFile(
  parts: ExportParts,
  order: ExportOrder,
  run: ExportRun,
): Promise<WrittenExport> {
  const rows = rowsOfType(order.type);
  const wanted = { readModel: rows.readModel, ...run };
  return readAtPosition(parts, wanted, async (readModel) => {
    const query = rowsQuery(rows, order, readModel.generation);
    for (const [name, value] of Object.entries(query.values))
      await readModel.client.query(SET_VALUE, [settingOf(name), value]);
    const rowsTotal = await countRows(readModel, query);
    run.progress(0, rowsTotal);
    const file = new FileWriter(run.sink);
    await file.write(Buffer.from(`${rows.columns.map(({ header }) => header).join(',')}\n`));
    const cells = rows.columns.map(csvCell).join(', ');
    const stream = readModel.client.query(
      copyTo(
        `copy (select ${cells} ${query.fromWhere} order by ${query.orderBy}) to stdout (format csv)`,
      ),
    );
    for await (const chunk of stream as AsyncIterable<Buffer>) await file.write(chunk);
    run.progress(stream.rowCount, rowsTotal);
    return { position: readModel.position, rows: stream.rowCount, ...file.written() };
  });
}

async function countRows(
  { client }: ReadModelAtPosition,
  { fromWhere }: RowsQuery,
): Promise<number> {
  const { rows } = await client.query<{ rows: bigint }>(`select count(*) as rows ${fromWhere}`);
  return Number(rows[0]?.rows ?? 0);
}

/** Splits, counts and digests the bytes. */
class FileWriter {
  private readonly digest = createHash('sha256');
  private bytes = 0;

  constructor(private readonly sink: ExportSink) {}

  async write(bytes: Buffer): Promise<void> {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES_MAX) {
      const chunk = bytes.subarray(start, start + CHUNK_BYTES_MAX);
      this.digest.update(chunk);
      this.bytes += chunk.length;
      await this.sink.write(chunk);
    }
  }

  written(): Pick<WrittenExport, 'bytes' | 'sha256'> {
    return { bytes: this.bytes, sha256: this.digest.digest('hex') };
  }
}
