import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Scope } from '../../../domain/scope.js';
import {
  changePeriodOnRecord,
  closedPeriods,
  type ClosedPeriod,
} from '../../../operations/ledger/ledger-periods.js';
import { NotDone } from '../../../operations/outcome.js';
import { OperationsCore } from '../../operations/operations-core.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import { TEXTS } from '../texts.js';
import { tenantPath } from '../view/layout.js';
import { inOrder, type AskedOrder, type Column, type HeadView } from '../view/sorting.js';
import { template, type WithForms } from '../view/templates.js';
import {
  problemOf,
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type Refused,
  type TenantParameters,
} from './tenant-pages.js';

interface Typed {
  readonly period: string;
  readonly comment: string;
}

const COLUMNS: readonly Column<ClosedPeriod>[] = [
  { label: TEXTS.periods.month, key: 'month', value: ({ period }) => period },
  { label: TEXTS.periods.closed, key: 'closed', value: ({ closedAt }) => closedAt },
  { label: TEXTS.periods.reopen },
];
const AS_LISTED: AskedOrder = { sort: '', dir: '' };

const content = template<
  WithForms & Refused & { typed: Typed; rows: readonly ClosedPeriod[]; heads: readonly HeadView[] }
>(`
<p>${TEXTS.periods.explained}</p>
{{#if problem}}<p class="problem" role="alert">{{problem}}</p>{{/if}}
<form class="fields" method="post">{{> csrf}}<input type="hidden" name="action" value="close">
<div class="field"><label for="period">${TEXTS.periods.month}</label><input id="period" name="period" value="{{typed.period}}" placeholder="${TEXTS.periods.monthExample}" required></div>
<div class="field"><label for="comment">${TEXTS.periods.comment}</label><input id="comment" name="comment" value="{{typed.comment}}" required></div>
<button>${TEXTS.periods.close}</button>
</form>
<h2>${TEXTS.periods.heading}</h2>
{{#if rows.length}}
<div class="scroll" tabindex="0"><table><thead>{{> heads}}</thead>
<tbody>{{#each rows}}<tr><td>{{period}}</td><td>{{time closedAt}}</td><td>
<form class="actions" method="post">{{> csrf}}<input type="hidden" name="action" value="reopen"><input type="hidden" name="period" value="{{period}}">
<input name="comment" aria-label="${TEXTS.periods.reasonFor('{{period}}')}" placeholder="${TEXTS.periods.reason}" required><button class="quiet">${TEXTS.periods.reopenOne('{{period}}')}</button></form></td></tr>
{{/each}}</tbody></table></div>
{{else}}<p class="empty">${TEXTS.periods.empty}</p>{{/if}}`);

/** For finance: closed months. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/periods`)
export class ConsolePeriodsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
  ) {}

  @Get()
  @ForRoles('finance')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const order = queried(query, 'sort', 'dir');
    return this.shown(call, scope, { problem: null, typed: { period: '', comment: '' }, order });
  }

  @Post()
  @HttpCode(200)
  @ForRoles('finance')
  async change(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const typed = { period: call.form.text('period'), comment: call.form.text('comment') };
    const isClosing = call.form.text('action') !== 'reopen';
    if (typed.comment === '' || typed.comment.length > 1_000)
      return this.shown(call, scope, {
        problem: TEXTS.periods.commentLength,
        typed,
        order: AS_LISTED,
      });
    const operation = isClosing ? 'ledger close' : 'ledger reopen';
    const by = call.operator.name;
    const outcome = await this.pages.recorded(call, [scope, operation], (core) =>
      changePeriodOnRecord(core, scope, isClosing ? 'ClosePeriod' : 'ReopenPeriod', {
        ...typed,
        by,
      }),
    );
    if (outcome instanceof NotDone)
      return this.shown(call, scope, { problem: problemOf(outcome), typed, order: AS_LISTED });
    return redirected(call, `${tenantPath(scope)}/periods`);
  }

  private async shown(
    call: ConsoleCall,
    scope: Scope,
    { problem, typed, order }: Refused & { readonly typed: Typed; readonly order: AskedOrder },
  ): Promise<string> {
    if (problem !== null) void call.reply.code(400);
    const closed = await closedPeriods(this.operations.core, scope);
    return pageSent(call, { title: TEXTS.sections.periods, scope, section: '/periods' }, content, {
      problem,
      typed,
      ...inOrder(closed, COLUMNS, order, (sorted) => queryOf(sorted)),
    });
  }
}
