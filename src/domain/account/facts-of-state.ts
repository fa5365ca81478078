import type { AccountRef } from '../scope.js';
import type { PersonId } from './account.events.js';
import type { AccountFacts, RewardFacts, UserFacts } from './account.facts.js';
import { unitOf, type OpenAccount, type RewardState } from './account.state.js';
import { emptyProfile } from './identify-user.js';
import { automaticRedemptionId, partyIds } from './rewards.js';

/** What can be shown right after a decision, without waiting for a read model. */

export function accountFacts(state: OpenAccount): AccountFacts {
  return {
    accountId: state.accountId ?? '',
    currency: state.currency,
    subscription: state.subscription ?? { status: 'TRIAL' },
    referralCode: state.attribution?.code ?? null,
  };
}

/** Somebody whom a write was about and who is forgotten since has an empty profile, with an empty id. Undefined: nobody of the account. */
export function userFacts(state: OpenAccount, accountRef: AccountRef, person: PersonId): UserFacts | undefined {
  const user = state.users.get(person);
  if (!user) return undefined;
  const { id, ...profile } = { ...emptyProfile(user.profile?.id ?? ''), ...user.profile };
  const isReferredUser = state.referral?.referred.person === person;
  return {
    ...profile,
    accountRef,
    person,
    accountId: state.accountId ?? '',
    userId: id,
    dateCreated: user.dateCreated,
    dateBlocked: user.dateBlocked,
    referralCodes: user.primaryCodes.toObject(),
    paymentProviderId: state.paymentProviderId,
    referredBy: isReferredUser ? { code: state.attribution?.code ?? null, isConverted: state.referral?.datePaid != null } : null,
  };
}

/**
 * A reward with redemptions is shown from its read model alone: the state keeps their sum, not each of them. What a write answers with
 * is new or cancelled, so it has none, or the one that comes with a reward that redeems itself.
 */
export function rewardFacts(state: OpenAccount, accountRef: AccountRef, reward: RewardState): RewardFacts {
  const { value } = reward;
  const isCredit = value.type === 'CREDIT';
  const isTank = value.type === 'FUELTANK';
  const isPercent = value.type === 'PCT_DISCOUNT';
  return {
    rewardId: reward.rewardId,
    accountRef,
    person: reward.person,
    ...partyIds(state, reward.person),
    type: value.type,
    source: reward.source,
    unit: unitOf(value),
    name: reward.name,
    description: reward.description,
    cancellable: reward.cancellable,
    dateGiven: reward.dateGiven,
    dateExpires: reward.dateExpires,
    dateCancelled: reward.dateCancelled,
    dateScheduledFor: reward.dateScheduledFor,
    currency: isCredit ? value.currency : null,
    discountPercent: isPercent ? value.discountPercent : null,
    monthsDiscountIsValid: isPercent ? value.monthsDiscountIsValid : null,
    assignedCredit: isCredit ? value.assignedCredit : null,
    redeemedCredit: isCredit ? reward.redeemed : null,
    redemptions: isCredit ? automaticRedemption(reward) : null,
    amount: isTank ? value.amount : null,
    fuelTankCode: isTank ? value.fuelTankCode : null,
    fuelTankType: isTank ? value.fuelTankType : null,
  };
}

function automaticRedemption(reward: RewardState): NonNullable<RewardFacts['redemptions']> {
  if (!reward.redeemsAutomatically || reward.redeemed === 0) return [];
  const dateRedeemed = reward.dateScheduledFor ?? reward.dateGiven;
  return [{ id: automaticRedemptionId(reward.rewardId), dateRedeemed, quantityRedeemed: reward.redeemed }];
}
