import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { MODES } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import { ApiError } from '../../http/edge/api-error.js';
import type { ShownRun } from '../../http/operations/operation-runs.js';
import { ownPage } from '../sessions/wanted-page.js';
import { ConsoleCall, ForRoles, PageFor, pageSent, redirected } from '../console-call.js';
import { TEXTS } from '../texts.js';
import { tenantPath } from '../view/navigation.js';
import { paceText, progressText, runView } from '../view/run-view.js';
import { template } from '../view/templates.js';
import { refreshOf, queryOf, TenantPages } from './tenant-pages.js';

const PATH = '/console/runs';
/** Of a result that has no page of its own; characters. */
const RESULT_SHOWN_MAX = 100_000;

const listed = template('runs');

const content = template('run');

/** Operations that take long: each has a page, whatever started it. */
@ApiExcludeController()
@Controller('console/runs')
export class ConsoleRunsController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance', 'support')
  async list(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const runs = (await this.pages.runsOf(call)).map(listedRun);
    return pageSent(call, { title: TEXTS.sections.runs, section: PATH }, listed, { runs });
  }

  @Get(':run')
  @ForRoles('finance', 'support')
  async page(@ConsoleCall() call: ConsoleCall, @Param('run') id: string): Promise<string> {
    const run = await this.found(call, id);
    const resultPath = run.state === 'done' ? pageOfResult(run) : null;
    const frame = { title: TEXTS.runs.titleOf(run.operation), section: PATH, ...refreshOf(run) };
    return pageSent(call, frame, content, {
      shown: listedRun(run),
      run: runView(run, timeNow()),
      here: `${PATH}/${run.id}`,
      parameters: run.parameters,
      resultPath,
      result: resultPath !== null || run.result === null ? null : resultText(run.result),
    });
  }

  /** For the script of the pages that show the run. */
  @Get(':run/progress')
  @ForRoles('finance', 'support')
  async progress(@ConsoleCall() call: ConsoleCall, @Param('run') id: string) {
    const run = await this.found(call, id);
    const [text, pace] = [progressText(run), paceText(run, timeNow())];
    return { state: run.state, text, pace, ...run.progress };
  }

  @Post(':run/cancel')
  @HttpCode(200)
  @ForRoles('finance', 'support')
  async cancel(@ConsoleCall() call: ConsoleCall, @Param('run') id: string): Promise<string> {
    await this.pages.cancel(call, id);
    return redirected(call, ownPage(call.form.text('back')) ?? '/console');
  }

  /** @throws {ApiError} NOT_FOUND, also for a run of somebody else. */
  private async found(call: ConsoleCall, id: string): Promise<ShownRun> {
    const run = await this.pages.run(call, id);
    if (run === undefined) throw new ApiError('NOT_FOUND', { message: TEXTS.runs.notFound });
    return run;
  }
}

const listedRun = (run: ShownRun) => ({
  path: `${PATH}/${run.id}`,
  operation: run.operation,
  about: run.tenant === null ? TEXTS.runs.allTenants : `${run.tenant}, ${run.mode}`,
  startedAt: run.startedAt,
  finishedAt: run.finishedAt,
  progress: progressText(run),
});

const RESULT_PAGES: Readonly<Record<string, string>> = {
  'ledger replay': '/replay',
  'ledger reconcile': '/reconcile',
  'ledger verify': '/verify',
  'ledger digest': '/verify',
  'payment sync': '/payments',
  'payment reconcile': '/payments',
};

/** The page that shows the document of such a run; null: its own does. */
function pageOfResult({ id, operation, tenant, mode: named }: ShownRun): string | null {
  if (operation.startsWith('projection ') || operation === 'policy retry')
    return `/console/projections${queryOf({ run: id })}`;
  const page = RESULT_PAGES[operation];
  const mode = MODES.find((one) => one === named);
  if (page === undefined || tenant === null || mode === undefined) return null;
  return `${tenantPath({ tenant, mode })}${page}${queryOf({ run: id })}`;
}

function resultText(result: unknown): string {
  const text = JSON.stringify(result, undefined, 2);
  return text.length <= RESULT_SHOWN_MAX ? text : `${text.slice(0, RESULT_SHOWN_MAX)}\n…`;
}
