import { Param } from '@nestjs/common';
import { MODES } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import { ApiError } from '../../http/edge/api-error.js';
import type { ShownRun } from '../../http/operations/operation-runs.js';
import { hasDifferences } from '../../runs/recorded-runs.js';
import { operationNamed } from '../../operations/registry/registry.js';
import { ownPage } from '../sessions/wanted-page.js';
import { redirected, sendPage } from '../console-answers.js';
import { ConsoleCall } from '../console-call.js';
import { ConsolePage, FormAt, PageAt, PageFor } from '../console-routes.js';
import { stateCell, textCell, timeCell } from '../view/cells.js';
import { tenantPath } from '../view/navigation.js';
import {
  isRepeatable,
  paceText,
  progressText,
  runTitle,
  runView,
  stateOf,
  type FoundBy,
} from '../view/run-view.js';
import { stateView } from '../view/states.js';
import { tablesOf } from '../view/page-tables.js';
import { column, type TableColumn } from '../view/table.js';
import { template } from '../view/templates.js';
import { refreshOf, queryOf, TenantPages } from './tenant-pages.js';

const PATH = '/console/runs';
/** Of a result that has no page of its own; characters. */
const RESULT_SHOWN_MAX = 100_000;
const NOT_FOUND = 'There is no such run. Runs are kept for 30 days.';

const listed = template('runs');
const content = template('run');

const aboutOf = ({ tenant, mode }: ShownRun): string =>
  tenant === null ? 'All tenants' : `${tenant}, ${mode}`;

const COLUMNS: readonly TableColumn<ShownRun & FoundBy>[] = [
  column(['operation', 'Run'], ({ id, operation }) =>
    textCell(runTitle(operation), { path: `${PATH}/${id}` }),
  ),
  column(['tenant', 'minor'], (run) => textCell(aboutOf(run))),
  column('state', (run) => stateCell(stateOf(run))),
  column(['progress', 'minor'], (run) => textCell(run.error ?? progressText(run))),
  column('started', ({ startedAt }) => timeCell(startedAt)),
  column(['ended', 'minor'], ({ finishedAt }) => timeCell(finishedAt)),
];

/** Operations that take long: each has a page, whatever started it. */
@ConsolePage('runs')
export class ConsoleRunsController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance', 'support')
  async list(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const tables = tablesOf(call, PATH, { within: call.within });
    const { view: table } = tables({
      label: 'Runs',
      rows: await this.pages.runsOf(call),
      columns: COLUMNS,
      order: '-started',
      empty: {
        text: 'Replays, reconciliations, verifications and other long operations appear here.',
        path: '/console',
        link: 'Open a tenant',
      },
      file: null,
    });
    return sendPage(call, { title: 'Runs', section: PATH }, listed, { table });
  }

  @PageAt(':run', 'finance', 'support')
  async page(@ConsoleCall() call: ConsoleCall, @Param('run') id: string): Promise<string> {
    const run = await this.found(call, id);
    const pagePath = pageOf(run);
    const isDone = run.state === 'done';
    const frame = { title: runTitle(run.operation), section: PATH, ...refreshOf(run) };
    return sendPage(call, frame, content, {
      about: aboutOf(run),
      state: stateView(stateOf({ ...run, hasDifferences: hasDifferences(run.result) })),
      startedAt: run.startedAt,
      finishedAt: run.finishedAt,
      isDone,
      run: runView(run, timeNow()),
      here: `${PATH}/${run.id}`,
      parameters: run.parameters,
      hasParameters: Object.keys(run.parameters).length > 0,
      pagePath: isDone || !isRepeatable(run) ? pagePath : null,
      result: pagePath !== null || run.result === null ? null : resultText(run.result),
    });
  }

  /** For the script of the pages that show the run. */
  @PageAt(':run/progress', 'finance', 'support')
  async progress(@ConsoleCall() call: ConsoleCall, @Param('run') id: string) {
    const run = await this.found(call, id);
    const [text, pace] = [progressText(run), paceText(run, timeNow())];
    return { state: run.state, text, pace, ...run.progress };
  }

  @FormAt(':run/cancel', 'finance', 'support')
  async cancel(@ConsoleCall() call: ConsoleCall, @Param('run') id: string): Promise<string> {
    await this.pages.cancel(call, id);
    return redirected(call, ownPage(call.form.text('back')) ?? '/console');
  }

  /** A run that failed, with the same arguments; its operator has the role by now as well. */
  @FormAt(':run/again', 'finance', 'support')
  async again(@ConsoleCall() call: ConsoleCall, @Param('run') id: string): Promise<string> {
    const run = await this.found(call, id);
    const operation = await operationNamed(run.operation);
    const mayRun = operation?.roles.some((role) => call.operator.roles.includes(role));
    if (operation === undefined || !mayRun) throw new ApiError('FORBIDDEN');
    const ofTenant = run.tenant === null ? {} : { tenant: run.tenant, mode: run.mode };
    if (!isRepeatable(run)) return redirected(call, pageOf(run) ?? PATH);
    const request = { ...ofTenant, ...run.parameters };
    const started = await this.pages.startedRun(call, operation, request);
    return redirected(call, pageOf({ ...run, id: started }) ?? `${PATH}/${started}`);
  }

  /** @throws {ApiError} NOT_FOUND, also for a run of another operator. */
  private async found(call: ConsoleCall, id: string): Promise<ShownRun> {
    const run = await this.pages.run(call, id);
    if (run === undefined) throw new ApiError('NOT_FOUND', { message: NOT_FOUND });
    return run;
  }
}

const PAGES: Readonly<Record<string, string>> = {
  'ledger replay': '/replay',
  'ledger reconcile': '/reconcile',
  'ledger verify': '/verify',
  'payment sync': '/payments',
  'payment reconcile': '/payments',
};

/** The page of the operation, which shows the run; null: it has none. */
function pageOf({ id, operation, tenant, mode: named }: ShownRun): string | null {
  if (operation.startsWith('projection ') || operation === 'policy retry')
    return `/console/projections${queryOf({ run: id })}`;
  const page = PAGES[operation];
  const mode = MODES.find((one) => one === named);
  if (page === undefined || tenant === null || mode === undefined) return null;
  return `${tenantPath({ tenant, mode })}${page}${queryOf({ run: id })}`;
}

function resultText(result: unknown): string {
  const text = JSON.stringify(result, undefined, 2);
  return text.length <= RESULT_SHOWN_MAX ? text : `${text.slice(0, RESULT_SHOWN_MAX)}\n…`;
}
