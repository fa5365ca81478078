import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { Scope } from '../domain/scope.js';
import type { Actor } from '../event-log/envelope.js';
import { run } from '../postgres/statements.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import { findExportFile } from './storage/export-file-rows.js';
import type { ExportChunks } from './storage/export-chunks.js';
import { FileRemoved, readStoredFile, type ByteRange } from './storage/stored-file.js';

export interface ExportDownloadsParts {
  readonly pool: Pool;
  readonly chunks: ExportChunks;
  readonly keys: Pick<SubjectKeys, 'load'>;
}

export interface Download {
  readonly scope: Scope;
  readonly exportId: string;
  readonly actor: Actor;
  readonly id: string;
}

/** Reads the files of completed exports. */
export class ExportDownloads {
  constructor(private readonly parts: ExportDownloadsParts) {}

  /** The attempt that wrote the file; undefined: it is gone. */
  async find(exportId: string): Promise<string | undefined> {
    const row = await findExportFile(this.parts.pool, exportId);
    const isWhole = row?.state === 'WRITTEN' || row?.state === 'STORED';
    return isWhole ? (row.attempt ?? undefined) : undefined;
  }

  /** The whole file of a completed export. @throws {FileRemoved} */
  async *readWhole(exportId: string, bytes: number): AsyncGenerator<Buffer> {
    const attempt = await this.find(exportId);
    if (attempt === undefined) throw new FileRemoved();
    yield* this.read(attempt, { first: 0, last: bytes - 1 });
  }

  /** Records the start of a download, once an hour per export and actor. */
  async record({ scope, exportId, actor, id }: Download): Promise<void> {
    const { tenant, mode } = scope;
    await run(
      this.parts.pool,
      sql`
        insert into ledger.export_downloads
          (tenant, mode, export_id, actor_kind, actor_id, request_id)
        values (${tenant}, ${mode}, ${exportId}, ${actor.kind}, ${actor.id}, ${id})
        on conflict do nothing`,
    );
  }

  /** @throws {FileRemoved} when the file is removed meanwhile. */
  read(attempt: string, range: ByteRange): AsyncGenerator<Buffer> {
    return readStoredFile(this.parts, attempt, range);
  }
}
