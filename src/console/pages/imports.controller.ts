import { Readable } from 'node:stream';
import { HttpCode, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { newId } from '../../foundation/world.js';
import { ApiError, badRequest } from '../../http/edge/api-error.js';
import { Access } from '../../http/edge/access.js';
import { ImportStarts } from '../../http/operations/import-starts.js';
import { OperationCalls } from '../../http/operations/operation-calls.js';
import { FileFault } from '../../imports/files/file-blocks.js';
import { previewFile, type FilePreview } from '../../imports/files/file-preview.js';
import type { ImportKind } from '../../imports/rows/import-rows.js';
import { IMPORT_ROLES, IMPORTS, isImportKind } from '../../operations/imports/import.operations.js';
import {
  findImport,
  kindOf,
  listImports,
  shownImport,
} from '../../operations/imports/import-runs.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import type { RecordedRun } from '../../runs/recorded-runs.js';
import { redirected, sendPage } from '../console-answers.js';
import { staffOf, TenantCall } from '../console-call.js';
import { FilePageAt, FilePageFor, FormFor, PageAt, TenantPage } from '../console-routes.js';
import { checkToken, CSRF_FIELD } from '../sessions/console-gate.js';
import { uploadFormIn } from '../sessions/upload-form.js';
import { consoleErrorSent } from '../view/error-page.js';
import { faultAt, type Faults } from '../view/faults.js';
import { columnsView, importColumns, importView, mapIn } from '../view/imports-view.js';
import { hasRole } from '../view/navigation.js';
import { tablesOf } from '../view/page-tables.js';
import { capital, template } from '../view/templates.js';
import { given, notOfThisTenant, queryOf, TenantPages } from './tenant-pages.js';

const content = template('imports');
const fileContent = template('import-file');
const runContent = template('import');

/** The people, referrals and rewards of another program: support and finance bring them in. */
@TenantPage('imports')
export class ConsoleImportsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly starts: ImportStarts,
    private readonly calls: OperationCalls,
  ) {}

  /** Stores the file, of any size. */
  @Post('file')
  @HttpCode(200)
  @Access('console', { page: consoleErrorSent, roles: ['finance', 'support'], upload: true })
  async upload(
    @TenantCall() call: TenantCall,
    @Req() request: FastifyRequest,
  ): Promise<string | Readable> {
    const { console: entered, body } = request;
    const form =
      entered === null || !(body instanceof Readable)
        ? undefined
        : await uploadFormIn(body, entered.contentType);
    const kind = form?.texts.get('kind') ?? '';
    try {
      checkToken(call, form?.texts.get(CSRF_FIELD) ?? '');
      checkKind(call, kind);
    } catch (error) {
      form?.file.resume();
      throw error;
    }
    if (form === undefined) throw badRequest('the body is not a form');
    request.place?.leave();
    const id = newId();
    const bytes = await this.starts.files.store(
      { run: id, kind: 'upload' },
      call.ledger,
      form.file as AsyncIterable<Buffer>,
    );
    if (bytes === 0) return this.page(call, faultAt('file', 'Choose a file that is not empty.'));
    return redirected(call, `${call.tenantPath}/imports/${id}${queryOf({ kind })}`);
  }

  @PageAt(':import', 'finance', 'support')
  async one(@TenantCall() call: TenantCall, @Param('import') id: string): Promise<string> {
    const run = await this.found(call, id);
    return run === undefined ? this.file(call, id) : this.run(call, run);
  }

  @FilePageAt(':import/:result', 'finance', 'support')
  async result(
    @TenantCall() call: TenantCall,
    @Param() { import: id, result: kind }: { readonly import: string; readonly result: string },
  ): Promise<Readable> {
    const run = await this.found(call, id);
    if (run === undefined) throw notOfThisTenant();
    if (kind !== 'rejected' && kind !== 'ids') throw new ApiError('NOT_FOUND');
    const file = { run: id, kind } as const;
    if (await this.starts.files.has(file)) await this.onRecord(call, id, ' file');
    return this.starts.sent(call.reply, file);
  }

  @FormFor('finance', 'support')
  async act(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const { form } = call;
    const id = form.text('import');
    switch (form.text('action')) {
      case 'check':
        return this.check(call, id);
      case 'import':
        return this.begin(call, id);
      case 'cancel': {
        const run = await this.changed(call, id);
        await this.calls.runs.cancel(run.id);
        return redirected(call, `${call.tenantPath}/imports/${id}`, 'importCancelled');
      }
      case 'continue': {
        const run = await this.changed(call, id);
        await this.starts.start(staffOf(call), await this.starts.toContinue(run));
        return redirected(call, `${call.tenantPath}/imports/${id}`);
      }
      default:
        throw badRequest('action: one of the buttons');
    }
  }

  /** A dry run reads a copy: the file stays for the import. */
  private async check(call: TenantCall, id: string): Promise<string> {
    const kind = checkKind(call, call.form.text('kind'));
    const preview = await this.previewed(call, id, kind);
    if ('problems' in preview) return this.file(call, id, preview);
    const { files } = this.starts;
    const check = newId();
    const bytes = files.read({ run: id, kind: 'upload' });
    await files.store({ run: check, kind: 'upload' }, call.ledger, bytes);
    const parameters = { dryRun: true, map: mapIn(call.form, preview) };
    const stored = { id: check, kind, scope: call.scope, parameters, continues: false };
    await this.starts.start(staffOf(call), stored);
    return redirected(call, `${call.tenantPath}/imports/${id}${queryOf({ kind, check })}`);
  }

  /** The import of a file whose check is done, with the columns of the check. */
  private async begin(call: TenantCall, id: string): Promise<string> {
    const check = await this.changed(call, call.form.text('check'));
    const path = `${call.tenantPath}/imports/${id}`;
    // Sent twice: it has begun.
    if ((await this.found(call, id)) !== undefined) return redirected(call, path);
    if (check.state !== 'done') throw badRequest('the check of the file is not done');
    const { map } = check.parameters as { readonly map?: object };
    const parameters = { dryRun: false, map };
    const kind = kindOf(check);
    if (!(await this.starts.files.isOf({ run: id, kind: 'upload' }, call.ledger)))
      return this.file(call, id, faultAt(null, FILE_IS_GONE));
    const stored = { id, kind, scope: call.scope, parameters, continues: false };
    await this.starts.start(staffOf(call), stored);
    return redirected(call, path);
  }

  /** Undefined: no import has begun under this id. @throws {ApiError} FORBIDDEN of another mode. */
  private async found(call: TenantCall, id: string): Promise<RecordedRun | undefined> {
    if (!UUID.test(id)) throw notOfThisTenant();
    const run = await outcomeOf(() => findImport(this.pages.core, call.scope.tenant, id));
    if (run instanceof NotDone) return undefined;
    if (run.scope?.mode !== call.scope.mode) throw notOfThisTenant();
    return run;
  }

  /** A run that the operator may change. */
  private async changed(call: TenantCall, id: string): Promise<RecordedRun> {
    const run = await this.found(call, id);
    if (run === undefined) throw notOfThisTenant();
    checkKind(call, kindOf(run));
    return run;
  }

  private async previewed(
    call: TenantCall,
    id: string,
    kind: ImportKind,
  ): Promise<FilePreview | Faults> {
    const { files } = this.starts;
    const file = { run: id, kind: 'upload' } as const;
    if (!(await files.isOf(file, call.ledger))) return faultAt(null, FILE_IS_GONE);
    try {
      return await previewFile(kind, () => files.read(file));
    } catch (error) {
      if (error instanceof FileFault) return faultAt(null, `The file: ${error.message}.`);
      throw error;
    }
  }

  /** A file that is not imported yet: its columns, and the result of its check. */
  private async file(call: TenantCall, id: string, refused?: Faults): Promise<string> {
    const { kind: named, check: checkId } = given(call, 'kind', 'check');
    if (named === '') throw notOfThisTenant();
    const kind = checkKind(call, named);
    const found = checkId === '' ? undefined : await this.found(call, checkId);
    const check = found && importView(shownImport(found), call.money);
    const preview = await this.previewed(call, id, kind);
    // The page asks for a running check every two seconds: the view before it is on record.
    if (!('problems' in preview) && check?.isRunning !== true) await this.onRecord(call, id);
    const faults = refused ?? ('problems' in preview ? preview : undefined);
    const { map = {} } = (found?.parameters ?? {}) as { map?: Record<string, string> };
    const frame = { title: `Import ${kind}`, section: '/imports', faults };
    return sendPage(call, frame, fileContent, {
      id,
      kind,
      checkId,
      check: check ?? null,
      canImport: check?.state === 'done' && check.answer !== null,
      columns: 'problems' in preview ? [] : columnsView(preview, new Map(Object.entries(map))),
      required: 'problems' in preview ? '' : preview.required.join(', '),
      importsPath: `${call.tenantPath}/imports`,
      here: `${call.tenantPath}/imports/${id}${queryOf({ kind, check: checkId })}`,
    });
  }

  /** Rows may name people. */
  private onRecord(call: TenantCall, id: string, as: '' | ' file' = ''): Promise<void> {
    return this.pages.viewed(call, `import${as}`, () => ({ import: id }));
  }

  private run(call: TenantCall, run: RecordedRun): string {
    const shown = importView(shownImport(run), call.money);
    const title = shown.dryRun ? 'Check of a file' : `Import of ${shown.kind}`;
    const path = `${call.tenantPath}/imports`;
    return sendPage(call, { title, section: '/imports' }, runContent, {
      shown,
      importsPath: path,
      here: `${path}/${run.id}`,
      mayChange: hasRole(call.operator, [IMPORT_ROLES[shown.kind]]),
    });
  }

  @FilePageFor('finance', 'support')
  async page(@TenantCall() call: TenantCall, faults?: Faults): Promise<string | Readable> {
    const path = `${call.tenantPath}/imports`;
    const { view: table, file } = tablesOf(
      call,
      path,
    )({
      label: 'Imports',
      rows: await listImports(this.pages.core, call.ledger),
      columns: importColumns(path),
      order: '-started',
      empty: { text: 'Nothing was imported yet. Choose a kind and a file above.' },
    });
    if (file) return file;
    const kinds = Object.keys(IMPORTS).filter(isImportKind);
    return sendPage(call, { of: 'imports', faults }, content, {
      uploadPath: `${path}/file`,
      kinds: kinds
        .filter((kind) => hasRole(call.operator, [IMPORT_ROLES[kind]]))
        .map((value) => ({ value, words: capital(value) })),
      table,
    });
  }
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const FILE_IS_GONE = 'The file is no longer kept. Choose it again; rows that are in stay.';

/** @throws {ApiError} FORBIDDEN for a kind of another role. */
function checkKind(call: TenantCall, kind: string): ImportKind {
  if (!isImportKind(kind)) throw badRequest('kind: users, referrals or rewards');
  if (!hasRole(call.operator, [IMPORT_ROLES[kind]])) throw new ApiError('FORBIDDEN');
  return kind;
}
