import { Controller } from '@nestjs/common';
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
import {
  ConsoleCall,
  FormFor,
  PageFor,
  pageSent,
  redirected,
  staffOf,
  TenantCall,
  TenantPage,
} from '../console-call.js';
import { faultAt, faultsOf, type Faults } from '../view/faults.js';
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
import { inOrder } from '../view/sorting.js';
import { given, queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, type Outcome, outcomeOf, tenantNotFound } from '../../operations/outcome.js';

/** What is kept of a run has 1 MiB. */
const DIFF_ROWS_MAX = 1_000;
const PARKED_MAX = 100;
const HISTORY_MAX = 50;

/** The read model, and the part of a rebuild in place, as typed. */
const ASKED = ['projection', 'confirmed', 'tenant', 'mode', 'account'] as const;
type Asked = Readonly<Record<(typeof ASKED)[number], string>>;

/** For support: from a tenant to the read models, with the form filled in. */
@TenantPage('projections')
export class ConsoleTenantProjectionsController {
  @PageFor('support')
  page(@TenantCall() call: TenantCall): string {
    const { tenant, mode } = call.scope;
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

  @PageFor('support')
  page(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const { run, format } = queried(call.query, 'run', 'format');
    return format === 'csv' ? this.csv(call, run) : this.shown(call);
  }

  @FormFor('support')
  async act(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const action = call.form.text('action');
    const asked = given(call, ...ASKED);
    const faults = faultsOfForm(action, asked) ?? (await this.faultsOfPart(action, asked));
    if (faults !== null) return this.shown(call, faults);
    const run = await this.started(call, action, asked);
    if (run === undefined) throw unavailable();
    const { projection } = asked;
    return redirected(call, `${PROJECTIONS_PATH}${queryOf({ run: run.id, projection })}`);
  }

  private started(call: ConsoleCall, action: string, asked: Asked): Promise<Run | undefined> {
    const { form } = call;
    const { projection: name } = asked;
    const start = (operation: Operation, request: object): Promise<Run | undefined> =>
      this.calls.start(operation, request, { by: staffOf(call) });
    const one = { projection: name, all: false };
    const chosen = name === '' ? { all: true } : one;
    switch (action) {
      case 'rebuild':
        return start(rebuild, { ...partOf(asked), ...chosen, dryRun: false, resume: false });
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
    { tenant, mode, account }: Asked,
  ): Promise<Faults | null> {
    if (action !== 'rebuild' || tenant === '') return null;
    const { core } = this.pages;
    if ((await core.tenants.find(tenant)) === undefined) return faultsOf(tenantNotFound(tenant));
    if (account === '') return null;
    const scope = { tenant, mode: modeOf(mode) };
    const ledger = await core.tenants.ledger(scope);
    const found = await outcomeOf(() => findAccount(core, ledger, account));
    return found instanceof NotDone ? faultsOf(found) : null;
  }

  /** The differences of a run as a file. */
  private async csv(call: ConsoleCall, id: string): Promise<string> {
    const diff = (await this.pages.runOfPage(call, id)).resultOf<DiffDocument>('projection diff');
    if (diff === null)
      throw new ApiError('NOT_FOUND', { message: TEXTS.projections.comparisonIsGone });
    void call.reply
      .header('Content-Type', 'text/csv; charset=utf-8; header=present')
      .header('Content-Disposition', 'attachment; filename="differences.csv"');
    return differencesCsv(diff);
  }

  private operate<T>(
    call: ConsoleCall,
    signal: AbortSignal,
    work: (projections: ProjectionOperator) => Promise<T>,
  ): Promise<Outcome<T>> {
    const { core, pool, warn } = this.operations;
    const caller = { by: staffOf(call), signal, warn };
    return outcomeOf(() => onProjections(core, pool, caller, work));
  }

  private async shown(call: ConsoleCall, faults?: Faults): Promise<string> {
    const { run: id, ...order } = queried(call.query, 'run', 'sort', 'dir', 'page');
    const { projection: chosen, ...part } = given(call, ...ASKED);
    // Before the state of the projections: what a run that is over has done is in it.
    const { values, operation, result, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const never = new AbortController().signal;
    const status = await this.operate(call, never, showStatus);
    const history = await this.operate(call, never, (projections) =>
      showHistory(projections, HISTORY_MAX),
    );
    const heldBack = await this.operate(call, never, (projections) =>
      showParkedStreams(projections, PARKED_MAX),
    );
    const parked = await showParked(this.pages.core, PARKED_MAX);
    const listed = status instanceof NotDone ? [] : status;
    const pathOf = (other: Readonly<Record<string, string>>): string =>
      queryOf({ run: id, projection: chosen, ...other });
    const { rows, heads } = inOrder(listed, COLUMNS, order, pathOf);
    const diff = resultOf<DiffDocument>('projection diff');
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
        ...values,
        operation,
        here: `${PROJECTIONS_PATH}${pathOf({})}`,
        diff: diff && shownDiff(diff, order, pathOf),
        csvPath: pathOf({ format: 'csv' }),
        result,
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
  { projection, confirmed, tenant, account }: Asked,
): Faults | null {
  const isConfirmed = projection !== '' && confirmed === projection;
  if ((action === 'swap' || action === 'rollback') && !isConfirmed)
    return faultAt(projection === '' ? 'projection' : 'confirmed', TEXTS.projections.notConfirmed);
  return action === 'rebuild' && tenant === '' && account !== ''
    ? faultAt('tenant', TEXTS.projections.tenantMissing)
    : null;
}

/** A part, in place, where a tenant is named; otherwise new generations. */
function partOf({ tenant, mode, account }: Asked) {
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
