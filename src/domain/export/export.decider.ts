import { eventsIf, type Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';
import type { Personal } from '../personal.js';
import { refused } from '../refusal.js';

/** Requested, completed or aborted, expired. The envelope names the requester. */
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
  /** One line for people, without personal data. */
  | ExportFact<'ExportAborted', { reason: string }>
  | ExportFact<'ExportExpired', { because: ExpiryCause }>
  /** Of earlier releases: number and first time of downloads, which are rows now. */
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

/** `AGE`: over. `FORGOTTEN`: contains a forgotten person. `LOST`: has no file. */
export type ExpiryCause = 'AGE' | 'FORGOTTEN' | 'LOST';

/** Texts of the caller. */
export interface ExportTexts {
  readonly name: string | null;
  readonly requester: string;
  /** Filters, as sent. */
  readonly params: Readonly<Record<string, string | number>> | null;
}

export interface ExportedFile {
  /** Log position of the read models that the rows are from; null: before its start. */
  readonly position: string | null;
  /** Without the header. */
  readonly rows: number;
  readonly bytes: number;
  /** SHA-256 of the whole file, hex. */
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
      /** Null: not completed. */
      readonly completedAt: number | null;
      readonly file: ExportedFile | null;
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
  | Command<
      'RequestExport',
      {
        exportId: string;
        exportType: ExportType;
        format: ExportFormat;
        texts: ExportTexts;
        /** Fewer than `EXPORTS_WAITING_MAX` of the tenant wait. */
        hasRoom: boolean;
      }
    >
  | Command<'CompleteExport', { file: ExportedFile }>
  /** By the service. */
  | Command<'AbortExport', { reason: string }>
  /** By a person; refused when the export has ended. */
  | Command<'CancelExport'>
  | Command<'ExpireExport', { because: ExpiryCause }>;

/** Unfinished exports per tenant. */
export const EXPORTS_WAITING_MAX = 100;

export const EXPORT_KEPT_MS = 28 * 24 * 3_600_000;

export const CANCELLED = 'cancelled by an operator';

/** Late steps of the service change nothing: the stream has the outcome. */
export function decide(state: ExportState, command: ExportCommand): Decision<ExportEvent> {
  if (command.type === 'RequestExport') return request(state, command);
  if (state.status === 'absent') return refused('EXPORT_NOT_FOUND');
  const { exportId } = state;
  const { now: at } = command;
  const isRequested = state.status === 'requested';
  switch (command.type) {
    case 'CompleteExport':
      return eventsIf(isRequested, { type: 'ExportCompleted', at, exportId, file: command.file });
    case 'AbortExport':
      return eventsIf(isRequested, { type: 'ExportAborted', at, exportId, reason: command.reason });
    case 'CancelExport':
      return isRequested
        ? { events: [{ type: 'ExportAborted', at, exportId, reason: CANCELLED }] }
        : refused('EXPORT_IS_OVER');
    case 'ExpireExport':
      return eventsIf(state.status === 'completed', {
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
  return eventsIf(state.status === 'absent', {
    type: 'ExportRequested',
    at,
    exportId,
    exportType,
    format,
    expiresAt: at + EXPORT_KEPT_MS,
    texts: { subject: exportId, value: texts },
  });
}
