import type { RewardType, SideStatus } from '../program.js';
import type { AccountRef } from '../scope.js';
import type { FraudSignal, PartyIds, PersonId, Profile, Subscription } from './account.events.js';
import { unitOf, type OpenAccount, type RewardState } from './account.state.js';
import { emptyProfile } from './users/identify-user.js';
import { pushStateOf } from './provider/reward-push.js';
import { automaticRedemptionId, partyIds } from './rewards/rewards.js';

/**
 * The visible facts of an account, from the state after a decision or from read models. One shape
 * for both, so that the answer to a write equals the next read; a reward is the row of its read
 * model. Times are epoch milliseconds.
 */

export interface AccountFacts {
  readonly accountId: string;
  readonly currency: string;
  readonly subscription: Subscription;
  /** The code that referred the account; null: not referred, or the owner is forgotten. */
  readonly referralCode: string | null;
}

/** `userId` is the client's id. */
export interface UserFacts extends Omit<Profile, 'id'> {
  readonly accountRef: AccountRef;
  readonly person: PersonId;
  readonly accountId: string;
  readonly userId: string;
  readonly dateCreated: number;
  readonly dateBlocked: number | null;
  /** Primary code by program id. */
  readonly referralCodes: Readonly<Record<string, string>>;
  /** Of the account. */
  readonly paymentProviderId: string | null;
  /** Only for the referred user. `code` is null once its owner is forgotten. */
  readonly referredBy: { readonly code: string | null; readonly isConverted: boolean } | null;
}

export interface RedemptionFacts {
  readonly id: string;
  readonly dateRedeemed: number;
  readonly quantityRedeemed: number;
  /** The provider's id of the payment. Absent: not paid there. */
  readonly externalReference?: string;
}

/** With the members of its value; those of other types are null. */
export interface RewardFacts extends RewardState, PartyIds {
  readonly accountRef: AccountRef;
  readonly type: RewardType;
  readonly unit: string | null;
  readonly currency: string | null;
  readonly discountPercent: number | null;
  readonly monthsDiscountIsValid: number | null;
  readonly assignedCredit: number | null;
  readonly redeemedCredit: number | null;
  readonly redemptions: readonly RedemptionFacts[] | null;
  readonly amount: number | null;
  readonly fuelTankCode: string | null;
  readonly fuelTankType: string | null;
  /** Of a reward that the payment provider pays; null: it stays in the ledger. */
  readonly pushState: 'WAITING' | 'PUSHED' | 'PARKED' | null;
  readonly pushReason: string | null;
  /** The provider's id of the payment or the discount. */
  readonly externalReference: string | null;
}

export interface ReferralFacts {
  readonly referralId: string;
  readonly programId: string;
  readonly referredAccountRef: AccountRef;
  readonly referredPerson: PersonId;
  readonly referrerAccountRef: AccountRef;
  readonly referrerPerson: PersonId;
  readonly referralCodeUsed: string | null;
  readonly shareLinkUsed: string | null;
  readonly referredStatus: SideStatus;
  readonly referrerStatus: SideStatus;
  readonly fraudSignals: Readonly<Record<string, FraudSignal>>;
  readonly referredRewardId: string | null;
  readonly referrerRewardId: string | null;
  readonly dateReferralStarted: number;
  readonly dateReferralPaid: number | null;
  readonly dateReferralEnded: number | null;
  readonly dateModerated: number;
}

/** The type determines the members. Sums are integers. */
export interface BalanceFacts {
  readonly type: RewardType;
  readonly unit: string | null;
  readonly count: number;
  readonly totalRedeemedCredit: number;
  readonly totalAvailableCredit: number;
  readonly totalPendingCredit: number;
  readonly totalExpiredCredit: number;
  readonly totalCancelledCredit: number;
  readonly totalDiscountPercent: number;
  readonly referredDiscountPercent: number;
  readonly referrerDiscountPercent: number;
  readonly totalFuelTankCodes: number;
}

export function accountFacts(state: OpenAccount): AccountFacts {
  return {
    accountId: state.accountId ?? '',
    currency: state.currency,
    subscription: state.subscription ?? { status: 'TRIAL' },
    referralCode: state.attribution?.code ?? null,
  };
}

/** A forgotten user has an empty profile and an empty id. Undefined: not a user of the account. */
export function userFacts(
  state: OpenAccount,
  accountRef: AccountRef,
  person: PersonId,
): UserFacts | undefined {
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
    referralCodes: Object.fromEntries(user.primaryCodes),
    paymentProviderId: state.paymentProviderId,
    referredBy: isReferredUser
      ? { code: state.attribution?.code ?? null, isConverted: state.referral?.datePaid != null }
      : null,
  };
}

/**
 * Redemptions come from the read model alone: the state keeps only their sum. A write answers with
 * a new or cancelled reward, which has none or the automatic one of its grant.
 */
export function rewardFacts(
  state: OpenAccount,
  accountRef: AccountRef,
  reward: RewardState,
): RewardFacts {
  const { value } = reward;
  const isCredit = value.type === 'CREDIT';
  const isTank = value.type === 'FUELTANK';
  const isPercent = value.type === 'PCT_DISCOUNT';
  return {
    ...reward,
    accountRef,
    ...partyIds(state, reward.person),
    type: value.type,
    unit: unitOf(value),
    currency: isCredit ? value.currency : null,
    discountPercent: isPercent ? value.discountPercent : null,
    monthsDiscountIsValid: isPercent ? value.monthsDiscountIsValid : null,
    assignedCredit: isCredit ? value.assignedCredit : null,
    redeemedCredit: isCredit ? reward.redeemed : null,
    redemptions: isCredit ? automaticRedemption(reward) : null,
    amount: isTank ? value.amount : null,
    fuelTankCode: isTank ? value.fuelTankCode : null,
    fuelTankType: isTank ? value.fuelTankType : null,
    pushState: reward.payTo === undefined ? null : pushStateOf(reward.pushed),
    pushReason: reward.pushed?.reason ?? null,
    // Null until a discount is complete for all subscriptions.
    externalReference: reward.pushed?.status === 'PUSHED' ? reward.pushed.reference : null,
  };
}

function automaticRedemption(reward: RewardState): readonly RedemptionFacts[] {
  if (!reward.redeemsAutomatically || reward.redeemed === 0) return [];
  const dateRedeemed = reward.dateScheduledFor ?? reward.dateGiven;
  return [
    { id: automaticRedemptionId(reward.rewardId), dateRedeemed, quantityRedeemed: reward.redeemed },
  ];
}
