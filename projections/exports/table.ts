import type { ExportFormat, ExportType } from '../../src/domain/export/export.decider.js';
import type { LedgerMode } from '../../src/domain/scope.js';
import { TableOf } from '../../src/projecting/table.js';

export type RecordedExportStatus = 'PENDING' | 'COMPLETED' | 'ABORTED' | 'EXPIRED';

/** Times are epoch milliseconds. */
export type ExportRow = {
  readonly export_id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly type: ExportType;
  readonly format: ExportFormat;
  readonly name: string | null;
  readonly requester: string | null;
  /** JSON, as sent; null: none. */
  readonly params: string | null;
  /** As recorded; a completed export expires with its time before that is recorded. */
  readonly status: RecordedExportStatus;
  readonly date_created: number;
  readonly date_completed: number | null;
  readonly date_expires: number;
  readonly position: string | null;
  readonly row_count: number | null;
  readonly byte_count: number | null;
  readonly sha256: string | null;
  readonly reason: string | null;
};

export const exports = new TableOf<ExportRow>({
  name: 'exports',
  columns: {
    export_id: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    type: 'text not null',
    format: 'text not null',
    name: 'text',
    requester: 'text',
    params: 'text',
    status: 'text not null',
    date_created: 'bigint not null',
    date_completed: 'bigint',
    date_expires: 'bigint not null',
    position: 'text',
    row_count: 'bigint',
    byte_count: 'bigint',
    sha256: 'text',
    reason: 'text',
  },
  primaryKey: ['export_id'],
  indexes: {
    newest: { definition: '(tenant, mode, date_created desc, export_id)' },
    not_over: {
      definition: "(status, export_id) where status in ('PENDING', 'COMPLETED')",
    },
  },
});
