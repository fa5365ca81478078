import { only, type Decision } from '../decision.js';
import type { Ask, Fact } from '../fact.js';
import type { Personal } from '../personal.js';
import { refused } from '../refusal.js';

/**
 * An export of a tenant's data, a process in a stream of its own: requested, then completed or
 * aborted; a completed one expires. The envelope of the request names who took the data out.
 */
export type ExportEvent =
  | ExportFact<
      'ExportRequested',
      {
        exportType: ExportType;
        format: ExportFormat;
        /** Epoch milliseconds. */
        expiresAt: number;
        /** Encrypted with a key of the export: callers may write anything. */
        texts: Personal<ExportTexts>;
      }
    >
  | ExportFact<'ExportCompleted', { file: ExportedFile }>
  /** The reason is one line for people, without personal data. */
  | ExportFact<'ExportAborted', { reason: string }>
  | ExportFact<'ExportExpired', { because: ExpiryCause }>
  /**
   * Of earlier releases: downloads are rows now. How many began, and when the first did. The
   * envelope names the caller.
   */
  | ExportFact<'ExportDownloaded', { downloads: number; since: number }>;

type ExportFact<T extends string, D> = Fact<T, { exportId: string } & D>;

export const EXPORT_TYPES = [
  'USER',
  'USER_REFERRAL',
  'REFERRAL',
  'USER_REWARD_BALANCE',
  'REWARD_BALANCE',
  'REWARD',
] as const;
export type ExportType = (typeof EXPORT_TYPES)[number];

export const EXPORT_FORMATS = ['CSV', 'XLSX'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/**
 * `AGE`: its time is over. `FORGOTTEN`: somebody in it was forgotten. `LOST`: the database has no
 * file for it.
 */
export type ExpiryCause = 'AGE' | 'FORGOTTEN' | 'LOST';

/** The texts of a caller. */
export interface ExportTexts {
  readonly name: string | null;
  readonly requester: string;
  /** Filters, as they were sent. */
  readonly params: Readonly<Record<string, string | number>> | null;
}

/** What a finished file is. */
export interface ExportedFile {
  /** The rows are those of the read models at this position of the log; null: before its start. */
  readonly position: string | null;
  /** Without the header. */
  readonly rows: number;
  readonly bytes: number;
  /** Of the whole file, hex. */
  readonly sha256: string;
}

export type ExportState =
  | { readonly status: 'absent' }
  | {
      readonly status: 'requested' | 'completed' | 'aborted' | 'expired';
      readonly exportId: string;
      readonly exportType: ExportType;
      readonly format: ExportFormat;
      /** Null: the key of the export is missing. */
      readonly texts: ExportTexts | null;
      readonly requestedAt: number;
      readonly expiresAt: number;
      /** Of the completion; null: there was none. */
      readonly completedAt: number | null;
      readonly file: ExportedFile | null;
      /** Of an aborted one. */
      readonly reason: string | null;
    };

export type KnownExport = Exclude<ExportState, { status: 'absent' }>;

export const initialState: ExportState = { status: 'absent' };

export function evolve(state: ExportState, event: ExportEvent): ExportState {
  if (event.type === 'ExportRequested')
    return state.status === 'absent' ? requestedBy(event) : state;
  if (state.status === 'absent') return state;
  switch (event.type) {
    case 'ExportCompleted':
      return { ...state, status: 'completed', completedAt: event.at, file: event.file };
    case 'ExportAborted':
      return { ...state, status: 'aborted', reason: event.reason };
    case 'ExportExpired':
      return { ...state, status: 'expired' };
    case 'ExportDownloaded':
      return state;
  }
}

const requestedBy = ({
  at,
  exportId,
  exportType,
  format,
  expiresAt,
  texts,
}: Extract<ExportEvent, { type: 'ExportRequested' }>): KnownExport => ({
  status: 'requested',
  exportId,
  exportType,
  format,
  texts: texts.value,
  requestedAt: at,
  expiresAt,
  completedAt: null,
  file: null,
  reason: null,
});

export type ExportCommand =
  | Ask<
      'RequestExport',
      {
        exportId: string;
        exportType: ExportType;
        format: ExportFormat;
        texts: ExportTexts;
        /** Whether fewer than `EXPORTS_WAITING_MAX` of the tenant wait. */
        hasRoom: boolean;
      }
    >
  | Ask<'CompleteExport', { file: ExportedFile }>
  /** The service gives up. */
  | Ask<'AbortExport', { reason: string }>
  /** A person gives up; refused when it is over. */
  | Ask<'CancelExport'>
  | Ask<'ExpireExport', { because: ExpiryCause }>;

/** Exports of a tenant that are not over, at most. */
export const EXPORTS_WAITING_MAX = 100;

/** A finished file is kept for so long. */
export const EXPORT_KEPT_MS = 28 * 24 * 3_600_000;

export const CANCELLED = 'cancelled by an operator';

/** Steps of the service that come late change nothing: the stream has the outcome. */
export function decide(state: ExportState, command: ExportCommand): Decision<ExportEvent> {
  if (command.type === 'RequestExport') return request(state, command);
  if (state.status === 'absent') return refused('EXPORT_NOT_FOUND');
  const { exportId } = state;
  const { now: at } = command;
  const isRequested = state.status === 'requested';
  switch (command.type) {
    case 'CompleteExport':
      return only(isRequested, { type: 'ExportCompleted', at, exportId, file: command.file });
    case 'AbortExport':
      return only(isRequested, { type: 'ExportAborted', at, exportId, reason: command.reason });
    case 'CancelExport':
      return isRequested
        ? { events: [{ type: 'ExportAborted', at, exportId, reason: CANCELLED }] }
        : refused('EXPORT_IS_OVER');
    case 'ExpireExport':
      return only(state.status === 'completed', {
        type: 'ExportExpired',
        at,
        exportId,
        because: command.because,
      });
  }
}

function request(
  state: ExportState,
  {
    exportId,
    exportType,
    format,
    texts,
    hasRoom,
    now: at,
  }: Extract<ExportCommand, { type: 'RequestExport' }>,
): Decision<ExportEvent> {
  if (state.status === 'absent' && !hasRoom)
    return refused(
      'TOO_MANY_EXPORTS',
      `${EXPORTS_WAITING_MAX} exports of the tenant wait, the most that may: repeat the request when one is complete`,
    );
  return only(state.status === 'absent', {
    type: 'ExportRequested',
    at,
    exportId,
    exportType,
    format,
    expiresAt: at + EXPORT_KEPT_MS,
    texts: { subject: exportId, value: texts },
  });
}
