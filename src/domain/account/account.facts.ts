import type { RewardType, SideStatus } from '../program.js';
import type { AccountRef } from '../scope.js';
import type { FraudSignal, PersonId, Profile, RewardSource, Subscription } from './account.events.js';

/**
 * What can be shown of an account and what is in it, whether it was just decided (folded state) or is read (read model).
 * One shape for both, so that the answer to a write and the next read are the same. Times are epoch milliseconds.
 */

export interface AccountFacts {
  readonly accountId: string;
  readonly currency: string;
  readonly subscription: Subscription;
  /** The code the account was referred with; null: not referred, or its owner is forgotten. */
  readonly referralCode: string | null;
}

/** The user's profile, with the client's id of it under a name of its own. */
export interface UserFacts extends Omit<Profile, 'id'> {
  readonly accountRef: AccountRef;
  readonly person: PersonId;
  readonly accountId: string;
  readonly userId: string;
  readonly dateCreated: number;
  readonly dateBlocked: number | null;
  /** Primary code per program id. */
  readonly referralCodes: Readonly<Record<string, string>>;
  /** Of the account; shown at each of its users. */
  readonly paymentProviderId: string | null;
  /** Only at the user who is the referred party. `code` is null once its owner is forgotten. */
  readonly referredBy: { readonly code: string | null; readonly isConverted: boolean } | null;
}

export interface RewardFacts {
  readonly rewardId: string;
  readonly accountRef: AccountRef;
  readonly person: PersonId;
  readonly accountId: string;
  readonly userId: string;
  readonly type: RewardType;
  readonly source: RewardSource;
  readonly unit: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly cancellable: boolean;
  readonly dateGiven: number;
  readonly dateExpires: number | null;
  readonly dateCancelled: number | null;
  readonly dateScheduledFor: number | null;
  readonly currency: string | null;
  readonly discountPercent: number | null;
  readonly monthsDiscountIsValid: number | null;
  readonly assignedCredit: number | null;
  readonly redeemedCredit: number | null;
  readonly redemptions: readonly { readonly id: string; readonly dateRedeemed: number; readonly quantityRedeemed: number }[] | null;
  readonly amount: number | null;
  readonly fuelTankCode: string | null;
  readonly fuelTankType: string | null;
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

/** One entry of a reward balance; which members count depends on the type. Sums are integers. */
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
