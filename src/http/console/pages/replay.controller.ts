import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Replay } from '../../../operations/ledger/ledger-replay.js';
import { replayRun } from '../../operations/ledger-runs.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import { tenantPath } from '../view/layout.js';
import type { RunView } from '../view/run-view.js';
import { template, type WithForms } from '../view/templates.js';
import {
  filledIn,
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';

const ROWS_MAX = 1_000;

const content = template<
  WithForms & {
    asked: { account: string; asOf: string; position: string };
    run: RunView | null;
    isGone: boolean;
    here: string;
    replay: (KeptReplay & { shown: readonly object[]; count: number; hasMore: boolean }) | null;
  }
>(`
<p>A replay folds the log by the rules that decisions use and compares it with the live read models. It changes nothing.</p>
<form class="fields" method="post">{{> csrf}}
<div class="field"><label for="account">Account</label><input id="account" name="account" value="{{asked.account}}" placeholder="all"></div>
<div class="field"><label for="asOf">As of</label><input id="asOf" name="asOf" value="{{asked.asOf}}" placeholder="now"></div>
<div class="field"><label for="position">Position</label><input id="position" name="position" value="{{asked.position}}"></div>
<button>Start replay</button>
</form>
{{#if isGone}}<p class="problem" role="alert">This run is not known any more. Start it again.</p>{{/if}}
{{#if run}}{{> run}}{{/if}}
{{#if replay}}
<dl class="figures">
<div><dt>Position</dt><dd>{{figure 'position' replay.position ''}}</dd></div>
<div><dt>Events</dt><dd>{{figure 'events' replay.events ''}}</dd></div>
<div><dt>Differences</dt><dd>{{figure 'differences' replay.count ''}}</dd></div>
</dl>
{{#if replay.count}}
<h2>Differences</h2>
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">Account</th><th scope="col">Read model</th><th scope="col">Field</th><th scope="col" class="number">Ledger</th><th scope="col" class="number">Live</th><th scope="col">Events</th></tr></thead>
<tbody>{{#each replay.shown}}<tr><td>{{account}}</td><td>{{readModel}}</td><td class="id">{{field}}</td><td class="number">{{figure 'difference.ledger' ledger ''}}</td><td class="number">{{figure 'difference.live' live ''}}</td><td class="id">{{#each eventIds}}{{this}} {{/each}}</td></tr>
{{/each}}</tbody></table></div>
{{#if replay.hasMore}}<p class="note">The first ${ROWS_MAX} are shown; the command line lists all.</p>{{/if}}
{{else}}<p class="done">The read models say what the ledger says.</p>{{/if}}
{{/if}}`);

/** For finance: the log folded anew, compared with the live read models. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/replay`)
export class ConsoleReplayController {
  constructor(private readonly pages: TenantPages) {}

  @Get()
  @ForRoles('finance')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const { run: id, ...asked } = queried(query, 'run', 'account', 'asOf', 'position');
    const { run, isGone, operation, result, refresh } = await this.pages.runOfPage(call, id);
    return pageSent(call, { title: 'Replay', scope, section: '/replay', ...refresh }, content, {
      asked,
      run,
      isGone,
      here: `${tenantPath(scope)}/replay${queryOf({ run: id, ...asked })}`,
      replay:
        result === undefined || operation !== 'ledger replay'
          ? null
          : shownReplay(result as KeptReplay),
    });
  }

  @Post()
  @HttpCode(200)
  @ForRoles('finance')
  async start(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const asked = queried(
      Object.fromEntries(
        ['account', 'asOf', 'position'].map((name) => [name, call.form.text(name)]),
      ),
      ...(['account', 'asOf', 'position'] as const),
    );
    const { account: accountId, ...options } = filledIn(asked);
    const request = { ...options, ...(accountId === undefined ? {} : { accountId }) };
    const run = await this.pages.started(call, scope, replayRun(scope, request));
    return redirected(call, `${tenantPath(scope)}/replay${queryOf({ run, ...asked })}`);
  }
}

/** Of very many differences the first ones are kept. */
interface KeptReplay extends Replay {
  readonly cut?: { readonly differences: number };
}

function shownReplay(replay: KeptReplay) {
  const { differences } = replay;
  const count = replay.cut?.differences ?? differences.length;
  const shown = differences.slice(0, ROWS_MAX).map(({ ledger, live, ...difference }) => ({
    ...difference,
    ledger: shownValue(ledger),
    live: shownValue(live),
  }));
  return {
    ...replay,
    shown,
    count,
    hasMore: count > shown.length,
  };
}

const shownValue = (value: unknown): string | number =>
  typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value ?? null);
