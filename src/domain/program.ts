/**
 * A program as the deciders see it: what is paid, to whom, when. Parsed from a program file; terms
 * never change under their version.
 */

export type RewardType = 'CREDIT' | 'PCT_DISCOUNT' | 'FUELTANK';
export const REWARD_TYPES: readonly RewardType[] = ['CREDIT', 'PCT_DISCOUNT', 'FUELTANK'];

/** What a reward is worth; one variant per type. Amounts are integers, up to 2^53-1. */
export type RewardValue =
  | {
      readonly type: 'CREDIT';
      readonly unit: string;
      readonly assignedCredit: number;
      readonly currency: string | null;
    }
  | {
      readonly type: 'PCT_DISCOUNT';
      readonly discountPercent: number;
      readonly monthsDiscountIsValid: number | null;
    }
  | {
      readonly type: 'FUELTANK';
      readonly fuelTankCode: string;
      readonly fuelTankType: 'PCT_DISCOUNT' | 'CREDIT';
      readonly amount: number;
      readonly unit: string | null;
    };

type TankValue = Extract<RewardValue, { type: 'FUELTANK' }>;

/**
 * What a program promises to somebody: a tank code is taken from the pool only when it is handed
 * out.
 */
export type PromisedValue = Exclude<RewardValue, TankValue> | PromisedTank;
export type PromisedTank = Omit<TankValue, 'fuelTankCode'>;

/**
 * How many rewards of one rule an account may be granted; null: no bound. Days are those of UTC.
 */
export interface RewardLimit {
  readonly total: number | null;
  readonly perDay: number | null;
}

/** Terms under which a program grants a reward. */
export interface GrantTerms {
  readonly value: PromisedValue;
  readonly name: string | null;
  readonly description: string | null;
  readonly cancellable: boolean;
  /** Days until it expires, counted from when it became available; null: never. */
  readonly validDays: number | null;
  /** Days from earning until it becomes available. */
  readonly delayDays: number;
  readonly limit: RewardLimit | null;
  /** Credit alone: it is redeemed in full the moment it becomes available. */
  readonly redeemsAutomatically: boolean;
}

/** Terms of the reward of one side of a referral. */
export interface RewardTerms extends GrantTerms {
  readonly when: 'STARTED' | 'CONVERTED';
}

export type SideStatus = 'PENDING' | 'APPROVED' | 'DENIED';

/** Which user events count. */
export interface EventCondition {
  readonly key: string;
  /** The first event of the user that fits, `minimum` included; later ones do not count. */
  readonly firstTimeOnly: boolean;
  /** The field must hold a number that is at least the value. */
  readonly minimum: { readonly field: string; readonly value: number } | null;
}

/** What converts a referral. */
export type Conversion = { readonly on: 'PAID' } | ({ readonly on: 'EVENT' } & EventCondition);

/** A reward for an event of a user: to that user, or to whoever referred them. */
export interface EventReward extends EventCondition {
  /** Names the rule within its program, whatever stands before it in the file. */
  readonly rule: string;
  readonly to: 'USER' | 'REFERRER';
  readonly terms: GrantTerms;
}

/** The rules for the two sides of a referral, as events name them. */
export const REFERRED_RULE = 'referredReward';
export const REFERRER_RULE = 'referrerReward';

export const FRAUD_CRITERIA = ['name', 'email', 'ip', 'rate'] as const;
export type FraudCriterion = (typeof FRAUD_CRITERIA)[number];
export type FraudHandling = 'ignore' | 'pending' | 'deny';

/** More than so many referrals of one referrer in so many minutes are too many. */
export interface RateLimit {
  readonly referrals: number;
  readonly minutes: number;
}

export interface Program {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly isDefault: boolean;
  readonly landingPage: string | null;
  readonly conversion: Conversion;
  readonly referredReward: RewardTerms | null;
  readonly referrerReward: RewardTerms | null;
  readonly eventRewards: readonly EventReward[];
  readonly moderation: { readonly referred: SideStatus; readonly referrer: SideStatus };
  readonly fraud: Readonly<Record<FraudCriterion, FraudHandling>>;
  readonly rateLimit: RateLimit;
  /** Types that are redeemed in full the moment they become available. */
  readonly automaticRedemption: readonly RewardType[];
}
