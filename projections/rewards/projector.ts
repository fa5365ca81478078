import {
  listedRedemptions,
  type ListedRedemption,
} from '../../src/domain/account/rewards/bulk-redemption.js';
import { importedRedemptionId } from '../../src/domain/account/imports/import-reward.js';
import type {
  AccountEventOf,
  RewardImportSource,
} from '../../src/domain/account/account.events.js';
import { defineProjector } from '../../src/projecting/define-projector.js';
import type { RowKey, Rows } from '../../src/projecting/projector.js';
import { redemptions, rewards, type RewardRow } from './table.js';

/** Rewards and their redemptions. The reward of a forgotten owner has no row. */
export const rewardsProjector = defineProjector({
  name: 'rewards',
  tables: [rewards, redemptions],
  on: {
    RewardGranted: {
      keys: ({ event }) =>
        event.imported && event.imported.redeemed > 0
          ? redemptionRows(importedRedemption(event, event.imported))
          : [rewards.key(event.rewardId)],
      // Rows are plain literals: made by spreading, they took half of the CPU time of a rebuild
      // (50,000 events).
      apply({ event, tenant, mode, accountRef }, rows) {
        const { value, owner, imported } = event;
        // Granted once: a repetition would reset the redeemed amount.
        if (!owner.value?.userId || rewards.get(rows, event.rewardId)) return;
        const ofCredit = value.type === 'CREDIT' ? value : undefined;
        const ofDiscount = value.type === 'PCT_DISCOUNT' ? value : undefined;
        const ofTank = value.type === 'FUELTANK' ? value : undefined;
        rewards.put(rows, {
          reward_id: event.rewardId,
          tenant,
          mode,
          account_ref: accountRef,
          person: event.person,
          account_id: owner.value.accountId,
          user_id: owner.value.userId,
          type: value.type,
          source: event.source,
          unit: value.type === 'PCT_DISCOUNT' ? '%' : value.unit,
          name: event.texts.value?.name ?? null,
          description: event.texts.value?.description ?? null,
          cancellable: event.cancellable,
          currency: ofCredit?.currency ?? null,
          discount_percent: ofDiscount?.discountPercent ?? null,
          months_discount_is_valid: ofDiscount?.monthsDiscountIsValid ?? null,
          assigned_credit: ofCredit?.assignedCredit ?? null,
          redeemed_credit: ofCredit ? 0 : null,
          redeemed_times: 0,
          redeems_automatically: event.redeemsAutomatically,
          push_state: event.payTo === undefined ? null : 'WAITING',
          push_reason: null,
          external_reference: null,
          amount: ofTank?.amount ?? null,
          fuel_tank_code: ofTank?.fuelTankCode ?? null,
          fuel_tank_type: ofTank?.fuelTankType ?? null,
          referral_id: event.referralId,
          program_id: event.programId,
          date_given: event.at,
          date_scheduled_for: event.dateScheduledFor,
          date_expires: event.dateExpires,
          date_cancelled: imported?.dateCancelled ?? null,
          date_changed: event.at,
        });
        if (imported && imported.redeemed > 0) redeemed(importedRedemption(event, imported), rows);
      },
    },
    CreditRedeemed: {
      keys: ({ event }) => redemptionRows(event),
      apply: ({ event }, rows) => redeemed(event, rows, event.externalReference?.value ?? null),
    },
    RedeemedRewardsListed: {
      keys: ({ event }) => listedRedemptions(event).flatMap(redemptionRows),
      apply({ event }, rows) {
        for (const one of listedRedemptions(event)) redeemed(one, rows);
      },
    },
    RewardCancelled: {
      keys: rewardRow,
      apply({ event: { at, rewardId } }, rows) {
        // Cancelled again, by request after a moderation: the first time stays.
        change(rows, rewardId, (row) => ({
          date_cancelled: row.date_cancelled ?? at,
          date_changed: at,
        }));
      },
    },
    RewardRestored: {
      keys: rewardRow,
      apply({ event: { at, rewardId } }, rows) {
        change(rows, rewardId, () => ({ date_cancelled: null, date_changed: at }));
      },
    },
    ImportedRewardLinked: {
      keys: rewardRow,
      apply({ event: { at, rewardId, referralId } }, rows) {
        change(rows, rewardId, () => ({ referral_id: referralId, date_changed: at }));
      },
    },
    RewardPushStarted: {
      keys: rewardRow,
      apply({ event: { at, rewardId } }, rows) {
        change(rows, rewardId, () => ({
          push_state: 'WAITING',
          push_reason: null,
          cancellable: false,
          date_changed: at,
        }));
      },
    },
    RewardPushed: {
      keys: rewardRow,
      apply({ event: { at, rewardId, reference } }, rows) {
        change(rows, rewardId, () => ({
          push_state: 'PUSHED',
          push_reason: null,
          external_reference: reference.value,
          date_changed: at,
        }));
      },
    },
    RewardPushRefused: {
      keys: rewardRow,
      apply({ event: { at, rewardId, reason } }, rows) {
        change(rows, rewardId, () => ({
          push_state: 'PARKED',
          push_reason: reason,
          date_changed: at,
        }));
      },
    },
  },

  forgetting: {
    lookups: ({ accountRef, persons }) => [
      // Rewards of other people are between them: the next piece starts after them.
      rewards.lookup({ account_ref: [accountRef], person: [...persons] }, [
        { column: 'date_given', descending: true },
        { column: 'reward_id' },
      ]),
    ],

    dependents(_forgotten, rows) {
      const ids = rewards
        .found(rows)
        .flatMap((row) => (row.redeemed_times > 0 ? [row.reward_id] : []));
      return ids.length === 0 ? [] : [redemptions.lookup({ reward_id: ids })];
    },

    clean(_forgotten, rows, { isWhole }) {
      for (const { reward_id, redemption_id } of redemptions.found(rows)) {
        redemptions.delete(rows, reward_id, redemption_id);
      }
      // A reward with remaining redemptions is needed to find them.
      if (!isWhole) return;
      for (const { reward_id } of rewards.found(rows)) rewards.delete(rows, reward_id);
    },
  },
});

function importedRedemption(
  { rewardId }: AccountEventOf<'RewardGranted'>,
  { redeemed: amount, at }: RewardImportSource,
): Omit<ListedRedemption, 'person'> {
  return { rewardId, redemptionId: importedRedemptionId(rewardId), amount, at };
}

function rewardRow({ event }: { readonly event: { readonly rewardId: string } }): RowKey[] {
  return [rewards.key(event.rewardId)];
}

function redemptionRows({
  rewardId,
  redemptionId,
}: Pick<ListedRedemption, 'rewardId' | 'redemptionId'>): RowKey[] {
  return [rewards.key(rewardId), redemptions.key(rewardId, redemptionId)];
}

function change(
  rows: Rows,
  rewardId: string,
  changes: (row: RewardRow) => Partial<RewardRow>,
): void {
  rewards.change(rows, [rewardId], (row) => ({ ...row, ...changes(row) }));
}

function redeemed(
  { rewardId, redemptionId, amount, at }: Omit<ListedRedemption, 'person'>,
  rows: Rows,
  externalReference: string | null = null,
): void {
  const row = rewards.get(rows, rewardId);
  if (!row) return;
  const number = row.redeemed_times + 1;
  rewards.put(rows, {
    ...row,
    redeemed_credit: (row.redeemed_credit ?? 0) + amount,
    redeemed_times: number,
    date_changed: at,
  });
  redemptions.put(rows, {
    reward_id: rewardId,
    redemption_id: redemptionId,
    tenant: row.tenant,
    mode: row.mode,
    number,
    date_redeemed: at,
    quantity: amount,
    external_reference: externalReference,
  });
}
