import type { RewardType } from '../../src/domain/program.js';
import type { LedgerMode } from '../../src/domain/scope.js';
import { TableOf } from '../../src/projecting/table.js';
import type { BalanceItem, Bucket, Figures } from './contribution.js';

export type BalanceItemRow = BalanceItem & {
  readonly reward_id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly account_ref: string;
  readonly person: string;
  readonly user_id: string;
  /** In lower case, '' without a unit: units are compared without case. */
  readonly unit_key: string;
  /** Derived from phase and cancellation; stored for readers of the table. */
  readonly bucket: Bucket;
  readonly date_given: number;
  /** When the clock will change the bucket, unless an event does before. */
  readonly due_at: number | null;
};

export const balanceItems = new TableOf<BalanceItemRow>({
  name: 'balance_items',
  columns: {
    reward_id: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    account_ref: 'text not null',
    person: 'text not null',
    user_id: 'text not null',
    type: 'text not null',
    unit_key: 'text not null',
    source: 'text not null',
    bucket: 'text not null',
    phase: 'text not null',
    cancelled: 'boolean not null',
    assigned: 'bigint not null',
    redeemed: 'bigint not null',
    percent: 'bigint not null',
    date_given: 'bigint not null',
    date_scheduled_for: 'bigint',
    date_expires: 'bigint',
    redeems_automatically: 'boolean not null',
    due_at: 'bigint',
  },
  primaryKey: ['reward_id'],
  indexes: {
    due: { definition: '(account_ref, due_at) where due_at is not null' },
    by_person: { definition: '(person)' },
  },
});

export type BalanceRow = Figures & {
  readonly account_ref: string;
  readonly person: string;
  readonly type: RewardType;
  readonly unit_key: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly user_id: string;
  readonly account_id: string;
  /** In the spelling of the first reward of the kind. */
  readonly unit: string | null;
  /** The revision of that reward's event: of several people's spellings the earliest is shown. */
  readonly first_revision: number;
  readonly date_created: number;
};

/** One row per person, type and unit that ever had a reward. */
export const balances = new TableOf<BalanceRow>({
  name: 'reward_balances',
  columns: {
    account_ref: 'text not null',
    person: 'text not null',
    type: 'text not null',
    unit_key: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    user_id: 'text not null',
    account_id: 'text not null',
    unit: 'text',
    first_revision: 'bigint not null',
    date_created: 'bigint not null',
    count: 'bigint not null',
    redeemed_credit: 'bigint not null',
    available_credit: 'bigint not null',
    pending_credit: 'bigint not null',
    expired_credit: 'bigint not null',
    cancelled_credit: 'bigint not null',
    discount_percent: 'bigint not null',
    referred_percent: 'bigint not null',
    referrer_percent: 'bigint not null',
    fuel_tank_codes: 'bigint not null',
  },
  primaryKey: ['account_ref', 'person', 'type', 'unit_key'],
  indexes: { oldest_first: { definition: '(tenant, mode, date_created)' } },
});
