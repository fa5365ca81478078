import type { Pool } from 'pg';
import {
  ExportCommandEnvelope,
  type Commands,
  type ExportOutcome,
} from '../command-handling/commands.js';
import { deterministicId } from '../command-handling/deterministic-id.js';
import type { ReadableStreams } from '../command-handling/readable-streams.js';
import type {
  ExpiryCause,
  ExportFormat,
  ExportTexts,
  ExportType,
  KnownExport,
} from '../domain/export/export.decider.js';
import type { Refused } from '../domain/refusal.js';
import type { Scope } from '../domain/scope.js';
import { metaOf, type CommandMeta } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import type { ExportProgress } from './shown-export.js';
import {
  deleteChunks,
  deleteRow,
  findExportFile,
  findExportFiles,
  releaseAttempt,
  reserveWaiting,
  removeFile,
  removeFilesOf,
  type ExportFileRow,
  type ExportName,
} from './storage/export-file-rows.js';

export interface ExportsParts {
  readonly commands: Commands;
  readonly streams: Pick<ReadableStreams, 'exports'>;
  readonly names: KeyedNames;
  readonly pool: Pool;
  readonly keys: Pick<SubjectKeys, 'destroy'>;
  /** Makes every process evict the keys of these subjects. */
  readonly announce: (subjects: readonly string[]) => Promise<void>;
}

export interface ExportRequest {
  readonly exportType: ExportType;
  readonly format: ExportFormat;
  readonly texts: ExportTexts;
}

export interface FoundExport {
  readonly state: KnownExport;
  readonly progress: ExportProgress | undefined;
  readonly file: ExportFileRow | undefined;
}

export interface ChangedExport {
  readonly state: KnownExport;
  readonly position: Position | null;
  readonly replayed: boolean;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** The exports of all tenants: each has a stream, and rows for its file and work that follow it. */
export class Exports {
  constructor(private readonly parts: ExportsParts) {}

  /** @returns a refusal when too many exports of the tenant are waiting. */
  async request(
    meta: CommandMeta,
    { exportType, format, texts }: ExportRequest,
  ): Promise<ChangedExport | Refused> {
    const { commands, pool } = this.parts;
    const { scope } = meta;
    // A repeated request has the same id.
    const exportId = deterministicId(meta.commandId, 'export');
    const now = timeNow();
    const outcome = await commands.execute(
      new ExportCommandEnvelope(
        meta,
        exportId,
        { type: 'RequestExport', exportId, exportType, format, texts, hasRoom: true, now },
        () => reserveWaiting(pool, { scope, exportId }),
      ),
    );
    return 'refused' in outcome ? outcome : changedBy(outcome);
  }

  async find(scope: Scope, exportId: string): Promise<FoundExport | undefined> {
    const state = await this.stateOf({ scope, exportId });
    if (state === undefined) return undefined;
    const file = await findExportFile(this.parts.pool, exportId);
    const { rowsDone = null, rowsTotal = null } = file ?? {};
    const progress =
      state.status === 'requested' && rowsDone !== null && rowsTotal !== null
        ? { rowsDone, rowsTotal }
        : undefined;
    return { state, progress, file };
  }

  /** Progress of running exports by id. */
  async progressOf(exportIds: readonly string[]): Promise<ReadonlyMap<string, ExportProgress>> {
    const files = await findExportFiles(this.parts.pool, exportIds);
    return new Map(
      [...files].flatMap(([id, { rowsDone, rowsTotal }]) =>
        rowsDone === null || rowsTotal === null ? [] : [[id, { rowsDone, rowsTotal }] as const],
      ),
    );
  }

  /** Undefined: it was never requested. */
  async stateOf({ scope, exportId }: ExportName): Promise<KnownExport | undefined> {
    if (!UUID.test(exportId)) return undefined;
    const { streams, names } = this.parts;
    const { state } = await streams.exports.load(names.exportStream(scope, exportId));
    return state.status === 'absent' ? undefined : state;
  }

  /** Refused if the export has ended or is unknown. */
  async cancel(meta: CommandMeta, exportId: string): Promise<ChangedExport | Refused> {
    if (!UUID.test(exportId)) return { refused: 'EXPORT_NOT_FOUND' };
    const { commands } = this.parts;
    const command = { type: 'CancelExport', now: timeNow() } as const;
    const outcome = await commands.execute(new ExportCommandEnvelope(meta, exportId, command));
    if ('refused' in outcome) return outcome;
    await this.remove(exportId);
    return changedBy(outcome);
  }

  /** Removes the file of a completed export. */
  async expire({ scope, exportId }: ExportName, because: ExpiryCause): Promise<void> {
    const command = { type: 'ExpireExport', because, now: timeNow() } as const;
    await this.parts.commands.execute(
      new ExportCommandEnvelope(exportMeta(scope, `export expired: ${because}`), exportId, command),
    );
    await this.remove(exportId);
  }

  /** Expires the files that contain one of these people. */
  async forget(scope: Scope, persons: readonly string[]): Promise<void> {
    for (const taken of await removeFilesOf(this.parts.pool, scope, persons))
      await this.expire(taken, 'FORGOTTEN');
  }

  /** Destroys the key of a file, and deletes its chunks. */
  async remove(exportId: string): Promise<void> {
    const { pool } = this.parts;
    const attempt = await removeFile(pool, exportId);
    if (attempt) {
      await this.destroyKey(attempt);
      await deleteChunks(pool, attempt);
    }
    await deleteRow(pool, exportId);
  }

  /** Makes the export of an attempt wait again. */
  async release(attempt: string): Promise<void> {
    await this.destroyKey(attempt);
    await releaseAttempt(this.parts.pool, attempt);
  }

  /** @param attempt whose chunks must become unreadable. */
  async destroyKey(attempt: string): Promise<void> {
    await this.parts.keys.destroy([attempt]);
    await this.parts.announce([attempt]);
  }
}

function changedBy({ state, position, replayed }: Exclude<ExportOutcome, Refused>): ChangedExport {
  if (state.status === 'absent') throw new Error('an export that was changed is missing');
  return { state, position, replayed };
}

/** For steps that the service takes by itself. */
export const exportMeta = (scope: Scope, cause: string): CommandMeta =>
  metaOf(scope, { kind: 'system', id: 'exports' }, cause);
