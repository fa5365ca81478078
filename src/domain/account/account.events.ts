import type { Personal, SubjectId } from '../personal.js';
import type { GrantTerms, RewardTerms, RewardValue, SideStatus } from '../program.js';
import type { LapsingKind } from '../reservation/reservation-kind.js';
import type { AccountRef } from '../scope.js';

/**
 * What can happen to an account: its users, its referral (as the referred party), its rewards, its
 * subscription. `at` is the time the fact took effect, epoch milliseconds; it is stored in the
 * envelope.
 */

/**
 * A person's id within the ledger: a UUID made by us, also the name of the key that encrypts what
 * is known of the person.
 */
export type PersonId = SubjectId;

export const SUBSCRIPTION_STATUSES = ['PAID', 'TRIAL', 'FREE', 'CANCELLED'] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];
export const BILLING_INTERVALS = [
  'DAY',
  'WEEK',
  'MONTH',
  'QUARTER',
  'SEMI_ANNUAL',
  'YEAR',
] as const;
export type BillingInterval = (typeof BILLING_INTERVALS)[number];

/**
 * Replaced as a whole; unset members are left out. `value` may have decimals: it is the price, no
 * credit.
 */
export interface Subscription {
  readonly status: SubscriptionStatus;
  readonly value?: number;
  readonly billingIntervalType?: BillingInterval;
  readonly billingIntervalValue?: number;
}

export type CustomFieldValue = string | number | boolean;

/** What is known of a person, all of it encrypted in the log. Null: no value. */
export interface Profile {
  readonly id: string;
  readonly email: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly imageUrl: string | null;
  readonly locale: string | null;
  readonly countryCode: string | null;
  readonly referable: boolean;
  readonly customFields: Readonly<Record<string, CustomFieldValue>>;
  readonly segments: readonly string[];
  readonly cookieId: string | null;
  readonly referralSource: string | null;
  readonly firstSeenIP: string | null;
  readonly lastSeenIP: string | null;
  readonly firstSeenUserAgent: string | null;
  readonly lastSeenUserAgent: string | null;
}

/** The ids that a client knows somebody by. */
export interface PartyIds {
  readonly accountId: string;
  readonly userId: string;
}

/** One side of a referral. `ids` is encrypted with the person's key. */
export interface Party {
  readonly account: AccountRef;
  readonly person: PersonId;
  readonly ids: Personal<PartyIds>;
}

export type RewardSource = 'FRIEND_SIGNUP' | 'REFERRED' | 'MANUAL' | 'EVENT';

/**
 * Names a reward in every event about it, so that each event can be posted without looking another
 * one up.
 */
export interface RewardRef {
  readonly rewardId: string;
  readonly person: PersonId;
  readonly rewardType: RewardValue['type'];
  /** As the reward was given; `%` for percentages, null for a tank code without one. */
  readonly unit: string | null;
}

/** What people read about a reward. */
export interface RewardTexts {
  readonly name: string | null;
  readonly description: string | null;
}

export interface FraudSignal {
  readonly message: string;
  readonly score: number;
}

/** A referral that a user of an account is about to make. */
export interface AnnouncedReferral {
  readonly referralId: string;
  /** The referred account. It is referred at most once: announced again, it counts once. */
  readonly account: AccountRef;
  /** The referrer. */
  readonly person: PersonId;
  readonly at: number;
}

/** Why a reward that was due was not given. */
export type WithheldReason =
  | 'AMOUNT_TOO_LARGE'
  | 'LIMIT_REACHED'
  | 'POOL_EMPTY'
  | 'SIDE_NOT_APPROVED'
  | 'REFERRER_BLOCKED'
  | 'REFERRER_GONE';

/** A value of free-form fields. */
export type EventField =
  | string
  | number
  | boolean
  | null
  | readonly EventField[]
  | { readonly [name: string]: EventField };

/**
 * What somebody did, as a client told it. Encrypted in the log: fields and even keys may say
 * anything of a person.
 */
export interface UserEventContent {
  /** The client's id of it, or the one that it was given. */
  readonly id: string;
  readonly key: string;
  readonly fields: Readonly<Record<string, EventField>>;
  /** As the client says, epoch milliseconds. No rule depends on it. */
  readonly dateTriggered: number;
}

/**
 * A correction by an operator. The reason is free text and goes with the person whose credit it is;
 * the names of staff have keys of their own, so that they outlast that person.
 */
export interface Adjustment {
  readonly reason: Personal<string>;
  readonly approvedBy: Personal<string>;
  /** Who entered it. */
  readonly by: Personal<string>;
}

type Fact<T extends string, D> = { readonly type: T; readonly at: number } & Readonly<D>;

export type AccountEvent =
  | Fact<'AccountOpened', { account: SubjectId; accountId: Personal<string>; currency: string }>
  | Fact<'SubscriptionChanged', { subscription: Subscription }>
  | Fact<'CurrencyChanged', { currency: string }>
  /**
   * A code was given for the account. The referral itself starts with its first referable user.
   * `code` is encrypted with its owner's key.
   */
  | Fact<'AccountAttributed', { code: Personal<string>; referrer: Party; programId: string }>
  | Fact<'PaymentProviderIdSet', { paymentProviderId: Personal<string> }>
  | Fact<'UserIdentified', { person: PersonId; profile: Personal<Profile> }>
  /** The members that changed, with their new values. */
  | Fact<'UserProfileChanged', { person: PersonId; changes: Personal<Partial<Profile>> }>
  /** The user's primary code in that program from now on; earlier ones keep working. */
  | Fact<'ReferralCodeAssigned', { person: PersonId; code: Personal<string>; programId: string }>
  | Fact<'UserBlocked', { person: PersonId }>
  | Fact<'UserUnblocked', { person: PersonId }>
  | Fact<
      'ReferralStarted',
      {
        referralId: string;
        programId: string;
        programVersion: number;
        code: Personal<string>;
        /**
         * Nothing tells so far: the landing page is told code and media, and no call of a client
         * says them again.
         */
        shareLinkUsed: string | null;
        referred: Party;
        referrer: Party;
        referredStatus: SideStatus;
        referrerStatus: SideStatus;
        fraudSignals: Readonly<Record<string, FraudSignal>>;
        /**
         * The referrer's other referrals that, with this one, are too many in too short a time:
         * they get the signal, too.
         */
        tooManyWith: readonly { readonly referralId: string; readonly account: AccountRef }[];
        /**
         * What each side earns by the start, under the terms of this moment; null: nothing yet.
         * Granted only to an approved side.
         */
        referredReward: RewardTerms | null;
        referrerReward: RewardTerms | null;
      }
    >
  | Fact<
      'ReferralConverted',
      {
        referralId: string;
        programId: string;
        programVersion: number;
        referrer: Party;
        referredStatus: SideStatus;
        /** After the conversion: a referrer who was blocked meanwhile is denied here. */
        referrerStatus: SideStatus;
        /** What each side earns by the conversion, under the terms of this moment. */
        referredReward: RewardTerms | null;
        referrerReward: RewardTerms | null;
      }
    >
  | Fact<'ReferralEnded', { referralId: string }>
  /**
   * Signals that later referrals brought upon this one, perhaps before it started. The statuses of
   * its sides stay.
   */
  | Fact<
      'ReferralFlagged',
      { referralId: string; fraudSignals: Readonly<Record<string, FraudSignal>> }
    >
  /** In the referrer's account: another account is about to be referred by this person. */
  | Fact<'ReferralAnnounced', { referralId: string; account: AccountRef; person: PersonId }>
  /** It was not, after all. */
  | Fact<'ReferralWithdrawn', { referralId: string }>
  /** Somebody else may take over what was reserved for this account and never recorded here. */
  | Fact<'ReservationLapsed', { kind: LapsingKind; holder: PersonId | null }>
  /**
   * Something that a user did. `batch` is the keyed hash of the idempotency key that came with it.
   */
  | Fact<
      'UserEventReceived',
      {
        userEventId: string;
        person: PersonId;
        batch: string | null;
        content: Personal<UserEventContent>;
      }
    >
  /**
   * An event of the referred user has earned the referrer a reward, under the terms of this moment.
   */
  | Fact<
      'ReferrerRewardEarnedByEvent',
      {
        referralId: string;
        userEventId: string;
        referrer: Party;
        programId: string;
        programVersion: number;
        rule: string;
        terms: GrantTerms;
      }
    >
  /** A moderation holds the rewards of these referrals until it is applied or released. */
  | Fact<'ModerationPrepared', { moderationId: string; referralIds: readonly string[] }>
  | Fact<'ModerationReleased', { moderationId: string }>
  /** The referred account's record of a moderation: the statuses after it. */
  | Fact<
      'ReferralModerated',
      {
        moderationId: string;
        referralId: string;
        referredStatus: SideStatus;
        referrerStatus: SideStatus;
        referrer: Party;
        /**
         * What the referrer has earned so far under recorded terms and has not been granted for
         * want of approval; null: nothing.
         */
        referrerReward: RewardTerms | null;
        programId: string;
        programVersion: number;
      }
    >
  /** The referrer's account's record of a moderation of its side. */
  | Fact<'ReferrerSideModerated', { moderationId: string; referralId: string; status: SideStatus }>
  | Fact<
      'RewardGranted',
      {
        rewardId: string;
        person: PersonId;
        owner: Personal<PartyIds>;
        source: RewardSource;
        value: RewardValue;
        /** Free text of whoever gave it: it may name the person. Without any it is null. */
        texts: Personal<RewardTexts>;
        cancellable: boolean;
        /** Epoch milliseconds; null: available at once, never expires. */
        dateScheduledFor: number | null;
        dateExpires: number | null;
        referralId: string | null;
        programId: string | null;
        programVersion: number | null;
        /** The rule of the program that granted it; null: given by hand. */
        rule: string | null;
        /** Credit that is redeemed in full the moment it becomes available. */
        redeemsAutomatically: boolean;
        /** Left out: no correction. */
        adjustment?: Adjustment;
      }
    >
  /** A reward that was due and was not given; the rest went on. It is not given later either. */
  | Fact<
      'RewardWithheld',
      {
        /** Null in facts from before rules were named. */
        rewardId: string | null;
        referralId: string | null;
        /** Whose it would have been: of this account, or the referrer. */
        person: PersonId;
        programId: string | null;
        programVersion: number | null;
        rule: string | null;
        reason: WithheldReason;
      }
    >
  | Fact<'RewardBecameAvailable', RewardRef & { amount: number }>
  | Fact<'RewardExpired', RewardRef & { amount: number }>
  | Fact<
      'CreditRedeemed',
      RewardRef & { redemptionId: string; amount: number; adjustment?: Adjustment }
    >
  /**
   * An amount was taken from very many rewards of a unit: of what could be spent at `at`, before
   * this event, by soonest expiry, then by what was given first, then by id. All of it at once, by
   * this event; which rewards it came from is listed after it. What this rule means never changes:
   * another rule is another type.
   */
  | Fact<
      'AccountCreditRedeemed',
      {
        redemptionId: string;
        /** As the first of the rewards spells it. */
        unit: string;
        amount: number;
        /** Whose rewards alone; null: the whole account's. */
        onlyOf: PersonId | null;
        /** How many there are. */
        rewards: number;
        adjustment?: Adjustment;
      }
    >
  /**
   * A piece of the list: `from` is the place of its first line, counted from 0. Taken at `at`, the
   * time of the redemption.
   */
  | Fact<
      'RedeemedRewardsListed',
      {
        redemptionId: string;
        unit: string;
        from: number;
        persons: readonly PersonId[];
        lines: readonly RedeemedLine[];
      }
    >
  /** `amount`: what was left of a credit reward, else 0. */
  | Fact<'RewardCancelled', RewardRef & { amount: number; by: 'REQUEST' | 'MODERATION' }>
  | Fact<'RewardRestored', RewardRef & { amount: number }>
  /**
   * From here on these people are gone, and with `account` the account itself: whoever comes under
   * its id begins anew. Their keys are destroyed next. `suppressed`: keyed hashes of user ids that
   * are never to be identified in this account again.
   */
  | Fact<'ErasureRequested', Erased & { suppressed: readonly string[] }>
  /**
   * Their keys are destroyed: nobody can read any more who they were, and nothing that keeps plain
   * values may show them.
   */
  | Fact<'ErasureCompleted', Erased>;

/**
 * Reward, whose it is as a place among the persons of its event, amount. Short, since there are
 * very many.
 */
export type RedeemedLine = readonly [rewardId: string, person: number, amount: number];

/** Who is forgotten by one request. */
export interface Erased {
  readonly erasureId: string;
  readonly persons: readonly PersonId[];
  /** The key of the account, when it is deleted as a whole; null: it stays. */
  readonly account: SubjectId | null;
}

export type AccountEventOf<T extends AccountEvent['type']> = Extract<AccountEvent, { type: T }>;
