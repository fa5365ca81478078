import type { Readable } from 'node:stream';
import { SHOWN_REWARD_STATES } from '../../domain/account/rewards/shown-state.js';
import { CustomerReads } from '../../operations/customers/lists/customer-lists.js';
import { ACCOUNT_STATES } from '../../../projections/accounts/list-queries.js';
import { MODERATION_STATES, REFERRAL_STATES } from '../../../projections/referrals/list-queries.js';
import { USER_STATES } from '../../../projections/users/list-queries.js';
import { TenantCall } from '../console-call.js';
import { FilePageAt, TenantPage } from '../console-routes.js';
import { DAYS, sendList, type FilterField } from '../view/list-page.js';
import { hasRole } from '../view/navigation.js';
import { shownAmounts } from '../view/shown-amounts.js';
import {
  accountColumns,
  referralColumns,
  rewardColumns,
  userColumns,
  type ShownIn,
} from './customer-columns.js';
import { queried, TenantPages } from './tenant-pages.js';

const TEXT: FilterField = { name: 'text', label: 'Text', placeholder: 'Name, address, id' };
const stateField = (options: readonly string[], label = 'State'): FilterField => ({
  name: label === 'State' ? 'state' : 'moderation',
  label,
  options,
});

/** Days are those of the grant, or of the cancellation. */
const CANCELLED: FilterField = {
  name: 'days',
  label: 'Days of',
  options: [{ value: 'cancelled', words: 'Cancelled on' }],
  none: 'Granted on',
  as: 'cancelledFrom',
  toValue: () => 0,
};
const DAYS_OF_CANCELLED: readonly FilterField[] = [
  { name: 'from', label: 'From', day: 'start', as: 'cancelledFrom' },
  { name: 'to', label: 'To', day: 'end', as: 'cancelledTo' },
];

/** The lists of customers: users, accounts, referrals, rewards. */
@TenantPage()
export class ConsoleCustomersController {
  constructor(
    private readonly pages: TenantPages,
    private readonly reads: CustomerReads,
  ) {}

  @FilePageAt('users', 'finance', 'support')
  async users(@TenantCall() call: TenantCall): Promise<string | Readable> {
    return sendList(this.pages, call, {
      section: '/users',
      name: 'users',
      columns: userColumns(call.tenantPath),
      newest: { sort: 'created', descending: true },
      filters: [TEXT, stateField(USER_STATES), ...(await this.ofPrograms(call)), ...DAYS],
      queries: this.reads.users,
      empty: { text: 'People appear here when your application identifies them.' },
    });
  }

  @FilePageAt('accounts', 'finance', 'support', 'viewer')
  async accounts(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const showsPersonal = hasRole(call.operator, ['finance', 'support']);
    return sendList(this.pages, call, {
      section: '/accounts',
      name: 'accounts',
      columns: accountColumns(await this.shownIn(call), showsPersonal),
      newest: { sort: 'opened', descending: true },
      filters: [...(showsPersonal ? [TEXT] : []), stateField(ACCOUNT_STATES), ...DAYS],
      queries: this.reads.accounts,
      empty: { text: 'Accounts appear here with their first user.' },
    });
  }

  @FilePageAt('referrals', 'finance', 'support')
  async referrals(@TenantCall() call: TenantCall): Promise<string | Readable> {
    return sendList(this.pages, call, {
      section: '/referrals',
      name: 'referrals',
      columns: referralColumns(call.tenantPath),
      newest: { sort: 'started', descending: true },
      filters: [
        TEXT,
        stateField(REFERRAL_STATES),
        stateField(MODERATION_STATES, 'Moderation'),
        ...(await this.ofPrograms(call)),
        ...DAYS,
      ],
      queries: this.reads.referrals,
      empty: { text: 'A referral appears here with the first sign-up by a code.' },
    });
  }

  @FilePageAt('rewards', 'finance', 'support')
  async rewards(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const [program] = await this.ofPrograms(call);
    const { days } = queried(call.query, 'days');
    return sendList(this.pages, call, {
      section: '/rewards',
      name: 'rewards',
      columns: rewardColumns(await this.shownIn(call)),
      newest: { sort: 'given', descending: true },
      filters: [
        TEXT,
        stateField(SHOWN_REWARD_STATES),
        ...(program ? [program] : []),
        { name: 'unit', label: 'Unit' },
        CANCELLED,
        ...(days === 'cancelled' ? DAYS_OF_CANCELLED : DAYS),
      ],
      queries: this.reads.rewards,
      empty: { text: 'Rewards appear here when a program or an operator grants them.' },
    });
  }

  private async shownIn({ scope, tenantPath }: TenantCall): Promise<ShownIn> {
    return { path: tenantPath, amount: await shownAmounts(this.pages.core.tenants, scope) };
  }

  /** The filters by program and code. */
  private async ofPrograms({ scope }: TenantCall): Promise<FilterField[]> {
    const tenant = await this.pages.core.tenants.find(scope.tenant);
    const options = Object.keys(tenant?.programs ?? {});
    return [
      { name: 'program', label: 'Program', options, isOpen: true },
      { name: 'code', label: 'Code' },
    ];
  }
}
