import type { ExportRow } from '../../projections/exports/table.js';
import type {
  ExportedFile,
  ExportFormat,
  ExportTexts,
  ExportType,
  KnownExport,
} from '../domain/export/export.decider.js';

export type ExportStatus = 'PENDING' | 'COMPLETED' | 'ABORTED' | 'EXPIRED';

const STATUS_OF: Readonly<Record<KnownExport['status'], ExportStatus>> = {
  requested: 'PENDING',
  completed: 'COMPLETED',
  aborted: 'ABORTED',
  expired: 'EXPIRED',
};

export interface ExportProgress {
  readonly rowsDone: number;
  readonly rowsTotal: number;
}

export type ExportStats = Readonly<Record<string, string | number | null>>;

/** A completed export expires at its time, even if that is not recorded. @param now epoch ms. */
export function statusOf({ status, expiresAt }: KnownExport, now: number): ExportStatus {
  return status === 'completed' && now >= expiresAt ? 'EXPIRED' : STATUS_OF[status];
}

function statsOf(
  { file, reason }: { readonly file: ExportedFile | null; readonly reason: string | null },
  progress: ExportProgress | undefined,
): ExportStats | null {
  if (reason !== null) return { reason };
  if (file !== null) {
    const { position, rows, bytes, sha256 } = file;
    return { position, rows, bytes, sha256 };
  }
  return progress === undefined
    ? null
    : { rowsDone: progress.rowsDone, rowsTotal: progress.rowsTotal };
}

/** An export as clients and operators see it. Times are epoch milliseconds. */
export interface ShownExport extends ExportTexts {
  /** As the client sent them. */
  readonly params: NonNullable<ExportTexts['params']>;
  readonly id: string;
  readonly type: ExportType;
  readonly format: ExportFormat;
  readonly status: ExportStatus;
  readonly dateCreated: number;
  readonly dateCompleted: number | null;
  readonly dateExpires: number;
  readonly stats: ExportStats | null;
}

/** @param now epoch milliseconds. */
export function shownExport(
  state: KnownExport,
  progress: ExportProgress | undefined,
  now: number,
): ShownExport {
  const { exportId, exportType, format, texts, requestedAt, completedAt, expiresAt } = state;
  return {
    id: exportId,
    type: exportType,
    format,
    name: texts?.name ?? null,
    requester: texts?.requester ?? 'API',
    params: texts?.params ?? {},
    status: statusOf(state, now),
    dateCreated: requestedAt,
    dateCompleted: completedAt,
    dateExpires: expiresAt,
    stats: statsOf(state, progress),
  };
}

const STATE_OF = Object.fromEntries(
  Object.entries(STATUS_OF).map(([state, status]) => [status, state]),
) as Readonly<Record<ExportRow['status'], KnownExport['status']>>;

/** The state from which a row was made. */
export function stateOfRow(row: ExportRow): KnownExport {
  const { position, row_count: rows, byte_count: bytes, sha256 } = row;
  return {
    status: STATE_OF[row.status],
    exportId: row.export_id,
    exportType: row.type,
    format: row.format,
    texts: {
      name: row.name,
      requester: row.requester ?? 'API',
      params: row.params === null ? null : paramsIn(row.params),
    },
    requestedAt: row.date_created,
    completedAt: row.date_completed,
    expiresAt: row.date_expires,
    file:
      rows === null || bytes === null || sha256 === null ? null : { position, rows, bytes, sha256 },
    reason: row.reason,
  };
}

/** Written by the projector only. */
const paramsIn = (json: string): Readonly<Record<string, string | number>> =>
  JSON.parse(json) as Readonly<Record<string, string | number>>;
