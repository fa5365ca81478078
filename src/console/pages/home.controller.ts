import { DailyFigureQueries } from '../../../projections/daily-figures/queries.js';
import { ReferralQueries } from '../../../projections/referrals/queries.js';
import { CustomerSearchQueries } from '../../../projections/users/search-queries.js';
import { UserQueries } from '../../../projections/users/queries.js';
import type { Mode } from '../../domain/scope.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { everyLedger } from '../../operations/customers/search/search-customers.js';
import { tenantAlarms } from '../../operations/tenants/tenant-alarms.js';
import { redirected, sendPage } from '../console-answers.js';
import { ConsoleCall } from '../console-call.js';
import { ConsolePage, PageFor } from '../console-routes.js';
import { amountCell, countCell, stateCell, textCell } from '../view/cells.js';
import { tenantPath } from '../view/navigation.js';
import { tablesOf } from '../view/page-tables.js';
import { column, type TableColumn } from '../view/table.js';
import { amountText, template } from '../view/templates.js';
import { sendSearch } from './search-page.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';

type ListedTenant = Awaited<ReturnType<ConsoleHomeController['listed']>>;

const COLUMNS: readonly TableColumn<ListedTenant>[] = [
  column('tenant', ({ alias, mode }) =>
    textCell(alias, { path: tenantPath({ tenant: alias, mode }) }),
  ),
  column('mode', ({ mode }) => textCell(mode === 'live' ? 'Live' : 'Test')),
  column('state', ({ state }) => stateCell(state)),
  column('alarms', ({ alarms }) => amountCell(alarms, alarms === 0 ? 'None' : String(alarms))),
  column(['users', 'minor'], ({ users }) => countCell(users)),
  column(['outstanding', 'Outstanding credit'], ({ outstanding }) => textCell(outstanding || null)),
];

const content = template('tenants');

/** The first page of the console: the tenants, and the search in all of them. */
@ConsolePage()
export class ConsoleHomeController {
  constructor(
    readonly pages: TenantPages,
    readonly users: UserQueries,
    readonly referrals: ReferralQueries,
    readonly days: DailyFigureQueries,
    readonly queries: CustomerSearchQueries,
  ) {}

  @PageFor('finance', 'support', 'viewer')
  async home(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const { core } = this.pages;
    const { search, test, ...asked } = queried(call.query, 'search', 'test', 'sort', 'dir', 'page');
    if (search !== '') return sendSearch(this, call, await everyLedger(core));
    const tenants = await core.tenantCommands.list();
    const [only] = tenants;
    if (queryOf(asked) === '' && test === '' && only !== undefined && tenants.length === 1)
      return redirected(call, tenantPath({ tenant: only.alias, mode: 'live' }));
    const modes: readonly Mode[] = test === 'yes' ? ['test'] : ['live'];
    const listed = await Promise.all(
      tenants.flatMap((tenant) => modes.map((mode) => this.listed(tenant, mode))),
    );
    const { view: table } = tablesOf(call, '/console', { test })({
      label: 'Tenants',
      rows: listed,
      columns: COLUMNS,
      order: '-alarms',
      empty: { text: 'There is no tenant yet. An administrator creates one: tenant create ALIAS.' },
      file: null,
    });
    const frame = { title: 'Tenants', section: '/console' };
    return sendPage(call, frame, content, { table, isTest: test === 'yes' });
  }

  async listed({ alias, suspended }: OpenTenant, mode: Mode) {
    const { core } = this.pages;
    const scope = await core.tenants.ledger({ tenant: alias, mode });
    const [alarms, users, figures, money] = await Promise.all([
      tenantAlarms(core, this, scope),
      this.users.list(scope, { limit: 0, offset: 0 }),
      this.days.upTo(scope, await core.tenants.now(scope)),
      this.pages.moneyOfAll(scope),
    ]);
    return {
      alias,
      mode,
      state: suspended === null ? 'Active' : 'Suspended',
      alarms: Object.values(alarms).reduce((sum, count) => sum + count, 0),
      users: users.totalCount,
      /** Outstanding credit by unit, as shown. */
      outstanding: figures.units
        .filter(({ outstanding }) => outstanding !== 0n)
        .map(({ unit, outstanding }) => amountText(outstanding, unit, money))
        .join(', '),
    };
  }
}
