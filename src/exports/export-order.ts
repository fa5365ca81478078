import type { ExportFormat, ExportType } from '../domain/export/export.decider.js';
import type { Scope } from '../domain/scope.js';
import type { Position } from '../event-log/event-log.js';

export {
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportFormat,
  type ExportType,
} from '../domain/export/export.decider.js';

/**
 * All given filters must match; filters of other types are ignored. Times are epoch milliseconds,
 * `Since` inclusive and `Before` exclusive.
 */
export interface ExportFilters {
  readonly createdSince?: number;
  readonly createdBefore?: number;
  readonly updatedSince?: number;
  readonly updatedBefore?: number;
  /** A row matches when either time is in the range. */
  readonly createdOrUpdatedSince?: number;
  readonly createdOrUpdatedBefore?: number;
  readonly programId?: string;
}

/** Formats of date columns. */
export const EXPORT_DATES = ['EPOCH_MS', 'ISO_8601'] as const;
export type ExportDates = (typeof EXPORT_DATES)[number];

/** The requested content of a file. */
export interface ExportOrder {
  readonly scope: Scope;
  readonly type: ExportType;
  readonly format: ExportFormat;
  readonly filters: ExportFilters;
  /** Default: `EPOCH_MS`. */
  readonly dates?: ExportDates;
}

export interface WrittenExport {
  /** The position of the rows; undefined: before the first event. */
  readonly position: Position | undefined;
  /** Without the header. */
  readonly rows: number;
  readonly bytes: number;
  /** Of the file, in lower-case hex. */
  readonly sha256: string;
}
