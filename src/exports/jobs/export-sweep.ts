import type { Pool } from 'pg';
import type { ExportQueries } from '../../../projections/exports/queries.js';
import { scopeOf } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import type { Exports } from '../exports.js';
import {
  findExportFile,
  findExportFiles,
  addWaiting,
  idleFiles,
  storeAttempt,
  type ExportFileRow,
} from '../storage/export-file-rows.js';

export interface ExportSweepParts {
  readonly pool: Pool;
  readonly exports: Exports;
  readonly queries: Pick<ExportQueries, 'notOver'>;
}

const PAGE = 200;
/** A request is recorded or refused long before. */
const UNRECORDED_DELAY_MS = 60_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Makes the rows follow the streams after a crash between two steps, a loss of the log's end, or a
 * restore. Every step is idempotent.
 */
export class ExportSweep {
  constructor(private readonly parts: ExportSweepParts) {}

  /** @throws the errors of log and database. */
  async all(signal: AbortSignal): Promise<void> {
    await this.rows(signal);
    await this.recorded('PENDING', signal);
    await this.recorded('COMPLETED', signal);
  }

  /** @param row one that no process works on. */
  async settle(row: ExportFileRow): Promise<void> {
    const { exports, pool } = this.parts;
    const { exportId, attempt } = row;
    const state = await exports.stateOf(row);
    const now = await findExportFile(pool, exportId);
    // Another process has taken it.
    if (now?.state !== row.state || now.attempt !== attempt) return;
    switch (state?.status) {
      case undefined:
        if (row.createdAt < timeNow() - UNRECORDED_DELAY_MS) await exports.remove(exportId);
        return;
      case 'aborted':
      case 'expired':
        return exports.remove(exportId);
      case 'completed':
        if (attempt !== null && state.file?.sha256 === row.file?.sha256) {
          if (row.state === 'STORED') return;
          if (row.state === 'WRITTEN' && (await storeAttempt(pool, attempt))) return;
        }
        return exports.expire(row, row.state === 'GONE' ? 'FORGOTTEN' : 'LOST');
      case 'requested':
        if (row.state === 'GONE') await exports.remove(exportId);
        // The log lost the completion.
        if (row.state === 'STORED' && attempt !== null) await exports.release(attempt);
        return addWaiting(pool, row);
    }
  }

  private async rows(signal: AbortSignal): Promise<void> {
    for (let after = FIRST_ID; !signal.aborted;) {
      const page = await idleFiles(this.parts.pool, after, PAGE);
      for (const row of page) if (!signal.aborted) await this.settle(row);
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.exportId;
    }
  }

  /** Adds rows for exports without one: they could be neither written nor read. */
  private async recorded(status: 'PENDING' | 'COMPLETED', signal: AbortSignal): Promise<void> {
    const { queries, pool, exports } = this.parts;
    for (let after = ''; !signal.aborted;) {
      const page = await queries.notOver(status, after, PAGE);
      const known = await findExportFiles(
        pool,
        page.map(({ export_id: id }) => id),
      );
      for (const { export_id: exportId, ...of } of page) {
        if (known.has(exportId) || signal.aborted) continue;
        const name = { exportId, scope: scopeOf(of) };
        const state = await exports.stateOf(name);
        if (state?.status === 'requested') await addWaiting(pool, name);
        else if (state?.status === 'completed' && !(await findExportFile(pool, exportId)))
          await exports.expire(name, 'LOST');
      }
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.export_id;
    }
  }
}
