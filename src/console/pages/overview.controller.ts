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
import { hasRole } from '../view/navigation.js';
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

const content = template('overview');

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
