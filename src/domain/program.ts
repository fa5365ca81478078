/** A program as the deciders see it: what is paid, to whom, when. Parsed from a program file; terms never change under their version. */

export type RewardType = 'CREDIT' | 'PCT_DISCOUNT' | 'FUELTANK';
export const REWARD_TYPES: readonly RewardType[] = ['CREDIT', 'PCT_DISCOUNT', 'FUELTANK'];

/** What a reward is worth; one variant per type. Amounts are integers, up to 2^53-1. */
export type RewardValue =
  | { readonly type: 'CREDIT'; readonly unit: string; readonly assignedCredit: number; readonly currency: string | null }
  | { readonly type: 'PCT_DISCOUNT'; readonly discountPercent: number; readonly monthsDiscountIsValid: number | null }
  | {
      readonly type: 'FUELTANK';
      readonly fuelTankCode: string;
      readonly fuelTankType: 'PCT_DISCOUNT' | 'CREDIT';
      readonly amount: number;
      readonly unit: string | null;
    };

/** Terms of a reward that a program grants. */
export interface RewardTerms {
  readonly value: RewardValue;
  readonly when: 'STARTED' | 'CONVERTED';
  readonly name: string | null;
  readonly description: string | null;
  readonly cancellable: boolean;
  /** Days until it expires, counted from when it became available; null: never. */
  readonly validDays: number | null;
  /** Days from earning until it becomes available. */
  readonly delayDays: number;
}

export type SideStatus = 'PENDING' | 'APPROVED' | 'DENIED';

export interface Program {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly isDefault: boolean;
  readonly landingPage: string | null;
  readonly referredReward: RewardTerms | null;
  readonly referrerReward: RewardTerms | null;
  readonly moderation: { readonly referred: SideStatus; readonly referrer: SideStatus };
}
