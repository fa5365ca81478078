import { LRUCache } from 'lru-cache';
import { DailyFigureQueries } from '../../../projections/daily-figures/queries.js';
import { ReferralQueries } from '../../../projections/referrals/queries.js';
import { CustomerSearchQueries } from '../../../projections/users/search-queries.js';
import { UserQueries } from '../../../projections/users/queries.js';
import { CustomerReads } from '../../operations/customers/lists/customer-lists.js';
import { formatOf } from '../../domain/tenant/unit-settings.js';
import { unitKey } from '../../domain/units.js';
import { tenantAlarms } from '../../operations/tenants/tenant-alarms.js';
import { tenantOverview } from '../../operations/tenants/tenant-overview.js';
import { sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { PageFor, TenantPage } from '../console-routes.js';
import { shownAmounts, sumsByUnit } from '../view/shown-amounts.js';
import { alarmViews } from '../view/alarms.js';
import { hasRole } from '../view/navigation.js';
import { overviewCharts, overviewFigures } from '../view/overview-figures.js';
import { template } from '../view/templates.js';
import { sendSearch } from './search-page.js';
import { queried, TenantPages } from './tenant-pages.js';

const RANGES = [30, 90, 365] as const;

const content = template('overview');

/** The first page of a tenant: what needs a person, figures and charts; and its search. */
@TenantPage()
export class ConsoleOverviewController {
  private readonly parts = new LRUCache<string, ReadonlyMap<string, readonly string[]>>({
    max: 1_000,
    ttl: 15_000,
  });

  constructor(
    readonly pages: TenantPages,
    readonly users: UserQueries,
    readonly referrals: ReferralQueries,
    readonly days: DailyFigureQueries,
    readonly customers: CustomerReads,
    readonly queries: CustomerSearchQueries,
  ) {}

  @PageFor('finance', 'support', 'viewer')
  async overview(@TenantCall() call: TenantCall): Promise<string> {
    const { search, range } = queried(call.query, 'search', 'range');
    if (search !== '') return sendSearch(this, call, [call.ledger]);
    const { pages, users, referrals, days, customers } = this;
    const count = RANGES.find((one) => String(one) === range) ?? RANGES[0];
    const now = await pages.core.tenants.now(call.ledger);
    const models = { users, referrals, days, customers };
    const [overview, alarms, money, tenant] = await Promise.all([
      tenantOverview(models, call.ledger, { count, now }),
      tenantAlarms(pages.core, this, call.ledger),
      pages.moneyOfAll(call.ledger),
      pages.core.tenants.find(call.scope.tenant),
    ]);
    const formats = tenant?.units.formats ?? [];
    const isMixed = overview.units.some(
      ({ unit }) => money(unit) === undefined && formatOf(formats, unit, unit) !== undefined,
    );
    const parts = isMixed ? await this.partsByCurrency(call) : new Map<string, readonly string[]>();
    const suspended = tenant?.suspended ?? null;
    const frame = { title: call.scope.tenant, section: '', hasCharts: true };
    return sendPage({ ...call, money }, frame, content, {
      here: call.tenantPath,
      ranges: RANGES.map((one) => ({ days: one, isHere: one === count })),
      count,
      alarms: alarmViews(alarms, call),
      figures: overviewFigures(overview, call, money, (unit) => parts.get(unitKey(unit)) ?? []),
      charts: overviewCharts(overview, money),
      isEmpty: overview.users.value === 0,
      isStaff: hasRole(call.operator, ['finance', 'support']),
      alias: call.scope.tenant,
      suspended: suspended && { since: suspended.since, reason: suspended.reason },
    });
  }

  /** Outstanding credit by unit, a line for each of several currencies; kept between refreshes. */
  private async partsByCurrency({ scope, ledger }: TenantCall) {
    const key = JSON.stringify(ledger);
    const known = this.parts.get(key);
    if (known !== undefined) return known;
    const [sums, text] = await Promise.all([
      this.customers.balanceSums(ledger),
      shownAmounts(this.pages.core.tenants, scope),
    ]);
    const amounts = sums.map((sum) => ({ ...sum, value: sum.available }));
    const made = new Map(
      sumsByUnit(amounts, text).map(({ unit, parts }) => [unitKey(unit), parts] as const),
    );
    this.parts.set(key, made);
    return made;
  }
}
