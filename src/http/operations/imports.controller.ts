import { Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiConsumes, ApiOkResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { OperatorRole } from '../../config/operators.js';
import { newId } from '../../foundation/world.js';
import { Columns } from '../../imports/files/columns.js';
import { FileFault } from '../../imports/files/file-blocks.js';
import type { ImportKind } from '../../imports/rows/import-rows.js';
import {
  findImport,
  kindOf,
  shownImport,
  type ShownImport,
} from '../../operations/imports/import-runs.js';
import { IMPORT_ROLES, isImportKind } from '../../operations/imports/import.operations.js';
import { outcomeOf } from '../../operations/outcome.js';
import { mode } from '../../operations/registry/members.js';
import { scopeOf } from '../../operations/registry/context.js';
import type { RecordedRun } from '../../runs/recorded-runs.js';
import { OperatorCall } from '../credentials/call.js';
import { Access } from '../edge/access.js';
import { ApiError, badRequest } from '../edge/api-error.js';
import { Fails } from '../shapes/openapi.js';
import { ApiQueries, DOCUMENT, ForOperators } from './described-documents.js';
import { ImportStarts, type StoredImport } from './import-starts.js';
import { OperationCalls } from './operation-calls.js';
import { OperationsCore } from './operations-core.js';
import { parsed, queryReader } from './operator-request.js';
import { done } from './refusals.js';

const ROLES: readonly OperatorRole[] = ['support', 'finance'];
const FILE = { schema: { type: 'string', format: 'binary' } } as const;
const FILES = { content: { 'text/csv': FILE, 'application/x-ndjson': FILE } };

const UPLOAD = z.strictObject({
  mode,
  dryRun: z.boolean().default(false),
  map: z.union([z.string(), z.array(z.string())]).optional(),
});
const readQuery = queryReader(UPLOAD);

/** The path parameters of an import. */
interface Place {
  readonly tenant: string;
  readonly import: string;
}

/** Imports over HTTP: the body is the file, stored until its import is done. */
@Controller('operations/imports/:tenant')
export class ImportsController {
  constructor(
    private readonly calls: OperationCalls,
    private readonly operations: OperationsCore,
    private readonly starts: ImportStarts,
  ) {}

  // One parameter name per place: paths in a description must differ otherwise.
  @Post(':import')
  @HttpCode(202)
  @Access('operator', { roles: ROLES, upload: true })
  @ApiConsumes('text/csv', 'application/x-ndjson')
  @ApiBody({ required: true, ...FILE })
  @ApiQueries(UPLOAD)
  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Fails('FORBIDDEN', 'TENANT_NOT_FOUND')
  async upload(
    @OperatorCall() call: OperatorCall,
    @Param() { tenant, import: kind }: { readonly tenant: string; readonly import: string },
    @Req() request: FastifyRequest,
  ) {
    if (!isImportKind(kind)) throw new ApiError('NOT_FOUND');
    checkRole(call, kind);
    const { map, mode: ofMode, dryRun } = parsed(UPLOAD, readQuery(request.query));
    const parameters = { dryRun, map: mapOf(kind, map) };
    const { core } = this.operations;
    const ledger = done(await outcomeOf(() => scopeOf(core, { tenant, mode: ofMode })));
    const scope = { tenant, mode: ofMode };
    // The file may take minutes to arrive, so it occupies no place.
    request.place?.leave();
    const id = newId();
    const file = { run: id, kind: 'upload' } as const;
    try {
      const body = (request.body ?? []) as AsyncIterable<Uint8Array>;
      const bytes = await this.starts.files.store(file, ledger, body);
      if (bytes === 0) throw badRequest('the file is empty');
      return await this.started(call, { id, kind, scope, parameters, continues: false });
    } catch (error) {
      await this.starts.files.removeUnused(file).catch(() => undefined);
      throw error;
    }
  }

  @Post(':import/cancel')
  @ForOperators(ROLES, DOCUMENT, 'FORBIDDEN', 'TENANT_NOT_FOUND', 'IMPORT_NOT_FOUND')
  async cancel(@OperatorCall() call: OperatorCall, @Param() place: Place) {
    const run = await this.found(place);
    checkRole(call, kindOf(run));
    await this.calls.runs.cancel(run.id);
    return shownImport(run);
  }

  @Post(':import/continue')
  @HttpCode(202)
  @Access('operator', { roles: ROLES, emptyBody: true })
  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Fails('FORBIDDEN', 'TENANT_NOT_FOUND', 'IMPORT_NOT_FOUND')
  async continue(@OperatorCall() call: OperatorCall, @Param() place: Place) {
    const run = await this.found(place);
    checkRole(call, kindOf(run));
    return this.started(call, await this.starts.toContinue(run));
  }

  @Get(':import/rejected')
  @Access('operator', { roles: ROLES, streams: true })
  @ApiOkResponse(FILES)
  @Fails('TENANT_NOT_FOUND', 'IMPORT_NOT_FOUND')
  async rejected(@OperatorCall() { reply }: OperatorCall, @Param() place: Place) {
    const { id } = await this.over(place);
    return this.starts.sent(reply, { run: id, kind: 'rejected' });
  }

  @Get(':import/ids')
  @Access('operator', { roles: ROLES, streams: true })
  @ApiOkResponse(FILES)
  @Fails('TENANT_NOT_FOUND', 'IMPORT_NOT_FOUND')
  async ids(@OperatorCall() { reply }: OperatorCall, @Param() place: Place) {
    const { id } = await this.over(place);
    return this.starts.sent(reply, { run: id, kind: 'ids' });
  }

  private async started(call: OperatorCall, stored: StoredImport): Promise<ShownImport> {
    const by = { name: call.operator.name, channel: 'http' } as const;
    const run = await this.starts.start(by, stored);
    const location = `/operations/imports/${stored.scope.tenant}/${stored.id}`;
    void call.reply.code(202).header('Location', location).header('Retry-After', '1');
    return run;
  }

  private async over(place: Place): Promise<RecordedRun> {
    const run = await this.found(place);
    if (run.state === 'running') throw badRequest('the import is running: wait for its end');
    return run;
  }

  private async found({ tenant, import: id }: Place): Promise<RecordedRun> {
    return done(await outcomeOf(() => findImport(this.operations.core, tenant, id)));
  }
}

/** @throws {ApiError} FORBIDDEN */
function checkRole({ operator }: OperatorCall, kind: ImportKind): void {
  if (!operator.roles.includes(IMPORT_ROLES[kind])) throw new ApiError('FORBIDDEN');
}

/** `Column=field`, repeatable. @throws {ApiError} BAD_REQUEST */
function mapOf(kind: ImportKind, given: string | readonly string[] = []): object {
  const pairs = [given].flat().map((pair) => {
    const [, column, field] = /^([^=]+)=(.+)$/s.exec(pair) ?? [];
    if (column === undefined || field === undefined) throw badRequest('map takes Column=field');
    return [column, field] as const;
  });
  try {
    new Columns(kind, new Map(pairs));
  } catch (error) {
    throw error instanceof FileFault ? badRequest(`map: ${error.message}`) : error;
  }
  return Object.fromEntries(pairs);
}
