import { Controller, Get, Param, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import {
  accountHistory,
  EVENTS_SHOWN_MAX,
  type AccountHistory,
  type ShownPerson,
  type ShownReward,
} from '../../../operations/accounts/account-history.js';
import { RememberedCredit, type ShownUnit } from '../../../operations/accounts/account-credit.js';
import { NotDone } from '../../../operations/outcome.js';
import { ApiError } from '../../edge/api-error.js';
import { ConsoleCall, ForRoles, pageSent } from '../console-call.js';
import { faultsOf } from '../view/faults.js';
import { hasRole, tenantPath } from '../view/layout.js';
import { PLOT_BOX, stepPath } from '../view/plot.js';
import { inOrder, type AskedOrder, type Column } from '../view/sorting.js';
import { template, type WithForms } from '../view/templates.js';
import {
  filledIn,
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';

const FIGURES = ['available', 'assigned', 'redeemed', 'pending', 'expired', 'cancelled'] as const;

const REWARD_COLUMNS: readonly Column<ShownReward>[] = [
  { label: 'Given', key: 'given', value: ({ givenAt }) => givenAt },
  { label: 'Value', key: 'value', value: ({ value }) => value },
  { label: 'Owner', key: 'owner', value: ({ owner }) => owner },
  { label: 'State', key: 'state', value: ({ state }) => state },
  { label: 'Redeemed', key: 'redeemed', isNumber: true, value: ({ redeemed }) => redeemed },
  { label: 'Expires', key: 'expires', value: ({ expiresAt }) => expiresAt },
  { label: 'Reward' },
];

const PEOPLE_COLUMNS: readonly Column<ShownPerson>[] = [
  { label: 'Name', key: 'people.name', value: ({ name }) => name },
  { label: 'User', key: 'people.user', value: ({ userId }) => userId },
  { label: 'E-mail', key: 'people.email', value: ({ email }) => email },
  { label: 'Codes', key: 'people.codes', value: ({ codes }) => codes[0] ?? null },
  { label: 'Since', key: 'people.since', value: ({ since }) => since },
  { label: 'Blocked', key: 'people.blocked', value: ({ blockedSince }) => blockedSince },
];

const content = template<
  WithForms & {
    asked: { asOf: string; position: string };
    statementPath: string | null;
    account: ReturnType<typeof shownAccount> | null;
  }
>(`
<form class="fields" method="get">
{{field 'asOf' label="As of" value=asked.asOf placeholder="now"}}
{{field 'position' label="Position" value=asked.position}}
<button class="quiet">Show this moment</button>
</form>
{{#if account}}
<dl class="figures">
<div><dt>State</dt><dd>{{#if account.isOpen}}open{{else}}deleted{{/if}}</dd></div>
<div><dt>Subscription</dt><dd>{{account.subscription}}</dd></div>
<div><dt>Position</dt><dd>{{figure 'position' account.position ''}}</dd></div>
<div><dt>Events</dt><dd>{{figure 'events' account.eventCount ''}}</dd></div>
</dl>
<p class="actions">{{#if statementPath}}<a href="{{statementPath}}">Statement</a>{{/if}}{{#if account.newestPath}}<a href="{{account.newestPath}}">Newest events</a>{{/if}}</p>
{{#unless account.newestPath}}
<h2>Credit</h2>
{{#each account.units}}
<h3>{{unit}}</h3>
<dl class="figures">{{#each figures}}<div><dt>{{label}}</dt><dd>{{figure name value ''}}</dd></div>{{/each}}</dl>
{{#if path}}<svg class="plot" viewBox="${PLOT_BOX}" preserveAspectRatio="none" role="img" aria-label="Available {{unit}} over time"><path d="{{path}}" fill="none" stroke="currentColor" stroke-width="2" vector-effect="non-scaling-stroke"/></svg>{{/if}}
{{else}}<p class="empty">No credit was ever granted.</p>{{/each}}
<h2>People</h2>
{{#if account.people.length}}<div class="scroll" tabindex="0"><table><thead>{{> heads heads=account.peopleHeads}}</thead>
<tbody>{{#each account.people}}<tr><td>{{name}}</td><td class="id">{{userId}}</td><td>{{email}}</td><td>{{#each codes}}{{this}} {{/each}}{{#if codesLeft}}and {{amount codesLeft}} more{{/if}}</td><td>{{time since}}</td><td>{{#if blockedSince}}{{time blockedSince}}{{/if}}</td></tr>{{/each}}</tbody></table></div>
{{#if account.hasMorePeople}}<p class="note">The newest of {{amount account.peopleCount}}. Search by name, e-mail or user to be sure that somebody is of this account.</p>{{/if}}
{{else}}<p class="empty">Nobody.</p>{{/if}}
<h2>Referred by</h2>
{{#if account.referral}}<dl class="figures">
<div><dt>Referrer</dt><dd>{{#if account.referrerPath}}<a href="{{account.referrerPath}}">{{account.referral.referrerAccount}}</a>{{else}}hidden or forgotten{{/if}}</dd></div>
<div><dt>Code</dt><dd>{{account.referral.code}}</dd></div>
<div><dt>Started</dt><dd>{{time account.referral.startedAt}}</dd></div>
<div><dt>Converted</dt><dd>{{time account.referral.paidAt}}</dd></div>
<div><dt>Referred side</dt><dd>{{account.referral.referredStatus}}</dd></div>
<div><dt>Referrer's side</dt><dd>{{account.referral.referrerStatus}}</dd></div>
</dl>{{else}}<p class="empty">Nobody referred this account.</p>{{/if}}
<h2>Rewards</h2>
{{#if account.rewards.length}}<div class="scroll" tabindex="0"><table><thead>{{> heads heads=account.rewardHeads}}</thead>
<tbody>{{#each account.rewards}}<tr><td>{{time givenAt}}</td><td>{{value}}</td><td>{{owner}}</td><td>{{state}}</td><td class="number">{{amount redeemed}}</td><td>{{time expiresAt}}</td><td class="id">{{rewardId}}</td></tr>{{/each}}</tbody></table></div>
{{#if account.hasMoreRewards}}<p class="note">The newest of {{amount account.rewardCount}}.</p>{{/if}}
{{else}}<p class="empty">No reward yet.</p>{{/if}}
{{/unless}}
<h2>History</h2>
<ol class="history">{{#each account.events}}<li>{{time recordedAt}} {{words}} <span class="note">{{actor}}</span>
{{#if data}}<details><summary>{{type}} at {{position}}</summary><pre>{{json data}}</pre></details>{{else}}<div class="note">{{type}} at {{position}}</div>{{/if}}</li>
{{/each}}</ol>
{{#if account.olderPath}}<p><a href="{{account.olderPath}}">Older events</a></p>{{/if}}
{{/if}}`);

/** One account: people, referral, rewards, credit, and everything that happened, at any moment. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/accounts`)
export class ConsoleAccountController {
  constructor(
    private readonly pages: TenantPages,
    private readonly credit: RememberedCredit,
  ) {}

  @Get(':account')
  @ForRoles('finance', 'support', 'viewer')
  async account(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters & { readonly account: string },
    @QueryParameters() query: unknown,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const { before: typed, ...asked } = queried(query, 'asOf', 'position', 'before');
    const before = /^\d{1,18}$/.test(typed) ? typed : '';
    const order = queried(query, 'sort', 'dir');
    const { account: accountId } = parameters;
    const showsPersonal = hasRole(call.operator, ['finance', 'support']);
    const options = filledIn(asked);
    const found = await this.pages.recorded(call, [scope, 'console account'], async (core) => {
      const request = {
        accountId,
        showsPersonal,
        before: before === '' ? undefined : BigInt(before),
        ...options,
      };
      const { log, codec, names, streams } = core;
      const reads = { log, codec, names, streams, credit: this.credit };
      const result = await accountHistory(reads, scope, request);
      if (result instanceof NotDone) return result;
      // The audit event says what was looked at; a digest of people's data would outlive them.
      const digest = `position ${result.position ?? 'none'}`;
      const account = core.names.accountRef(scope, accountId);
      return { result, parameters: { account, ...options }, digest };
    });
    const path = `${tenantPath(scope)}/accounts/${encodeURIComponent(accountId)}`;
    if (found instanceof NotDone && found.because.code === 'ACCOUNT_NOT_FOUND')
      throw new ApiError('ACCOUNT_NOT_FOUND');
    const statement = `${tenantPath(scope)}/statement${queryOf({ account: accountId, ...asked })}`;
    return pageSent(
      call,
      { title: `Account ${accountId}`, scope, faults: faultsOf(found) },
      content,
      {
        asked,
        statementPath: hasRole(call.operator, ['finance', 'viewer']) ? statement : null,
        account:
          found instanceof NotDone
            ? null
            : shownAccount(found, path, tenantPath(scope), { ...asked, before, ...order }),
      },
    );
  }
}

function shownAccount(
  account: AccountHistory,
  path: string,
  tenant: string,
  asked: AskedOrder & Readonly<Record<'asOf' | 'position' | 'before', string>>,
) {
  const { referral, events, rewards, rewardCount } = account;
  const oldest = events.at(-1)?.revision ?? '0';
  const { before, sort, dir, ...moment } = asked;
  const asIn = <R>(rows: readonly R[], columns: readonly Column<R>[]) =>
    inOrder(rows, columns, { sort, dir }, (order) => `${path}${queryOf({ ...moment, ...order })}`);
  const sorted = asIn(rewards, REWARD_COLUMNS);
  const people = asIn(account.people, PEOPLE_COLUMNS);
  const referrer = referral?.referrerAccount;
  return {
    ...account,
    rewards: sorted.rows,
    rewardHeads: sorted.heads,
    people: people.rows,
    peopleHeads: people.heads,
    hasMorePeople: account.people.length < account.peopleCount,
    units: account.units.map(shownUnit),
    referrerPath: referrer ? `${tenant}/accounts/${encodeURIComponent(referrer)}` : null,
    hasMoreRewards: rewards.length < rewardCount,
    olderPath:
      events.length < EVENTS_SHOWN_MAX || oldest === '0'
        ? null
        : `${path}${queryOf({ ...moment, before: oldest })}`,
    newestPath: before === '' ? null : `${path}${queryOf(moment)}`,
  };
}

const shownUnit = (unit: ShownUnit) => ({
  unit: unit.unit,
  figures: FIGURES.map((label) => ({
    label,
    name: `${label}:${unit.unit}`,
    value: unit[label],
  })),
  path: stepPath(unit.points) ?? null,
});
