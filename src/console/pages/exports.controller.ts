import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { EXPORT_FORMATS } from '../../domain/export/export.decider.js';
import type { Scope } from '../../domain/scope.js';
import type { ShownExport } from '../../exports/shown-export.js';
import {
  listExports,
  requestExport,
  showExport,
} from '../../operations/exports/export-commands.js';
import { cancel } from '../../operations/exports/export.operations.js';
import { NotDone, notDoneAbout, type Outcome, outcomeOf } from '../../operations/outcome.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, TenantPage } from '../console-routes.js';
import {
  exportColumns,
  exportForm,
  FILTERS,
  filtersOfType,
  typeOf,
  type ExportFilter,
  type TypedExport,
} from '../view/exports-view.js';
import { faultsIn, faultsOf, withFaults, type FieldNames, type Faults } from '../view/faults.js';
import { tablesOf } from '../view/page-tables.js';
import { template } from '../view/templates.js';
import { given, queried, queryOf, TenantPages } from './tenant-pages.js';

const SHOWN_MAX = 1_000;
const NAMES = Object.keys(FILTERS) as readonly ExportFilter[];
const content = template('exports');

/** For finance and support: files with the data of a tenant. */
@TenantPage('exports')
export class ConsoleExportsController {
  constructor(private readonly pages: TenantPages) {}

  @FormFor('finance', 'support')
  async change(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const asks = call.form.text('action') === 'export';
    const outcome = asks ? await this.ask(call, typedIn(call)) : await this.cancel(call);
    if (outcome instanceof NotDone) return this.page(call, faultsOfExport(outcome));
    const path = `${call.tenantPath}/exports`;
    if (!asks) return redirected(call, path, 'exportCancelled');
    return redirected(call, path + queryOf({ asked: outcome.id }), 'exportStarted');
  }

  private async ask(call: TenantCall, typed: TypedExport): Promise<Outcome<ShownExport>> {
    const exportType = typeOf(typed);
    const format = EXPORT_FORMATS.find((known) => known === typed.fileFormat) ?? 'CSV';
    const filled = filtersOfType(exportType).filter((filter) => typed[filter] !== '');
    const params: Record<string, string> = {};
    for (const filter of filled) {
      const value = valueOf(filter, typed[filter]);
      if (value === undefined) return notDoneAbout(filter, `${FILTERS[filter]} takes a day`);
      params[filter] = value;
    }
    const texts = {
      name: typed.name || null,
      requester: call.operator.name,
      params: filled.length === 0 ? null : params,
    };
    const asked = { exportType, format, texts };
    return this.pages.once(call, { operation: 'export run', asked }, (core, meta) =>
      requestExport(core, meta, asked),
    );
  }

  private cancel(call: TenantCall) {
    const id = call.form.text('export');
    return this.pages.called<ShownExport>(call, cancel, { ...call.scope, exportId: id });
  }

  /** @param asked the export that was just asked for, which the read model may lack. */
  private async found(scope: Scope, asked: string): Promise<Outcome<readonly ShownExport[]>> {
    const { core } = this.pages;
    const listed = await outcomeOf(() => listExports(core, scope, SHOWN_MAX));
    if (asked === '' || listed instanceof NotDone || listed.some(({ id }) => id === asked))
      return listed;
    const one = await outcomeOf(() => showExport(core, scope, asked));
    return one instanceof NotDone ? listed : [one, ...listed];
  }

  @FilePageFor('finance', 'support')
  async page(@TenantCall() call: TenantCall, refused?: Faults): Promise<string | Readable> {
    const { core } = this.pages;
    const path = `${call.tenantPath}/exports`;
    const { asked } = queried(call.query, 'asked');
    const found = await this.found(call.ledger, asked);
    const listed = found instanceof NotDone ? [] : found;
    const key = randomUUID();
    const { view, file, here } = tablesOf(call, path, { asked })({
      label: 'Exports',
      rows: listed,
      columns: exportColumns(path, key),
      order: '-requested',
      empty: { text: 'Nothing was exported yet. Choose a kind above, or export by POST /export.' },
    });
    if (file) return file;
    const programs = Object.keys((await core.tenants.find(call.scope.tenant))?.programs ?? {});
    const faults = withFaults(refused ?? faultsOf(undefined), faultsOf(found));
    const frame = { of: 'exports', headNote: 'UTC days', faults };
    return sendPage(call, frame, content, {
      key,
      form: exportForm(typedIn(call), programs),
      table: view,
      isRunning: listed.some(({ status }) => status === 'PENDING'),
      here,
    });
  }
}

/** Undefined: it is no day. */
function valueOf(filter: ExportFilter, text: string): string | undefined {
  if (filter === 'programId') return text;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  // The end of a range is the whole day.
  return new Date(filter.endsWith('Before') ? at + 86_400_000 : at).toISOString();
}

const BY_LINES: FieldNames = {
  'name ': 'name',
  ...Object.fromEntries(NAMES.map((name) => [`params.${name} `, name])),
};

const faultsOfExport = (outcome: NotDone): Faults =>
  outcome.about.length > 0 ? faultsOf(outcome) : faultsIn(faultsOf(outcome).problems, BY_LINES);

/** The form that was sent, or the address of a form with other fields. */
const typedIn = (call: TenantCall): TypedExport =>
  given(call, 'kind', 'fileFormat', 'name', ...NAMES);
