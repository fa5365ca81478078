import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Scope } from '../../../domain/scope.js';
import { OPERATOR } from '../../../operations/audit.js';
import { NotDone, type Outcome } from '../../../operations/outcome.js';
import {
  enableOnRecord,
  resendOnRecord,
  showDeliveries,
  showDelivery,
  showEndpoints,
  type ShownDelivery,
  type ShownEndpoint,
} from '../../../operations/webhooks/webhook-commands.js';
import { OperationsCore } from '../../operations/operations-core.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import { tenantPath } from '../view/layout.js';
import { template, type WithForms } from '../view/templates.js';
import {
  problemOf,
  queried,
  TENANT_ROUTE,
  TenantPages,
  type Refused,
  type TenantParameters,
} from './tenant-pages.js';

const SHOWN_MAX = 100;
const STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;

type Delivery = Exclude<Awaited<ReturnType<typeof showDelivery>>, NotDone>;

const content = template<
  WithForms &
    Refused & {
      endpoints: readonly ShownEndpoint[];
      deliveries: readonly ShownDelivery[];
      asked: { endpoint: string; state: string; type: string; since: string };
      states: readonly { name: string; isChosen: boolean }[];
      delivery: Delivery | null;
    }
>(`
{{#if problem}}<p class="problem" role="alert">{{problem}}</p>{{/if}}
<h2>Endpoints</h2>
{{#if endpoints.length}}<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">Endpoint</th><th scope="col">State</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">Dead</th><th scope="col">Last success</th><th scope="col">Actions</th></tr></thead>
<tbody>{{#each endpoints}}<tr><td class="id">{{endpointUrl}}</td><td>{{state}}</td><td class="number">{{amount waiting}}</td><td class="number">{{amount dead}}</td><td>{{time lastSuccess}}</td><td>
{{#if (eq state 'DISABLED')}}<form method="post">{{> csrf}}<input type="hidden" name="endpoint" value="{{endpointUrl}}"><button name="action" value="enable">Enable</button></form>{{/if}}
<form class="actions" method="post">{{> csrf}}<input type="hidden" name="endpoint" value="{{endpointUrl}}"><input name="since" aria-label="Since, for {{endpointUrl}}" placeholder="since 2026-10-31T00:00:00Z" required><button name="action" value="resend-since" class="quiet">Resend all since</button></form></td></tr>
{{/each}}</tbody></table></div>
{{else}}<p class="empty">No endpoint is subscribed. The tenant subscribes one by POST /subscription.</p>{{/if}}
{{#if delivery}}
<h2>Delivery {{delivery.id}}</h2>
<dl class="figures"><div><dt>Type</dt><dd>{{delivery.type}}</dd></div><div><dt>State</dt><dd>{{delivery.state}}</dd></div><div><dt>Event</dt><dd class="id">{{delivery.eventId}}</dd></div><div><dt>Created</dt><dd>{{time delivery.created}}</dd></div></dl>
{{#if delivery.attempts.length}}<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">At</th><th scope="col" class="number">Status</th><th scope="col">Reason</th><th scope="col" class="number">ms</th><th scope="col">Answer</th></tr></thead>
<tbody>{{#each delivery.attempts}}<tr><td>{{time at}}</td><td class="number">{{amount status}}</td><td>{{reason}}</td><td class="number">{{amount ms}}</td><td class="id">{{answer}}</td></tr>{{/each}}</tbody></table></div>{{else}}<p class="empty">No attempt was made yet.</p>{{/if}}
{{/if}}
<h2>Deliveries</h2>
<form class="fields" method="get">
<div class="field"><label for="endpoint">Endpoint</label><input id="endpoint" name="endpoint" value="{{asked.endpoint}}" placeholder="all"></div>
<div class="field"><label for="state">State</label><select id="state" name="state"><option value="">all</option>{{#each states}}<option{{#if isChosen}} selected{{/if}}>{{name}}</option>{{/each}}</select></div>
<div class="field"><label for="type">Type</label><input id="type" name="type" value="{{asked.type}}" placeholder="all"></div>
<div class="field"><label for="since">Since</label><input id="since" name="since" value="{{asked.since}}"></div>
<button class="quiet">Filter</button>
</form>
{{#if deliveries.length}}<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">Created</th><th scope="col">Type</th><th scope="col">Endpoint</th><th scope="col">State</th><th scope="col" class="number">Attempts</th><th scope="col">Next</th><th scope="col">Delivery</th><th scope="col">Resend</th></tr></thead>
<tbody>{{#each deliveries}}<tr><td>{{time created}}</td><td>{{type}}</td><td class="id">{{endpointUrl}}</td><td>{{state}}</td><td class="number">{{amount attempts}}</td><td>{{time nextAttemptAt}}</td><td class="id"><a href="?delivery={{id}}">{{id}}</a></td><td><form method="post">{{> csrf}}<input type="hidden" name="delivery" value="{{id}}"><button name="action" value="resend" class="quiet">Resend</button></form></td></tr>
{{/each}}</tbody></table></div><p class="note">The newest ${SHOWN_MAX}.</p>
{{else}}<p class="empty">Nothing was delivered, or nothing fits the filter.</p>{{/if}}`);

/** For support: endpoints, deliveries and their attempts. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/webhooks`)
export class ConsoleWebhooksController {
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
    return this.shown(call, scope, query, null);
  }

  @Post()
  @HttpCode(200)
  @ForRoles('support')
  async act(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const outcome = await this.done(call, scope);
    if (outcome instanceof NotDone) return this.shown(call, scope, {}, problemOf(outcome));
    return redirected(call, `${tenantPath(scope)}/webhooks`);
  }

  private done(call: ConsoleCall, scope: Scope): Promise<Outcome<unknown>> {
    const { form } = call;
    const endpoint = form.text('endpoint');
    if (form.text('action') === 'enable')
      return this.pages.recorded(call, [scope, 'webhook enable'], (core) =>
        enableOnRecord(core, scope, endpoint, OPERATOR),
      );
    const which =
      form.text('action') === 'resend'
        ? { id: form.text('delivery') }
        : { endpoint, since: form.text('since') };
    return this.pages.recorded(call, [scope, 'webhook resend'], (core) =>
      resendOnRecord(core, scope, which),
    );
  }

  private async shown(
    call: ConsoleCall,
    scope: Scope,
    query: unknown,
    problem: string | null,
  ): Promise<string> {
    const { core } = this.operations;
    const { delivery: id, ...asked } = queried(
      query,
      ...(['endpoint', 'state', 'type', 'since', 'delivery'] as const),
    );
    const state = STATES.find((one) => one === asked.state);
    const endpoints = await showEndpoints(core, scope);
    const deliveries = await showDeliveries(core, scope, {
      endpoint: asked.endpoint || undefined,
      type: asked.type || undefined,
      since: asked.since || undefined,
      state,
      limit: SHOWN_MAX,
    });
    const delivery = id === '' ? null : await showDelivery(core, scope, id);
    const shownProblem = problem ?? problemOf(deliveries) ?? problemOf(delivery);
    if (shownProblem !== null) void call.reply.code(400);
    return pageSent(call, { title: 'Webhooks', scope, section: '/webhooks' }, content, {
      problem: shownProblem,
      endpoints: endpoints instanceof NotDone ? [] : endpoints,
      deliveries: deliveries instanceof NotDone ? [] : deliveries,
      asked,
      states: STATES.map((name) => ({ name, isChosen: name === state })),
      delivery: delivery instanceof NotDone ? null : delivery,
    });
  }
}
