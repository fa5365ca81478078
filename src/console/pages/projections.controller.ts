import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { MODES, type Mode } from '../../domain/scope.js';
import { findAccount } from '../../operations/ledger/ledger-entries.js';
import {
  onProjections,
  type ProjectionOperator,
} from '../../operations/projections/projection-operator.js';
import {
  showHistory,
  showParkedStreams,
  showStatus,
  type DiffDocument,
} from '../../operations/projections/projection-commands.js';
import { showParked } from '../../operations/policies/policy-commands.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';
import { ApiError, badRequest, unavailable } from '../../http/edge/api-error.js';
import type { Run } from '../../http/operations/operation-runs.js';
import { OperationsCore } from '../../http/operations/operations-core.js';
import { OperationCalls } from '../../http/operations/operation-calls.js';
import { retryReactions } from '../../operations/policies/policy.operations.js';
import {
  diff,
  rebuild,
  retry,
  rollBack,
  swap,
} from '../../operations/projections/projection.operations.js';
import type { Operation } from '../../operations/registry/operation.js';
import type { SeenGenerations } from '../../projecting/generations/switch-generations.js';
import type { Form } from '../sessions/form.js';
import { ConsoleCall, ForRoles, pageSent, redirected, staffOf } from '../console-call.js';
import { faultAt, faultsOf, NO_FAULTS, type Faults } from '../view/faults.js';
import { differencesCsv } from '../view/differences.js';
import {
  COLUMNS,
  content,
  HELD_BACK_COLUMNS,
  HISTORY_COLUMNS,
  historyRow,
  PARKED_COLUMNS,
  PROJECTIONS_PATH,
  shownDiff,
  withFigureNames,
} from '../view/projections-view.js';
import { AS_LISTED, inOrder, type AskedOrder } from '../view/sorting.js';
import {
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';
import { TEXTS } from '../texts.js';

/** What is kept of a run has 1 MiB. */
const DIFF_ROWS_MAX = 1_000;
const PARKED_MAX = 100;
const HISTORY_MAX = 50;

interface ShownPage {
  readonly run: string;
  readonly chosen: string;
  readonly part: Part;
  readonly faults: Faults;
  readonly order: AskedOrder & { readonly page: string };
}

/** The part of a rebuild in place, as typed. */
type Part = Readonly<Record<'tenant' | 'mode' | 'account', string>>;

const PART = ['tenant', 'mode', 'account'] as const;

const partIn = (text: (name: keyof Part) => string): Part => ({
  tenant: text('tenant'),
  mode: text('mode'),
  account: text('account'),
});

interface Asked {
  readonly projection: string;
  readonly confirmed: string;
}

/** For support: from a tenant to the read models, with the form filled in. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/projections`)
export class ConsoleTenantProjectionsController {
  constructor(private readonly pages: TenantPages) {}

  @Get()
  @ForRoles('support')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const { tenant, mode } = await this.pages.scopeOf(parameters);
    return redirected(call, `${PROJECTIONS_PATH}${queryOf({ tenant, mode })}`);
  }
}

/** For support: the read models. */
@ApiExcludeController()
@Controller('console/projections')
export class ConsoleProjectionsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
    private readonly calls: OperationCalls,
  ) {}

  @Get()
  @ForRoles('support')
  page(@ConsoleCall() call: ConsoleCall, @QueryParameters() query: unknown): Promise<string> {
    const { run, projection, format, ...order } = queried(
      query,
      ...(['run', 'projection', 'sort', 'dir', 'page', 'format'] as const),
    );
    const part = queried(query, ...PART);
    return format === 'csv'
      ? this.csv(call, run)
      : this.shown(call, { run, chosen: projection, part, faults: NO_FAULTS, order });
  }

  @Post()
  @HttpCode(200)
  @ForRoles('support')
  async act(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const { form } = call;
    const asked = { projection: form.text('projection'), confirmed: form.text('confirmed') };
    const action = form.text('action');
    const part = partIn((name) => form.text(name));
    const faults = faultsOfForm(action, asked, part) ?? (await this.faultsOfPart(action, part));
    if (faults !== null)
      return this.shown(call, {
        run: '',
        chosen: asked.projection,
        part,
        faults,
        order: AS_LISTED,
      });
    const run = await this.started(call, action, asked);
    if (run === undefined) throw unavailable();
    return redirected(
      call,
      `${PROJECTIONS_PATH}${queryOf({ run: run.id, projection: asked.projection })}`,
    );
  }

  private started(
    call: ConsoleCall,
    action: string,
    { projection: name }: Asked,
  ): Promise<Run | undefined> {
    const { form } = call;
    const start = (operation: Operation, request: object): Promise<Run | undefined> =>
      this.calls.start(operation, request, { by: staffOf(call) });
    const one = { projection: name, all: false };
    const chosen = name === '' ? { all: true } : one;
    switch (action) {
      case 'rebuild':
        return start(rebuild, { ...partOf(form), ...chosen, dryRun: false, resume: false });
      case 'diff':
        return start(diff, { projection: name, limit: DIFF_ROWS_MAX });
      case 'swap':
        return start(swap, { ...one, seen: seenIn(form, name) });
      case 'rollback':
        return start(rollBack, { projection: name, seen: seenIn(form, name) });
      case 'retry':
        return start(retry, { projection: name || undefined });
      case 'retry-reaction':
        return start(retryReactions, { id: form.text('reaction') });
      default:
        throw badRequest('action: one of the buttons');
    }
  }

  /** A part that there is not; null: there is, or nothing is rebuilt in place. */
  private async faultsOfPart(
    action: string,
    { tenant, mode, account }: Part,
  ): Promise<Faults | null> {
    if (action !== 'rebuild' || tenant === '') return null;
    const { core } = this.operations;
    if ((await core.tenants.find(tenant)) === undefined)
      return faultsOf(new NotDone({ code: 'TENANT_NOT_FOUND', tenant }));
    if (account === '') return null;
    const found = await findAccount(core, { tenant, mode: modeOf(mode) }, account);
    return found instanceof NotDone ? faultsOf(found) : null;
  }

  /** The differences of a run as a file. */
  private async csv(call: ConsoleCall, id: string): Promise<string> {
    const { operation, result } = await this.pages.runOfPage(call, id, null);
    if (operation !== 'projection diff' || result === undefined)
      throw new ApiError('NOT_FOUND', { message: TEXTS.projections.comparisonIsGone });
    void call.reply
      .header('Content-Type', 'text/csv; charset=utf-8; header=present')
      .header('Content-Disposition', 'attachment; filename="differences.csv"');
    return differencesCsv(result as DiffDocument);
  }

  private operate<T>(
    call: ConsoleCall,
    signal: AbortSignal,
    work: (projections: ProjectionOperator) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const { core, pool, warn } = this.operations;
    return onProjections(core, pool, { by: staffOf(call), signal, warn }, work);
  }

  private async shown(
    call: ConsoleCall,
    { run: id, chosen, part, faults, order }: ShownPage,
  ): Promise<string> {
    // Before the state of the projections: what a run that is over has done is in it.
    const { run, isGone, operation, result, refresh } = await this.pages.runOfPage(call, id, null);
    const never = new AbortController().signal;
    const status = await this.operate(call, never, showStatus);
    const history = await this.operate(call, never, (projections) =>
      showHistory(projections, HISTORY_MAX),
    );
    const heldBack = await this.operate(call, never, (projections) =>
      showParkedStreams(projections, PARKED_MAX),
    );
    const parked = await showParked(this.operations.core, PARKED_MAX);
    const listed = status instanceof NotDone ? [] : status;
    const pathOf = (asked: Readonly<Record<string, string>>): string =>
      queryOf({ run: id, projection: chosen, ...asked });
    const { rows, heads } = inOrder(listed, COLUMNS, order, pathOf);
    const isDiff = operation === 'projection diff' && result !== undefined;
    const entries = history instanceof NotDone ? [] : history;
    const sortedHistory = inOrder(entries, HISTORY_COLUMNS, order, pathOf);
    return pageSent(
      call,
      { title: TEXTS.sections.projections, section: PROJECTIONS_PATH, faults, ...refresh },
      content,
      {
        notices: faultsOf(status).problems,
        projections: rows.map(withFigureNames),
        chosen,
        names: rows.map(({ name }) => name),
        heads,
        livePath: `${PROJECTIONS_PATH}${queryOf({ sort: order.sort, dir: order.dir })}`,
        part,
        modes: MODES,
        run,
        operation,
        isGone,
        here: `${PROJECTIONS_PATH}${pathOf({})}`,
        diff: isDiff ? shownDiff(result as DiffDocument, order, pathOf) : null,
        csvPath: pathOf({ format: 'csv' }),
        result: result ?? null,
        heldBack: inOrder(
          heldBack instanceof NotDone ? [] : heldBack,
          HELD_BACK_COLUMNS,
          order,
          pathOf,
        ),
        parked: inOrder(parked, PARKED_COLUMNS, order, pathOf),
        history: { ...sortedHistory, rows: sortedHistory.rows.map(historyRow) },
      },
    );
  }
}

const modeOf = (typed: string): Mode => (typed === 'test' ? 'test' : 'live');

/** What is wrong in the form; null: it can be begun. */
function faultsOfForm(
  action: string,
  { projection, confirmed }: Asked,
  { tenant, account }: Part,
): Faults | null {
  const isConfirmed = projection !== '' && confirmed === projection;
  if ((action === 'swap' || action === 'rollback') && !isConfirmed)
    return faultAt(projection === '' ? 'projection' : 'confirmed', TEXTS.projections.notConfirmed);
  return action === 'rebuild' && tenant === '' && account !== ''
    ? faultAt('tenant', TEXTS.projections.tenantMissing)
    : null;
}

/** A part, in place, where a tenant is named; otherwise new generations. */
function partOf(form: Form) {
  const { tenant, mode, account } = partIn((field) => form.text(field));
  return tenant === '' ? {} : { tenant, mode: modeOf(mode), account: account || undefined };
}

/** The generations that the page showed; undefined: the form was not that of the page. */
function seenIn(form: Form, projection: string): SeenGenerations | undefined {
  const [, live, ready, previous] =
    /^(\d+)\/(\d*)\/(\d*)$/.exec(form.text(`seen:${projection}`)) ?? [];
  return live === undefined
    ? undefined
    : { live: Number(live), ready: Number(ready), previous: Number(previous) };
}
