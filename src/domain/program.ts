export type RewardType = 'CREDIT' | 'PCT_DISCOUNT' | 'FUELTANK';
export const REWARD_TYPES: readonly RewardType[] = ['CREDIT', 'PCT_DISCOUNT', 'FUELTANK'];

/** One variant per type. Amounts are integers up to 2^53-1. */
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

/** A promised reward: a tank code is taken from the pool only when it is handed out. */
export type PromisedValue = Exclude<RewardValue, TankValue> | PromisedTank;
export type PromisedTank = Omit<TankValue, 'fuelTankCode'>;

/** Rewards of one rule per account; null: unlimited. Days are in UTC. */
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
  /** Days from availability to expiry; null: never. */
  readonly validDays: number | null;
  /** Days from earning until it becomes available. */
  readonly delayDays: number;
  readonly limit: RewardLimit | null;
  /** Credit only: it is redeemed in full when it becomes available. */
  readonly redeemsAutomatically: boolean;
  /** Absent: it stays in the ledger. */
  readonly payTo?: PayTo;
}

/** Pays a reward outside the ledger, on the bill. */
export type PayTo = 'provider';

/** Terms of the reward of one side of a referral. */
export interface RewardTerms extends GrantTerms {
  readonly when: 'STARTED' | 'CONVERTED';
}

export type SideStatus = 'PENDING' | 'APPROVED' | 'DENIED';

export interface EventCondition {
  readonly key: string;
  /** Only the user's first matching event, `minimum` included. */
  readonly firstTimeOnly: boolean;
  /** The field must be a number of at least the value. */
  readonly minimum: { readonly field: string; readonly value: number } | null;
  /** Absent: nothing takes back the earning. */
  readonly refund?: EventRefund;
}

/** The refunding event's key, and the field with the same value in both events. */
export interface EventRefund {
  readonly key: string;
  readonly field: string;
}

export type Conversion = { readonly on: 'PAID' } | ({ readonly on: 'EVENT' } & EventCondition);

/** A reward for a user's event, to that user or to the referrer. */
export interface EventReward extends EventCondition {
  /** Unique in its program, independent of its place in the file. */
  readonly rule: string;
  readonly to: 'USER' | 'REFERRER';
  readonly terms: GrantTerms;
}

/** Names of the two sides' rules in events. */
export const REFERRED_RULE = 'referredReward';
export const REFERRER_RULE = 'referrerReward';
/** Name of the conversion by an event. */
export const CONVERSION_RULE = 'conversion';

export const FRAUD_CRITERIA = ['name', 'email', 'ip', 'rate'] as const;
export type FraudCriterion = (typeof FRAUD_CRITERIA)[number];
export type FraudHandling = 'ignore' | 'pending' | 'deny';

/** More referrals of one referrer in this many minutes raise the rate signal. */
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
  /** A first invoice refunded within this many days ends the referral; null: never. */
  readonly refundDays: number | null;
  /** Types that are redeemed in full when they become available. */
  readonly automaticRedemption: readonly RewardType[];
}
