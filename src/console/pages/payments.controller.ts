import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { OperatorRole } from '../../config/operators.js';
import type { Scope } from '../../domain/scope.js';
import type { Done } from '../../operations/audited.js';
import { timeNow } from '../../foundation/world.js';
import { timeOf } from '../../operations/ledger/ledger-selection.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';
import {
  connectPayments,
  disconnectPayments,
  showPayments,
  syncTenantPayments,
  type ShownConnection,
} from '../../operations/payments/payment-commands.js';
import {
  reconcilePayments,
  type PaymentDifference,
  type PaymentReconciliation,
} from '../../operations/payments/payment-reconciliation.js';
import type { Synced } from '../../payments/incoming/payment-sync.js';
import { ApiError, badRequest } from '../../http/edge/api-error.js';
import { OperatedPayments } from '../../http/operations/operated-payments.js';
import { OperationsCore } from '../../http/operations/operations-core.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import { shownValue } from '../view/differences.js';
import { faultAt, faultsOf, NO_FAULTS, type Faults, type FieldNames } from '../view/faults.js';
import { hasRole, tenantPath } from '../view/layout.js';
import { AS_LISTED, inOrder, type AskedOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import {
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { ownMember } from '../../domain/own-member.js';

const COLUMNS: readonly Column<PaymentDifference>[] = [
  { label: TEXTS.fields.account, key: 'account', value: 'account' },
  { label: TEXTS.common.kind, key: 'kind', value: 'kind' },
  { label: TEXTS.common.ledger, isNumber: true },
  { label: TEXTS.common.provider, isNumber: true },
];

const content = template(`
{{#unless payments}}<p class="empty">${TEXTS.payments.noProvider}</p>{{/unless}}
{{#if payments}}
<dl class="figures">
<div><dt>${TEXTS.common.provider}</dt><dd>{{#if payments.provider}}{{payments.provider}}{{else}}${TEXTS.payments.notConnected}{{/if}}</dd></div>
<div><dt>${TEXTS.payments.secretKey}</dt><dd class="id">{{payments.secretKey}}</dd></div>
<div><dt>${TEXTS.payments.newestEvent}</dt><dd>{{time payments.lastEventAt}}</dd></div>
<div><dt>${TEXTS.payments.waitingEvents}</dt><dd>{{figure 'payments.waiting' payments.waitingEvents ''}}</dd></div>
<div><dt>${TEXTS.payments.lastWalk}</dt><dd>{{time payments.lastSyncAt}}</dd></div>
<div><dt>${TEXTS.payments.refusedRewards}</dt><dd>{{figure 'payments.parked' payments.parked.length ''}}</dd></div>
</dl>
<p>${TEXTS.payments.sendsTo} <span class="id">{{payments.webhookUrl}}</span>.</p>
{{#if isGone}}<p class="problem" role="alert">${TEXTS.common.runIsGone}</p>{{/if}}
{{#if run}}{{> run}}{{/if}}
{{#if synced}}<dl class="figures"><div><dt>${TEXTS.payments.paidInvoices}</dt><dd>{{figure 'invoices' synced.invoices ''}}</dd></div><div><dt>${TEXTS.payments.applied}</dt><dd>{{figure 'applied' synced.applied ''}}</dd></div></dl>{{/if}}
{{#if reconciled}}<dl class="figures"><div><dt>${TEXTS.payments.bothAgree}</dt><dd>{{figure 'ok' reconciled.ok ''}}</dd></div><div><dt>${TEXTS.common.differences}</dt><dd>{{figure 'differences' reconciled.count ''}}</dd></div></dl>
{{#if reconciled.rows.length}}<div class="scroll" tabindex="0"><table><thead>{{> heads heads=reconciled.heads}}</thead>
<tbody>{{#each reconciled.rows}}<tr><td>{{account}}</td><td>{{kind}}</td><td class="number">{{figure 'difference.ledger' ledger ''}}</td><td class="number">{{figure 'difference.provider' provider ''}}</td></tr>{{/each}}</tbody></table></div>{{/if}}{{/if}}
{{#if payments.parked.length}}<h2>${TEXTS.payments.refusedHeading}</h2>
<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">${TEXTS.common.reward}</th><th scope="col">${TEXTS.fields.reason}</th></tr></thead>
<tbody>{{#each payments.parked}}<tr><td class="id">{{rewardId}}</td><td>{{reason}}</td></tr>{{/each}}</tbody></table></div>{{/if}}
{{#if isFinance}}<h2>${TEXTS.payments.compare}</h2><p>${TEXTS.payments.compareHint}</p>
<form method="post">{{> csrf}}<button name="action" value="reconcile">${TEXTS.payments.compareButton}</button></form>{{/if}}
{{#if isSupport}}
<h2>${TEXTS.payments.walkHeading}</h2><p>${TEXTS.payments.walkHint}</p>
<form class="fields narrow" method="post">{{> csrf}}{{formField 'since' label="${TEXTS.fields.since}" value=typedSince placeholder="${TEXTS.payments.sinceExample}"}}<button name="action" value="sync" class="quiet">${TEXTS.payments.walk}</button></form>
<h2>{{#if payments.provider}}${TEXTS.payments.replace}{{else}}${TEXTS.payments.connectHeading}{{/if}}</h2>
<form class="fields" method="post" autocomplete="off">{{> csrf}}
{{formField 'secretKey' label="${TEXTS.payments.secretKey}" type="password" autocomplete="off" required=true hint="${TEXTS.payments.secretKeyHint}"}}
{{formField 'webhookSecret' label="${TEXTS.payments.webhookSecret}" type="password" autocomplete="off" required=true}}
{{formField 'apiBase' label="${TEXTS.payments.apiBase}" value=typedBase placeholder="${TEXTS.payments.apiBaseDefault}"}}
<button name="action" value="connect">${TEXTS.payments.connect}</button></form>
{{#if payments.provider}}<h2>${TEXTS.payments.disconnect}</h2><p>${TEXTS.payments.disconnectHint}</p>
<form class="fields narrow" method="post">{{> csrf}}{{formField 'confirmed' label="${TEXTS.payments.confirm}" autocomplete="off"}}<button name="action" value="disconnect" class="danger">${TEXTS.payments.disconnect}</button></form>{{/if}}
{{/if}}
{{/if}}`);

interface Shown {
  readonly faults?: Faults;
  readonly run?: string;
  readonly order?: AskedOrder;
}

/** By the beginnings of the reasons of `connectPayments`. */
const BY_LINES: FieldNames = {
  'the secret key ': 'secretKey',
  'the webhook secret ': 'webhookSecret',
  'the address of the provider ': 'apiBase',
};

const ROLE_OF: Readonly<Record<string, OperatorRole>> = {
  connect: 'support',
  disconnect: 'support',
  sync: 'support',
  reconcile: 'finance',
};

/** The payment provider of a tenant: support connects it, finance compares both sides. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/payments`)
export class ConsolePaymentsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
    private readonly payments: OperatedPayments,
  ) {}

  @Get()
  @ForRoles('finance', 'support')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string> {
    const { run, ...order } = queried(query, 'run', 'sort', 'dir');
    return this.shown(call, await this.pages.scopeOf(parameters), { run, order });
  }

  @Post()
  @HttpCode(200)
  @ForRoles('finance', 'support')
  async act(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const action = call.form.text('action');
    const role = ownMember(ROLE_OF, action);
    if (role === undefined) throw badRequest('action: one of the buttons');
    if (!hasRole(call.operator, [role])) throw new ApiError('FORBIDDEN');
    const path = `${tenantPath(scope)}/payments`;
    if (action === 'sync' || action === 'reconcile') {
      const since = call.form.text('since') || undefined;
      const from = timeOf('since', since, timeNow());
      if (from instanceof NotDone) return this.shown(call, scope, { faults: faultsOf(from) });
      const run = await this.pages.started(call, scope, {
        operation: `payment ${action}`,
        parameters: action === 'sync' ? { since } : {},
        work: (core, watched): Promise<Outcome<Done<unknown>>> =>
          action === 'sync'
            ? syncTenantPayments(core, this.payments, scope, { since, ...watched })
            : reconcilePayments(core, this.payments, scope, watched),
      });
      return redirected(call, path + queryOf({ run }));
    }
    if (action === 'disconnect' && call.form.text('confirmed') !== 'stripe')
      return this.shown(call, scope, {
        faults: faultAt('confirmed', TEXTS.payments.notConfirmed),
      });
    const outcome = await this.changed(call, scope, action);
    if (outcome instanceof NotDone)
      return this.shown(call, scope, { faults: faultsOf(outcome, BY_LINES) });
    return redirected(call, path);
  }

  private changed(
    call: ConsoleCall,
    scope: Scope,
    action: string,
  ): Promise<Outcome<ShownConnection>> {
    const { form } = call;
    return this.pages.recorded(call, [scope, `payment ${action}`], (core, meta) =>
      action === 'disconnect'
        ? disconnectPayments(core, this.payments, meta)
        : connectPayments(core, this.payments, meta, {
            provider: 'stripe',
            secretKey: form.text('secretKey'),
            webhookSecret: form.text('webhookSecret'),
            apiBase: form.text('apiBase') || undefined,
          }),
    );
  }

  private async shown(
    call: ConsoleCall,
    scope: Scope,
    { faults = NO_FAULTS, run: id = '', order = AS_LISTED }: Shown,
  ): Promise<string> {
    const { run, isGone, operation, result, refresh } = await this.pages.runOfPage(call, id, scope);
    const found = await showPayments(this.operations.core, this.payments, scope);
    const isOf = (name: string): boolean => result !== undefined && operation === name;
    const frame = {
      title: TEXTS.sections.payments,
      scope,
      section: '/payments',
      faults,
      ...refresh,
    };
    return pageSent(call, frame, content, {
      isSupport: hasRole(call.operator, ['support']),
      isFinance: hasRole(call.operator, ['finance']),
      payments: found instanceof NotDone ? null : found,
      typedBase: call.form.text('apiBase'),
      typedSince: call.form.text('since'),
      run,
      isGone,
      here: `${tenantPath(scope)}/payments${queryOf({ run: id })}`,
      synced: isOf('payment sync') ? (result as Synced) : null,
      reconciled: isOf('payment reconcile')
        ? shownReconciliation(result as PaymentReconciliation, order, id)
        : null,
    });
  }
}

function shownReconciliation(
  { ok, differences, more = 0 }: PaymentReconciliation,
  order: AskedOrder,
  run: string,
) {
  const { rows, heads } = inOrder(differences, COLUMNS, order, (sorted) =>
    queryOf({ run, ...sorted }),
  );
  const shown = rows.map(({ ledger, provider, ...others }) => ({
    ...others,
    ledger: shownValue(ledger),
    provider: shownValue(provider),
  }));
  return { ok, count: differences.length + more, rows: shown, heads };
}
