import { AccountQueries } from '../../../projections/accounts/queries.js';
import {
  DailyFigureQueries,
  type UnitFigures,
} from '../../../projections/daily-figures/queries.js';
import { ReferralQueries } from '../../../projections/referrals/queries.js';
import { RewardQueries } from '../../../projections/rewards/queries.js';
import { UserQueries } from '../../../projections/users/queries.js';
import type { Scope } from '../../domain/scope.js';
import { backgroundWork } from '../../operations/ledger/background-work.js';
import { findAccounts } from '../../operations/accounts/find-accounts.js';
import { OwnWrites } from '../../http/writing/own-writes.js';
import { PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import { hasRole } from '../view/layout.js';
import { plotView } from '../view/plot.js';
import { template } from '../view/templates.js';
import { queried, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone } from '../../operations/outcome.js';

const DAY_MS = 86_400_000;
const PLOTTED_DAYS = 90;
const SEARCHED = ['accounts', 'users', 'rewards', 'referrals'] as const;
/** How long a search waits for what was written before it. */
const WAIT_MS = 5_000;

const content = template(`
<form class="fields narrow" method="get" role="search">
{{formField 'search' label="${TEXTS.common.search}" type="search" value=search autofocus=true placeholder=searchHint}}
<button>${TEXTS.common.search}</button>
</form>
{{#if search}}
{{#if found.length}}<table><thead><tr><th scope="col">${TEXTS.fields.account}</th><th scope="col">${TEXTS.overview.foundBy}</th></tr></thead>
<tbody>{{#each found}}<tr><td><a href="{{path}}">{{accountId}}</a></td><td>{{because}}</td></tr>{{/each}}</tbody></table>{{#if isCut}}<p class="note">${TEXTS.overview.foundMore('{{amount people}}')}</p>{{/if}}
{{else}}<p class="empty">{{#if showsPersonal}}${TEXTS.overview.nothingFound('{{search}}')}{{else}}${TEXTS.overview.noSuchId('{{search}}')}{{/if}}</p>{{/if}}
{{/if}}
{{#if suspension}}<p class="problem">${TEXTS.settings.suspended('{{time suspension.since}}', '{{suspension.reason}}')}</p>{{/if}}
<div id="figures" data-live="{{here}}">
<h2>${TEXTS.overview.figures}</h2>
<dl class="figures">{{#each figures}}<div><dt>{{label}}</dt><dd>{{figure name value unit}}</dd></div>{{/each}}</dl>
<h2>${TEXTS.overview.behindTheLedger}</h2>
<dl class="figures">
<div><dt>${TEXTS.overview.behindBy}</dt><dd>{{figure 'lag.events' background.lagEvents 'events'}}</dd></div>
<div><dt>${TEXTS.overview.behindSince}</dt><dd>{{#if background.lagEvents}}{{figure 'lag.seconds' background.lagSeconds 's ago'}}{{else}}<span data-figure="lag.seconds" data-value="{{background.lagSeconds}}">${TEXTS.overview.none}</span>{{/if}}</dd></div>
<div><dt>${TEXTS.overview.oldestWebhook}</dt><dd>{{#if background.oldestWaitingWebhook}}{{moment 'webhooks.oldest' background.oldestWaitingWebhook}}{{else}}<span data-figure="webhooks.oldest" data-value="none">${TEXTS.overview.none}</span>{{/if}}</dd></div>
<div><dt>${TEXTS.overview.deadWebhooks}</dt><dd>{{figure 'webhooks.dead' background.deadWebhooks ''}}</dd></div>
<div><dt>${TEXTS.overview.sealedUpTo}</dt><dd>{{moment 'sealed' background.sealedUpTo}}</dd></div>
</dl>
{{#if running.length}}<h2>${TEXTS.overview.running}</h2>
<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">${TEXTS.common.begun}</th><th scope="col">${TEXTS.common.operation}</th><th scope="col">${TEXTS.common.who}</th><th scope="col">${TEXTS.common.progress}</th></tr></thead>
<tbody>{{#each running}}<tr><td>{{time startedAt}}</td><td>{{operation}}</td><td>{{by}}</td><td>{{progress}}</td></tr>{{/each}}</tbody></table></div>{{/if}}
{{#each plots}}<h2>${TEXTS.overview.plotTitle('{{unit}}', PLOTTED_DAYS)}</h2>
{{> plot plot=this}}{{/each}}
</div>`);

/** The first page of a tenant: figures and the search. */
@TenantPage()
export class ConsoleOverviewController {
  constructor(
    private readonly pages: TenantPages,
    private readonly accounts: AccountQueries,
    private readonly users: UserQueries,
    private readonly rewards: RewardQueries,
    private readonly referrals: ReferralQueries,
    private readonly days: DailyFigureQueries,
    private readonly ownWrites: OwnWrites,
  ) {}

  @PageFor('finance', 'support', 'viewer')
  async overview(@TenantCall() call: TenantCall): Promise<string> {
    const { search } = queried(call.query, 'search');
    const { accounts, users, rewards, referrals } = this;
    const models = { accounts, users, rewards, referrals };
    const showsPersonal = hasRole(call.operator, ['finance', 'support']);
    const found =
      search === ''
        ? null
        : await this.pages.recorded(call, 'console search', async (core) => {
            await this.ownWrites.visible({
              scope: call.ledger,
              projections: SEARCHED,
              atLeast: undefined,
              departure: AbortSignal.timeout(WAIT_MS),
            });
            const asked = { scope: call.ledger, text: search, showsPersonal };
            const result = await findAccounts(core, models, asked);
            return { result, parameters: { text: core.names.digest('console-search', search) } };
          });
    if (found instanceof NotDone) throw new Error('a search is never refused');
    const pathOf = (accountId: string): string =>
      `${call.tenantPath}/accounts/${encodeURIComponent(accountId)}`;
    const named = found?.accounts ?? [];
    const [only] = named;
    if (only !== undefined && named.length === 1) return redirected(call, pathOf(only.accountId));
    return pageSent(call, { title: call.scope.tenant, section: '' }, content, {
      search,
      showsPersonal,
      searchHint: showsPersonal ? TEXTS.overview.searchHint : TEXTS.overview.idSearchHint,
      people: found?.people ?? 0,
      isCut: found?.isCut ?? false,
      found: named.map((one) => ({ ...one, path: pathOf(one.accountId) })),
      ...(await this.figures(call.ledger)),
      suspension: await this.suspensionOf(call.scope),
      running: await this.pages.running(call.scope),
      background: await backgroundWork(this.pages.core, call.ledger),
      here: call.tenantPath,
    });
  }

  private async suspensionOf({ tenant }: Scope) {
    const found = await this.pages.core.tenants.find(tenant);
    const suspended = found?.suspended;
    return suspended
      ? { since: new Date(suspended.since).toISOString(), reason: suspended.reason }
      : null;
  }

  private async figures(scope: Scope) {
    const { referrals } = this;
    const none = { limit: 0, offset: 0 };
    const now = await this.pages.core.tenants.now(scope);
    const [users, all, waiting, sums] = await Promise.all([
      this.users.list(scope, none),
      referrals.list(scope, {}, none),
      waitingReferrals(referrals, scope),
      this.days.upTo(scope, now),
    ]);
    const figures = [
      { label: TEXTS.overview.users, name: 'users', value: users.totalCount, unit: '' },
      { label: TEXTS.overview.referrals, name: 'referrals', value: all.totalCount, unit: '' },
      { label: TEXTS.overview.conversions, name: 'conversions', value: sums.conversions, unit: '' },
      {
        label: TEXTS.overview.rewardsGranted,
        name: 'rewards',
        value: sums.rewardsGranted,
        unit: '',
      },
      { label: TEXTS.overview.toBeModerated, name: 'referrals.pending', value: waiting, unit: '' },
      ...sums.units.flatMap(({ unit, redeemed, outstanding }) => [
        { label: TEXTS.common.redeemed, name: `redeemed:${unit}`, value: redeemed, unit },
        {
          label: TEXTS.overview.outstandingCredit,
          name: `outstanding:${unit}`,
          value: outstanding,
          unit,
        },
      ]),
    ];
    return { figures, plots: sums.units.flatMap((unit) => plotOf(unit, now)) };
  }
}

/** Of the last days; none where nothing was ever outstanding. */
function plotOf({ unit, days, outstanding }: UnitFigures, now: number) {
  const start = now - PLOTTED_DAYS * DAY_MS;
  const points = days.map(({ day, outstanding: amount }) => ({
    at: Date.parse(day),
    balance: Number(amount),
  }));
  const before = points.findLast(({ at }) => at < start)?.balance ?? 0;
  const plot = plotView(TEXTS.overview.plotOf(unit), [
    { at: start, balance: before },
    ...points.filter(({ at }) => at >= start),
    { at: now, balance: Number(outstanding) },
  ]);
  return plot === null ? [] : [{ unit, ...plot }];
}

/** How many have a side that waits for a decision. */
async function waitingReferrals(referrals: ReferralQueries, scope: Scope): Promise<number> {
  const none = { limit: 0, offset: 0 };
  const [referred, referrer, both] = await Promise.all([
    referrals.list(scope, { referredStatus: 'PENDING' }, none),
    referrals.list(scope, { referrerStatus: 'PENDING' }, none),
    referrals.list(scope, { referredStatus: 'PENDING', referrerStatus: 'PENDING' }, none),
  ]);
  return referred.totalCount + referrer.totalCount - both.totalCount;
}
