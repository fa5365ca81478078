import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { EXPORT_FORMATS, EXPORT_TYPES } from '../../domain/export/export.decider.js';
import type { Scope } from '../../domain/scope.js';
import type { ShownExport } from '../../exports/shown-export.js';
import {
  cancelExport,
  listExports,
  requestExport,
  showExport,
} from '../../operations/exports/export-commands.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';
import { OperationsCore } from '../../http/operations/operations-core.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import {
  EXPORT_FILTERS,
  EXPORTS_SHOWN_MAX,
  FILTERS,
  exportsContent,
  exportsView,
  NOTHING_TYPED,
  type TypedExport,
} from '../view/exports-view.js';
import { faultsOf, NO_FAULTS, type FieldNames, type Faults } from '../view/faults.js';
import { tenantPath } from '../view/layout.js';
import {
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';
import { TEXTS } from '../texts.js';

interface Shown {
  readonly query: unknown;
  readonly faults: Faults;
  readonly typed: TypedExport;
}

/** For support: files with the data of a tenant. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/exports`)
export class ConsoleExportsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
  ) {}

  @Get()
  @ForRoles('support')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    return this.shown(call, scope, { query, faults: NO_FAULTS, typed: NOTHING_TYPED });
  }

  @Post()
  @HttpCode(200)
  @ForRoles('support')
  async change(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const asks = call.form.text('action') === 'ask';
    const typed = asks ? typedIn(call) : NOTHING_TYPED;
    const outcome = asks ? await this.ask(call, scope, typed) : await this.cancel(call, scope);
    if (outcome instanceof NotDone)
      return this.shown(call, scope, {
        query: {},
        faults: faultsOf(labelled(outcome), BY_LINES),
        typed,
      });
    const asked = outcome.id;
    return redirected(call, `${tenantPath(scope)}/exports${asks ? queryOf({ asked }) : ''}`);
  }

  private async ask(call: ConsoleCall, scope: Scope, typed: TypedExport) {
    const { name } = typed;
    const exportType = EXPORT_TYPES.find((known) => known === typed.type);
    const format = EXPORT_FORMATS.find((known) => known === typed.format);
    if (exportType === undefined || format === undefined)
      return new NotDone({
        code: 'EXPORT_NOT_ASKED_FOR',
        reasons: [TEXTS.exports.nothingChosen],
      });
    const filters = EXPORT_FILTERS.flatMap((filter) =>
      typed[filter] === '' ? [] : [[filter, typed[filter]] as const],
    );
    const texts = {
      name: name === '' ? null : name,
      requester: call.operator.name,
      params: filters.length === 0 ? null : Object.fromEntries(filters),
    };
    return this.pages.recorded(call, [scope, 'export run'], (core, meta) =>
      requestExport(core, meta, { exportType, format, texts }),
    );
  }

  private cancel(call: ConsoleCall, scope: Scope) {
    const id = call.form.text('export');
    return this.pages.recorded(call, [scope, 'export cancel'], (core, meta) =>
      cancelExport(core, meta, id),
    );
  }

  /** @param asked the export that was just asked for, which the read model may lack. */
  private async found(scope: Scope, asked: string): Promise<Outcome<readonly ShownExport[]>> {
    const { core } = this.operations;
    const listed = await listExports(core, scope, EXPORTS_SHOWN_MAX);
    if (asked === '' || listed instanceof NotDone || listed.some(({ id }) => id === asked))
      return listed;
    const one = await showExport(core, scope, asked);
    return one instanceof NotDone ? listed : [one, ...listed];
  }

  private async shown(
    call: ConsoleCall,
    scope: Scope,
    { query, faults, typed }: Shown,
  ): Promise<string> {
    const { asked, ...order } = queried(query, 'asked', 'sort', 'dir');
    const found = await this.found(scope, asked);
    const view = exportsView(
      found instanceof NotDone ? [] : found,
      { typed, notices: faultsOf(found).problems },
      `${tenantPath(scope)}/exports`,
      { asked: order, pathOf: (sorted) => queryOf({ asked, ...sorted }) },
    );
    const frame = { title: TEXTS.sections.exports, scope, section: '/exports', faults };
    return pageSent(call, frame, exportsContent, view);
  }
}

const BY_LINES: FieldNames = {
  'name ': 'name',
  ...Object.fromEntries(EXPORT_FILTERS.map((name) => [`${FILTERS[name]} `, name])),
};

/** Filters are named as their fields are. */
function labelled(outcome: NotDone): NotDone {
  const { because } = outcome;
  if (because.code !== 'EXPORT_NOT_ASKED_FOR') return outcome;
  const reasons = because.reasons.map((reason) =>
    EXPORT_FILTERS.reduce(
      (line, name) => line.replace(`params.${name} `, `${FILTERS[name]} `),
      reason,
    ),
  );
  return new NotDone({ ...because, reasons });
}

const typedIn = ({ form }: ConsoleCall): TypedExport => ({
  ...NOTHING_TYPED,
  ...Object.fromEntries(
    ['type', 'format', 'name', ...EXPORT_FILTERS].map((name) => [name, form.text(name)]),
  ),
});
