import { EXPORT_FORMATS, EXPORT_TYPES } from '../../domain/export/export.decider.js';
import type { Scope } from '../../domain/scope.js';
import type { ShownExport } from '../../exports/shown-export.js';
import {
  listExports,
  requestExport,
  showExport,
} from '../../operations/exports/export-commands.js';
import { cancel } from '../../operations/exports/export.operations.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import {
  EXPORT_FILTERS,
  EXPORTS_SHOWN_MAX,
  FILTERS,
  exportsContent,
  exportsView,
  type TypedExport,
} from '../view/exports-view.js';
import type { Form } from '../sessions/form.js';
import { faultsIn, faultsOf, type FieldNames, type Faults } from '../view/faults.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, notDone, type Outcome, outcomeOf } from '../../operations/outcome.js';

/** For support: files with the data of a tenant. */
@TenantPage('exports')
export class ConsoleExportsController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('support')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('support')
  async change(@TenantCall() call: TenantCall): Promise<string> {
    const asks = call.form.text('action') === 'ask';
    const outcome = asks ? await this.ask(call, typedIn(call.form)) : await this.cancel(call);
    if (outcome instanceof NotDone) return this.shown(call, faultsOfExport(outcome));
    const asked = outcome.id;
    return redirected(call, `${call.tenantPath}/exports${asks ? queryOf({ asked }) : ''}`);
  }

  private async ask(call: TenantCall, typed: TypedExport) {
    const { name } = typed;
    const exportType = EXPORT_TYPES.find((known) => known === typed.type);
    const format = EXPORT_FORMATS.find((known) => known === typed.format);
    if (exportType === undefined || format === undefined)
      return notDone(TEXTS.exports.nothingChosen);
    const filters = EXPORT_FILTERS.filter((filter) => typed[filter] !== '');
    const params = Object.fromEntries(filters.map((filter) => [filter, typed[filter]]));
    const texts = {
      name: name || null,
      requester: call.operator.name,
      params: filters.length === 0 ? null : params,
    };
    return this.pages.recorded(call, 'export run', (core, meta) =>
      requestExport(core, meta, { exportType, format, texts }),
    );
  }

  private cancel(call: TenantCall) {
    const id = call.form.text('export');
    return this.pages.called<ShownExport>(call, cancel, { ...call.scope, exportId: id });
  }

  /** @param asked the export that was just asked for, which the read model may lack. */
  private async found(scope: Scope, asked: string): Promise<Outcome<readonly ShownExport[]>> {
    const { core } = this.pages;
    const listed = await outcomeOf(() => listExports(core, scope, EXPORTS_SHOWN_MAX));
    if (asked === '' || listed instanceof NotDone || listed.some(({ id }) => id === asked))
      return listed;
    const one = await outcomeOf(() => showExport(core, scope, asked));
    return one instanceof NotDone ? listed : [one, ...listed];
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { asked, ...order } = queried(call.query, 'asked', 'sort', 'dir');
    const found = await this.found(call.ledger, asked);
    const view = exportsView(
      found instanceof NotDone ? [] : found,
      { typed: typedIn(call.form), notices: faultsOf(found).problems },
      `${call.tenantPath}/exports`,
      { asked: order, pathOf: (sorted) => queryOf({ asked, ...sorted }) },
    );
    return pageSent(call, { of: 'exports', faults }, exportsContent, view);
  }
}

const BY_LINES: FieldNames = {
  'name ': 'name',
  ...Object.fromEntries(EXPORT_FILTERS.map((name) => [`${FILTERS[name]} `, name])),
};

/** Filters are named as their fields are. */
function faultsOfExport(outcome: NotDone): Faults {
  const problems = faultsOf(outcome).problems.map((problem) =>
    EXPORT_FILTERS.reduce(
      (line, name) => line.replace(`params.${name} `, `${FILTERS[name]} `),
      problem,
    ),
  );
  return faultsIn(problems, BY_LINES);
}

const typedIn = (form: Form): TypedExport =>
  Object.fromEntries(
    (['type', 'format', 'name', ...EXPORT_FILTERS] as const).map((name) => [name, form.text(name)]),
  ) as TypedExport;
