import type { RewardSource } from '../../src/domain/account/account.events.js';
import type { RewardType } from '../../src/domain/program.js';
import type { LedgerMode } from '../../src/domain/scope.js';
import { TableOf } from '../../src/projecting/table.js';

export type RewardRow = {
  readonly reward_id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly account_ref: string;
  readonly person: string;
  readonly account_id: string;
  readonly user_id: string;
  readonly type: RewardType;
  readonly source: RewardSource;
  readonly unit: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly cancellable: boolean;
  readonly currency: string | null;
  readonly discount_percent: number | null;
  readonly months_discount_is_valid: number | null;
  readonly assigned_credit: number | null;
  readonly redeemed_credit: number | null;
  readonly redeemed_times: number;
  /** Redeemed in full when it becomes available. */
  readonly redeems_automatically: boolean;
  /** Null: the payment provider does not pay it. */
  readonly push_state: 'WAITING' | 'PUSHED' | 'PARKED' | null;
  readonly push_reason: string | null;
  /** The payment provider's id of the payment or the discount. */
  readonly external_reference: string | null;
  readonly amount: number | null;
  readonly fuel_tank_code: string | null;
  readonly fuel_tank_type: string | null;
  readonly referral_id: string | null;
  readonly program_id: string | null;
  readonly date_given: number;
  readonly date_scheduled_for: number | null;
  readonly date_expires: number | null;
  readonly date_cancelled: number | null;
  readonly date_changed: number;
};

/** The columns that the account's state has as well: a write answers from it. */
export type RewardContent = Omit<
  RewardRow,
  'tenant' | 'mode' | 'program_id' | 'redeemed_times' | 'date_changed'
>;

export const rewards = new TableOf<RewardRow>({
  name: 'rewards',
  columns: {
    reward_id: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    account_ref: 'text not null',
    person: 'text not null',
    account_id: 'text not null',
    user_id: 'text not null',
    type: 'text not null',
    source: 'text not null',
    unit: 'text',
    name: 'text',
    description: 'text',
    cancellable: 'boolean not null',
    currency: 'text',
    discount_percent: 'bigint',
    months_discount_is_valid: 'bigint',
    assigned_credit: 'bigint',
    redeemed_credit: 'bigint',
    redeemed_times: 'integer not null',
    redeems_automatically: 'boolean not null',
    push_state: 'text',
    push_reason: 'text',
    external_reference: 'text',
    amount: 'bigint',
    fuel_tank_code: 'text',
    fuel_tank_type: 'text',
    referral_id: 'text',
    program_id: 'text',
    date_given: 'bigint not null',
    date_scheduled_for: 'bigint',
    date_expires: 'bigint',
    date_cancelled: 'bigint',
    date_changed: 'bigint not null',
  },
  primaryKey: ['reward_id'],
  indexes: {
    by_account: { definition: '(account_ref, date_given desc, reward_id)' },
    oldest_first: { definition: '(tenant, mode, date_given, reward_id)' },
    by_push_state: { definition: '(tenant, mode, push_state, account_ref, reward_id)' },
  },
});

export type RedemptionRow = {
  readonly reward_id: string;
  readonly redemption_id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  /** From 1, for each reward. */
  readonly number: number;
  readonly date_redeemed: number;
  readonly quantity: number;
  /** The payment provider's id of the payment; null: not paid there. */
  readonly external_reference: string | null;
};

export const redemptions = new TableOf<RedemptionRow>({
  name: 'redemptions',
  columns: {
    reward_id: 'text not null',
    redemption_id: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    number: 'integer not null',
    date_redeemed: 'bigint not null',
    quantity: 'bigint not null',
    external_reference: 'text',
  },
  primaryKey: ['reward_id', 'redemption_id'],
  indexes: {},
});
