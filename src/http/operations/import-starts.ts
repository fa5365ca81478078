import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { ScopeOfMode } from '../../domain/scope.js';
import type { ImportKind } from '../../imports/rows/import-rows.js';
import type { Staff } from '../../operations/audit.js';
import { IMPORTS } from '../../operations/imports/import.operations.js';
import {
  findImport,
  IMPORT_NOT_FOUND,
  kindOf,
  shownImport,
  type ShownImport,
} from '../../operations/imports/import-runs.js';
import { outcomeOf } from '../../operations/outcome.js';
import type { RecordedRun } from '../../runs/recorded-runs.js';
import { RunFiles, type RunFile } from '../../runs/run-files.js';
import { badRequest, unavailable } from '../edge/api-error.js';
import type { OperationCalls } from './operation-calls.js';
import type { OperationsCore } from './operations-core.js';
import { done } from './refusals.js';

/** A run whose file is stored. */
export interface StoredImport {
  readonly id: string;
  readonly kind: ImportKind;
  readonly scope: ScopeOfMode;
  /** `dryRun` and `map`. */
  readonly parameters: object;
  readonly continues: boolean;
}

/** Starts imports of stored files, over HTTP and in the console. */
export class ImportStarts {
  readonly files: RunFiles;

  constructor(
    private readonly calls: OperationCalls,
    private readonly operations: OperationsCore,
  ) {
    const { pool, answerSealer } = operations.core;
    this.files = new RunFiles(pool, answerSealer);
  }

  /** @throws {ApiError} UNAVAILABLE when too many runs are running. */
  async start(
    by: Staff,
    { id, kind, scope, parameters, continues }: StoredImport,
  ): Promise<ShownImport> {
    const request = { ...scope, ...parameters, file: '', upload: id };
    const run = await this.calls.start(IMPORTS[kind], request, { by }, { id, continues });
    if (run === undefined) throw unavailable();
    const found = await outcomeOf(() => findImport(this.operations.core, scope.tenant, id));
    return shownImport(done(found));
  }

  /** A stopped run, for `start`. @throws {ApiError} BAD_REQUEST for another state. */
  async toContinue(run: RecordedRun): Promise<StoredImport> {
    const { id, scope, state, parameters } = run;
    if (state === 'running' || state === 'done' || scope === null)
      throw badRequest(`the import is ${state}: there is no more to import`);
    if (!(await this.files.has({ run: id, kind: 'upload' })))
      throw badRequest('the file is no longer kept: send it again; rows that are in stay');
    return { id, kind: kindOf(run), scope, parameters, continues: true };
  }

  /** Prepares the answer with a result file. @returns its body. */
  async sent(reply: FastifyReply, file: RunFile): Promise<Readable> {
    if (!(await this.files.has(file))) done(IMPORT_NOT_FOUND);
    const bytes = this.files.read(file);
    const head = await bytes.next();
    const first = head.done ? Buffer.alloc(0) : head.value;
    const isJson = first[0] === '{'.charCodeAt(0);
    const name = `${file.kind}.${isJson ? 'jsonl' : 'csv'}`;
    void reply
      .type(isJson ? 'application/x-ndjson' : 'text/csv; charset=utf-8')
      .header('Cache-Control', 'no-store')
      .header('Content-Disposition', `attachment; filename="${name}"`);
    const all = async function* (): AsyncGenerator<Buffer> {
      yield first;
      yield* bytes;
    };
    return Readable.from(all(), { objectMode: false });
  }
}
