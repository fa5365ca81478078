import type { AccountEventOf } from '../../src/domain/account/account.events.js';
import type { RewardValue } from '../../src/domain/program.js';
import type { LedgerEvent, Projector, Rows } from '../../src/projecting/projector.js';
import { redemptions, rewards, type RewardRow } from './table.js';

/** Rewards and their redemptions. A reward whose owner is forgotten has no row: it is gone from every read. */
export const rewardsProjector: Projector = {
  name: 'rewards',
  tables: [rewards, redemptions],
  handles: new Set(['RewardGranted', 'CreditRedeemed', 'RewardCancelled', 'RewardRestored']),

  keys({ event }) {
    switch (event.type) {
      case 'RewardGranted':
      case 'RewardCancelled':
      case 'RewardRestored':
        return [rewards.key(event.rewardId)];
      case 'CreditRedeemed':
        return [rewards.key(event.rewardId), redemptions.key(event.rewardId, event.redemptionId)];
      default:
        return [];
    }
  },

  apply(ledgerEvent, rows) {
    const { event } = ledgerEvent;
    const change = (rewardId: string, changes: (row: RewardRow) => Partial<RewardRow>): void =>
      rewards.change(rows, [rewardId], (row) => ({ ...row, ...changes(row), date_changed: event.at }));
    switch (event.type) {
      case 'RewardGranted':
        return granted(ledgerEvent, event, rows);
      case 'CreditRedeemed':
        return redeemed(event, rows);
      case 'RewardCancelled':
        // Cancelled again, by request after a moderation: the first time stands.
        return change(event.rewardId, (row) => ({ date_cancelled: row.date_cancelled ?? event.at }));
      case 'RewardRestored':
        return change(event.rewardId, () => ({ date_cancelled: null }));
      default:
        return;
    }
  },
};

function granted({ tenant, mode, accountRef }: LedgerEvent, event: AccountEventOf<'RewardGranted'>, rows: Rows): void {
  const { value, owner } = event;
  if (!owner.value?.userId) return;
  rewards.put(rows, {
    ...{ reward_id: event.rewardId, tenant, mode, account_ref: accountRef, person: event.person },
    ...{ account_id: owner.value.accountId, user_id: owner.value.userId },
    ...{ source: event.source, name: event.name, description: event.description, cancellable: event.cancellable },
    ...valueColumns(value),
    ...{ redeemed_credit: value.type === 'CREDIT' ? 0 : null, redeemed_times: 0 },
    ...{ referral_id: event.referralId, program_id: event.programId },
    ...{ date_given: event.at, date_scheduled_for: event.dateScheduledFor, date_expires: event.dateExpires, date_cancelled: null },
    date_changed: event.at,
  });
}

type ValueColumns = Pick<
  RewardRow,
  | 'type'
  | 'unit'
  | 'currency'
  | 'discount_percent'
  | 'months_discount_is_valid'
  | 'assigned_credit'
  | 'amount'
  | 'fuel_tank_code'
  | 'fuel_tank_type'
>;

const NO_VALUE = {
  ...{ unit: null, currency: null, discount_percent: null, months_discount_is_valid: null },
  ...{ assigned_credit: null, amount: null, fuel_tank_code: null, fuel_tank_type: null },
};

function valueColumns(value: RewardValue): ValueColumns {
  switch (value.type) {
    case 'CREDIT':
      return { ...NO_VALUE, type: value.type, unit: value.unit, currency: value.currency, assigned_credit: value.assignedCredit };
    case 'PCT_DISCOUNT':
      return {
        ...NO_VALUE,
        type: value.type,
        unit: '%',
        discount_percent: value.discountPercent,
        months_discount_is_valid: value.monthsDiscountIsValid,
      };
    case 'FUELTANK': {
      const { type, unit, amount, fuelTankCode, fuelTankType } = value;
      return { ...NO_VALUE, type, unit, amount, fuel_tank_code: fuelTankCode, fuel_tank_type: fuelTankType };
    }
  }
}

function redeemed({ rewardId, redemptionId, amount, at }: AccountEventOf<'CreditRedeemed'>, rows: Rows): void {
  const row = rewards.get(rows, rewardId);
  if (!row) return;
  const number = row.redeemed_times + 1;
  rewards.put(rows, { ...row, redeemed_credit: (row.redeemed_credit ?? 0) + amount, redeemed_times: number, date_changed: at });
  redemptions.put(rows, {
    ...{ reward_id: rewardId, redemption_id: redemptionId, tenant: row.tenant, mode: row.mode },
    ...{ number, date_redeemed: at, quantity: amount },
  });
}
