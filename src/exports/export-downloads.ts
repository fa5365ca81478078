import type { Pool } from 'pg';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import { findExportFile } from './storage/export-file-rows.js';
import type { ExportChunks } from './storage/export-chunks.js';
import { FileGone, readStoredFile, type ByteRange } from './storage/stored-file.js';

export interface ExportDownloadsParts {
  readonly pool: Pool;
  readonly chunks: ExportChunks;
  readonly keys: Pick<SubjectKeys, 'load'>;
}

/** Reads the files of completed exports. */
export class ExportDownloads {
  constructor(private readonly parts: ExportDownloadsParts) {}

  /** Names the file; undefined: it is gone. */
  async find(exportId: string): Promise<string | undefined> {
    const row = await findExportFile(this.parts.pool, exportId);
    const isWhole = row?.state === 'WRITTEN' || row?.state === 'STORED';
    return isWhole ? (row.attempt ?? undefined) : undefined;
  }

  /** The whole file of a completed export. @throws {FileGone} */
  async *readWhole(exportId: string, bytes: number): AsyncGenerator<Buffer> {
    const attempt = await this.find(exportId);
    if (attempt === undefined) throw new FileGone();
    yield* this.read(attempt, { first: 0, last: bytes - 1 });
  }

  /** @throws {FileGone} when it is removed meanwhile. */
  read(attempt: string, range: ByteRange): AsyncGenerator<Buffer> {
    return readStoredFile(this.parts, attempt, range);
  }
}
