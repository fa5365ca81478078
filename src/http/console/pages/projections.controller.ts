import { Controller, Get, HttpCode, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import {
  onProjections,
  type ProjectionChoice,
  type ProjectionOperator,
} from '../../../operations/projections/projection-operator.js';
import {
  showHistory,
  showStatus,
  type DiffDocument,
  type ShownProjection,
} from '../../../operations/projections/projection-commands.js';
import { showParked } from '../../../operations/policies/policy-commands.js';
import { NotDone, type Outcome } from '../../../operations/outcome.js';
import { badRequest, unavailable } from '../../edge/api-error.js';
import { OperationRuns, type Run } from '../../operations/operation-runs.js';
import { OperationsCore } from '../../operations/operations-core.js';
import { startPolicyRetry } from '../../operations/policy-runs.js';
import {
  diffRun,
  rebuildRun,
  repairRun,
  retryParkedRun,
  rollBackRun,
  startProjectionRun,
  swapRun,
  type ProjectionRun,
} from '../../operations/projection-runs.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import { hasRole } from '../view/layout.js';
import type { RunView } from '../view/run-view.js';
import { inOrder, type AskedOrder, type Column, type HeadView } from '../view/sorting.js';
import { template, type WithForms } from '../view/templates.js';
import { problemOf, queried, queryOf, TenantPages, type Refused } from './tenant-pages.js';

const PATH = '/console/projections';
const DIFF_ROWS_MAX = 1_000;
const PARKED_MAX = 100;
const HISTORY_MAX = 50;

const COLUMNS: readonly Column<ShownProjection>[] = [
  { label: 'Projection', key: 'name', value: ({ name }) => name },
  { label: 'Generation', key: 'generation', isNumber: true, value: ({ generation }) => generation },
  { label: 'Position', key: 'position', value: ({ position }) => position },
  { label: 'Behind, events', key: 'events', isNumber: true, value: ({ lagEvents }) => lagEvents },
  { label: 'Behind, s', key: 'seconds', isNumber: true, value: ({ lagSeconds }) => lagSeconds },
  { label: 'Parked', key: 'parked', isNumber: true, value: ({ parked }) => parked },
  { label: 'New generation', isNumber: true },
  { label: 'Previous', isNumber: true },
];

type Parked = Awaited<ReturnType<typeof showParked>>;

const content = template<
  WithForms &
    Refused & {
      projections: readonly ShownProjection[];
      heads: readonly HeadView[];
      operates: boolean;
      run: RunView | null;
      operation: string;
      isGone: boolean;
      here: string;
      diff: DiffDocument | null;
      result: unknown;
      parked: Parked;
      history: readonly object[];
    }
>(`
{{#if problem}}<p class="problem" role="alert">{{problem}}</p>{{/if}}
<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody>{{#each projections}}<tr><td>{{name}}{{#if lastError}}<br><span class="wrong">{{lastError}}</span>{{/if}}</td><td class="number">{{figure generationName generation ''}}</td><td class="id">{{position}}</td><td class="number">{{amount lagEvents}}</td><td class="number">{{amount lagSeconds}}</td><td class="number">{{figure parkedName parked ''}}</td><td class="number">{{amount ready}}</td><td class="number">{{amount previous}}</td></tr>
{{/each}}</tbody></table></div>
{{#if isGone}}<p class="problem" role="alert">This run is not known any more. Start it again.</p>{{/if}}
{{#if run}}<h2>{{operation}}</h2>{{> run}}{{/if}}
{{#if diff}}
<dl class="figures">
<div><dt>Projection</dt><dd>{{diff.projection}}</dd></div>
<div><dt>Rows</dt><dd>{{amount diff.rows}}</dd></div>
<div><dt>Differences</dt><dd>{{figure 'differences' diff.count ''}}</dd></div>
<div><dt>Position</dt><dd>{{figure 'position' diff.position ''}}</dd></div>
</dl>
{{#if diff.differences.length}}<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Table</th><th scope="col">Kind</th><th scope="col">Row</th><th scope="col">Column</th><th scope="col">Live</th><th scope="col">New</th></tr></thead>
<tbody>{{#each diff.differences}}{{#each columns}}<tr><td>{{../table}}</td><td>{{../kind}}</td><td class="id">{{json ../key}}</td><td>{{column}}</td><td class="id">{{json live}}</td><td class="id">{{json new}}</td></tr>{{/each}}{{/each}}</tbody></table></div>{{/if}}
{{else}}{{#if result}}<details><summary>Result</summary><pre>{{json result}}</pre></details>{{/if}}{{/if}}
{{#if operates}}
<h2>Operate</h2>
<p>A rebuild makes a new generation beside the live one; look at its differences, then swap it in. With a tenant, a rebuild folds that part of the log into the live generation in place.</p>
<form class="fields" method="post" action="${PATH}">{{> csrf}}
<div class="field"><label for="projection">Projection</label><select id="projection" name="projection"><option value="">all</option>{{#each projections}}<option{{#if isChosen}} selected{{/if}}>{{name}}</option>{{/each}}</select></div>
<div class="field"><label for="tenant">Tenant</label><input id="tenant" name="tenant" placeholder="all"></div>
<div class="field"><label for="mode">Mode</label><select id="mode" name="mode"><option>live</option><option>test</option></select></div>
<div class="field"><label for="account">Account</label><input id="account" name="account" placeholder="all"></div>
<div class="field"><label for="confirmed">Type the projection's name to confirm</label><input id="confirmed" name="confirmed" autocomplete="off"><span class="hint">to swap or roll back</span></div>
<p class="actions field wide"><button name="action" value="rebuild">Rebuild</button><button name="action" value="diff" class="quiet">Diff</button><button name="action" value="swap" class="quiet">Swap</button><button name="action" value="rollback" class="danger">Roll back</button><button name="action" value="retry" class="quiet">Retry parked</button></p>
</form>
<h2>Parked reactions</h2>
{{#if parked.length}}<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Since</th><th scope="col">Policy</th><th scope="col">Event</th><th scope="col">Position</th><th scope="col">Reason</th><th scope="col">Retry</th></tr></thead>
<tbody>{{#each parked}}<tr><td>{{time since}}</td><td>{{policy}}</td><td class="id">{{eventId}}</td><td class="id">{{position}}</td><td>{{reason}}</td><td><form method="post" action="${PATH}">{{> csrf}}<input type="hidden" name="reaction" value="{{id}}"><button name="action" value="retry-reaction" class="quiet">Retry</button></form></td></tr>
{{/each}}</tbody></table></div>{{else}}<p class="empty">No reaction is parked.</p>{{/if}}
<h2>History</h2>
{{#if history.length}}<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Begun</th><th scope="col">Action</th><th scope="col">Projection</th><th scope="col">Who</th><th scope="col">Outcome</th></tr></thead>
<tbody>{{#each history}}<tr><td>{{time startedAt}}</td><td>{{action}}</td><td>{{projection}}</td><td>{{actor}}</td><td>{{outcome}}</td></tr>{{/each}}</tbody></table></div>
{{else}}<p class="empty">Nothing was rebuilt yet.</p>{{/if}}
{{/if}}`);

interface ShownPage {
  readonly run: string;
  readonly chosen: string;
  readonly problem: string | null;
  readonly order: AskedOrder;
}

interface Asked {
  readonly projection: string;
  readonly confirmed: string;
}

/** For support: the read models; finance sees their state. */
@ApiExcludeController()
@Controller('console/projections')
export class ConsoleProjectionsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
    private readonly runs: OperationRuns,
  ) {}

  @Get()
  @ForRoles('support', 'finance')
  page(@ConsoleCall() call: ConsoleCall, @QueryParameters() query: unknown): Promise<string> {
    const { run, projection, ...order } = queried(query, 'run', 'projection', 'sort', 'dir');
    return this.shown(call, { run, chosen: projection, problem: null, order });
  }

  @Post()
  @HttpCode(200)
  @ForRoles('support')
  async act(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const { form } = call;
    const asked = { projection: form.text('projection'), confirmed: form.text('confirmed') };
    const action = form.text('action');
    const isConfirmed = asked.projection !== '' && asked.confirmed === asked.projection;
    if ((action === 'swap' || action === 'rollback') && !isConfirmed)
      return this.shown(call, {
        run: '',
        chosen: asked.projection,
        problem: 'Choose a projection, and type its name to confirm.',
        order: { sort: '', dir: '' },
      });
    const run = await this.started(call, action, asked);
    if (run === undefined) throw unavailable();
    return redirected(call, `${PATH}${queryOf({ run: run.id, projection: asked.projection })}`);
  }

  private started(
    { form, operator: { name: by } }: ConsoleCall,
    action: string,
    { projection: name }: Asked,
  ): Promise<Run | undefined> {
    const { runs, operations } = this;
    const start = (asked: ProjectionRun): Promise<Run | undefined> =>
      startProjectionRun(runs, operations, by, asked);
    switch (action) {
      case 'rebuild':
        return start(rebuildOf(form, choiceOf(name)));
      case 'diff':
        return start(diffRun(name, DIFF_ROWS_MAX));
      case 'swap':
        return start(swapRun({ name, all: false }));
      case 'rollback':
        return start(rollBackRun(name));
      case 'retry':
        return start(retryParkedRun(choiceOf(name)));
      case 'retry-reaction':
        return startPolicyRetry(runs, operations.core, by, form.text('reaction'));
      default:
        throw badRequest('action: one of the buttons');
    }
  }

  private operate<T>(
    { operator }: ConsoleCall,
    signal: AbortSignal,
    work: (projections: ProjectionOperator) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const { core, pool, warn } = this.operations;
    return onProjections(core, pool, { actor: operator.name, signal, warn }, work);
  }

  private async shown(
    call: ConsoleCall,
    { run: id, chosen, problem, order }: ShownPage,
  ): Promise<string> {
    if (problem !== null) void call.reply.code(400);
    const operates = hasRole(call.operator, ['support']);
    // Before the state of the projections: what a run that is over has done is in it.
    const { run, isGone, operation, result, refresh } = await this.pages.runOfPage(call, id);
    const never = new AbortController().signal;
    const status = await this.operate(call, never, showStatus);
    const history = operates
      ? await this.operate(call, never, (projections) => showHistory(projections, HISTORY_MAX))
      : [];
    const parked = operates ? await showParked(this.operations.core, PARKED_MAX) : [];
    const listed = status instanceof NotDone ? [] : status;
    const { rows, heads } = inOrder(listed, COLUMNS, order, (sorted) =>
      queryOf({ run: id, projection: chosen, ...sorted }),
    );
    const isDiff = operation === 'projection diff' && result !== undefined;
    return pageSent(call, { title: 'Projections', section: PATH, ...refresh }, content, {
      problem: problem ?? problemOf(status),
      projections: rows.map((one) => withFigureNames(one, chosen)),
      heads,
      operates,
      run,
      operation,
      isGone,
      here: `${PATH}${queryOf({ run: id, projection: chosen })}`,
      diff: isDiff ? (result as DiffDocument) : null,
      result: result ?? null,
      parked,
      history: history instanceof NotDone ? [] : history,
    });
  }
}

const withFigureNames = (projection: ShownProjection, chosen: string) => ({
  ...projection,
  isChosen: projection.name === chosen,
  generationName: `generation:${projection.name}`,
  parkedName: `parked:${projection.name}`,
});

const choiceOf = (name: string): ProjectionChoice => (name === '' ? { all: true } : { name });

/** Of a part, in place, where a tenant is named; otherwise new generations. */
function rebuildOf(form: ConsoleCall['form'], choice: ProjectionChoice): ProjectionRun {
  const [tenant, account] = [form.text('tenant'), form.text('account')];
  if (tenant === '' && account !== '') throw badRequest('Account: needs a tenant');
  if (tenant === '') return rebuildRun(choice, {});
  const mode = form.text('mode') === 'test' ? 'test' : 'live';
  return repairRun(choice, { tenant, mode, ...(account === '' ? {} : { account }) });
}
