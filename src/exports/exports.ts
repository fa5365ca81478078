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
  reservePlace,
  takeAway,
  takeAwayFilesOf,
  type ExportFileRow,
  type ExportName,
} from './storage/export-file-rows.js';

export interface ExportsParts {
  readonly commands: Commands;
  readonly streams: Pick<ReadableStreams, 'exports'>;
  readonly names: KeyedNames;
  readonly pool: Pool;
  readonly keys: Pick<SubjectKeys, 'destroy'>;
  /** Tells every process whose keys to evict. */
  readonly announce: (subjects: readonly string[]) => Promise<void>;
}

/** What a caller wants to have exported. */
export interface RequestedExport {
  readonly exportType: ExportType;
  readonly format: ExportFormat;
  readonly texts: ExportTexts;
}

export interface FoundExport {
  readonly state: KnownExport;
  /** Undefined: none is known. */
  readonly progress: ExportProgress | undefined;
  readonly file: ExportFileRow | undefined;
}

export interface ChangedExport {
  readonly state: KnownExport;
  readonly position: Position | null;
  readonly replayed: boolean;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/**
 * The exports of all tenants: each is decided in its own stream. Its file and the work on it stand
 * in rows beside, which follow the stream.
 */
export class Exports {
  constructor(private readonly parts: ExportsParts) {}

  /** @returns a refusal when too many exports of the tenant wait. */
  async request(
    meta: CommandMeta,
    { exportType, format, texts }: RequestedExport,
  ): Promise<ChangedExport | Refused> {
    const { commands, pool } = this.parts;
    const { scope } = meta;
    // The same for a repeated request.
    const exportId = deterministicId(meta.commandId, 'export');
    const now = timeNow();
    const outcome = await commands.execute(
      new ExportCommandEnvelope(
        meta,
        exportId,
        { type: 'RequestExport', exportId, exportType, format, texts, hasRoom: true, now },
        () => reservePlace(pool, { scope, exportId }),
      ),
    );
    return 'refused' in outcome ? outcome : changedBy(outcome);
  }

  /** As the log has it. */
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

  /** Of those that are being written, by id. */
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

  /** Refused for one that is over, or unknown. */
  async cancel(meta: CommandMeta, exportId: string): Promise<ChangedExport | Refused> {
    if (!UUID.test(exportId)) return { refused: 'EXPORT_NOT_FOUND' };
    const { commands } = this.parts;
    const command = { type: 'CancelExport', now: timeNow() } as const;
    const outcome = await commands.execute(new ExportCommandEnvelope(meta, exportId, command));
    if ('refused' in outcome) return outcome;
    await this.remove(exportId);
    return changedBy(outcome);
  }

  /** Its file is removed. Nothing happens to one that is not complete. */
  async expire({ scope, exportId }: ExportName, because: ExpiryCause): Promise<void> {
    const command = { type: 'ExpireExport', because, now: timeNow() } as const;
    await this.parts.commands.execute(
      new ExportCommandEnvelope(exportMeta(scope, `export expired: ${because}`), exportId, command),
    );
    await this.remove(exportId);
  }

  /** The files that hold one of these people expire. */
  async forget(scope: Scope, persons: readonly string[]): Promise<void> {
    for (const taken of await takeAwayFilesOf(this.parts.pool, scope, persons))
      await this.expire(taken, 'FORGOTTEN');
  }

  /** Destroys the key of a file, and deletes its chunks. */
  async remove(exportId: string): Promise<void> {
    const { pool } = this.parts;
    const attempt = await takeAway(pool, exportId);
    if (attempt) {
      await this.destroyKey(attempt);
      await deleteChunks(pool, attempt);
    }
    await deleteRow(pool, exportId);
  }

  /** @param attempt whose chunks nobody may read any more. */
  async destroyKey(attempt: string): Promise<void> {
    await this.parts.keys.destroy([attempt]);
    await this.parts.announce([attempt]);
  }
}

function changedBy({ state, position, replayed }: Exclude<ExportOutcome, Refused>): ChangedExport {
  if (state.status === 'absent') throw new Error('an export that was changed is missing');
  return { state, position, replayed };
}

/** Of a step that the service takes by itself. */
export const exportMeta = (scope: Scope, cause: string): CommandMeta =>
  metaOf(scope, { kind: 'system', id: 'exports' }, cause);
