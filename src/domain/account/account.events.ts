import type { Fact } from '../fact.js';
import type { Personal, SubjectId } from '../personal.js';
import type {
  EventRefund,
  GrantTerms,
  PayTo,
  RewardTerms,
  RewardValue,
  SideStatus,
} from '../program.js';
import type { LapsingKind } from '../reservation/reservation-kind.js';
import type { AccountRef } from '../scope.js';

/**
 * The events of an account: its users, its referral (as the referred party), its rewards, its
 * subscription. `at` is the time of the effect, epoch milliseconds; it is stored in the envelope.
 */

/**
 * A person's id within the ledger: a UUID of ours, also the name of the key that encrypts the
 * person's data.
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
 * Replaced as a whole; unset members are omitted. `value` may have decimals: it is a price, not
 * credit.
 */
export interface Subscription {
  readonly status: SubscriptionStatus;
  readonly value?: number;
  readonly billingIntervalType?: BillingInterval;
  readonly billingIntervalValue?: number;
}

export type CustomFieldValue = string | number | boolean;

/** A person's data, all encrypted in the log. Null: no value. */
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

/** The client's ids of a person. */
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

/** Describes a reward in each of its events, so that an event can be posted on its own. */
export interface RewardRef {
  readonly rewardId: string;
  readonly person: PersonId;
  readonly rewardType: RewardValue['type'];
  /** As granted; `%` for percentages, null for a tank code without a unit. */
  readonly unit: string | null;
}

/** The texts of a reward. */
export interface RewardTexts {
  readonly name: string | null;
  readonly description: string | null;
}

export interface FraudSignal {
  readonly message: string;
  readonly score: number;
}

/** A referral that a user of the account is about to make. */
export interface AnnouncedReferral {
  readonly referralId: string;
  /** The referred account. It is referred at most once: repeated announcements count once. */
  readonly account: AccountRef;
  /** The referrer. */
  readonly person: PersonId;
  readonly at: number;
}

/** Why a due reward was not granted. */
export type WithheldReason =
  | 'AMOUNT_TOO_LARGE'
  /** The account's credit in the unit has another currency. */
  | 'CURRENCY_DIFFERS'
  | 'LIMIT_REACHED'
  | 'POOL_EMPTY'
  | 'SIDE_NOT_APPROVED'
  | 'REFERRER_BLOCKED'
  | 'REFERRER_GONE'
  | 'REFERRAL_REFUNDED'
  /** The event that earned it was refunded before it was granted. */
  | 'EVENT_REFUNDED';

/** What an event of a user earned, by a rule whose refund takes it back. */
export interface RefundableEarning {
  readonly userEventId: string;
  readonly person: PersonId;
  readonly programId: string;
  readonly programVersion: number;
  /** The event reward, or the conversion. */
  readonly rule: string;
  /** Of the conversion, and of a reward of the referrer; null: the user earned it. */
  readonly referralId: string | null;
  /** Of the program's version by which it earned. */
  readonly refund: EventRefund;
  /** Keyed digest of the value of that field. Null: erased. */
  readonly value: Personal<string>;
}

/** Why a reward stays although its event was refunded. */
export type KeptReason = 'REDEEMED' | 'NOT_CANCELLABLE';

/** A value of free-form fields. */
export type EventField =
  | string
  | number
  | boolean
  | null
  | readonly EventField[]
  | { readonly [name: string]: EventField };

/**
 * What the account's stream says of earlier events with the key of a user's event: the greatest
 * number of each field that a rule names, null for none. There when the state had left them out.
 */
export type RecalledNumbers = readonly (readonly [field: string, greatest: number | null])[];

/**
 * An event of a user, as the client sent it. Encrypted in the log: fields and even keys may be
 * personal.
 */
export interface UserEventContent {
  /** The client's id of the event, or a generated one. */
  readonly id: string;
  readonly key: string;
  readonly fields: Readonly<Record<string, EventField>>;
  /** The client's time, epoch milliseconds. No rule depends on it. */
  readonly dateTriggered: number;
}

/**
 * A correction by an operator. The reason is free text, encrypted with the key of the credit's
 * owner; the names of staff have keys of their own, so that they outlast that person.
 */
export interface Adjustment {
  readonly reason: Personal<string>;
  readonly approvedBy: Personal<string>;
  /** Who entered it. */
  readonly by: Personal<string>;
}

/**
 * Why an operator acted: free text, encrypted with the key of the person it is about. Absent: none
 * was given, as in calls of clients.
 */
export type OperatorReason = Personal<string>;

/** What a row of an import gives, by column: compared when the row comes again. */
export type RowValues = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** The row of an import that an event records: such an event triggers nothing. */
export interface OfImport {
  /** Keyed digest of the row's identity. */
  readonly ref: string;
  readonly row: Personal<RowValues>;
  /** When it was imported: `at` of the event is a date of the row. */
  readonly at: number;
}

export interface OfReferralImport extends OfImport {
  /** The values of the row that name the referrer. Null: that person was deleted before. */
  readonly referrerRow: Personal<RowValues> | null;
  /** The rewards that the row names: such a side earns nothing more by the referral. */
  readonly rewards: { readonly referred: string | null; readonly referrer: string | null };
  /**
   * The provider's time of the newest invoice that the account had paid before: only a later one
   * converts the referral. Absent: it had paid none.
   */
  readonly paidUntil?: number;
}

export interface OfRewardImport extends OfImport {
  /** The side of its referral; null: no referral names the reward. */
  readonly side: 'referred' | 'referrer' | null;
  readonly redeemed: number;
  readonly phase: 'PENDING' | 'AVAILABLE' | 'EXPIRED';
  readonly dateCancelled: number | null;
}

/** What the provider is told of a reward. */
export interface PushBody {
  readonly calls: readonly ProviderCall[];
  /** Subscriptions that have the discount by an earlier start. */
  readonly done: readonly string[];
}

/**
 * A call of the payment provider, as it is repeated. `key` makes repetitions one. Ids are the
 * provider's.
 */
export type ProviderCall =
  | {
      readonly kind: 'BALANCE_CREDIT';
      readonly key: string;
      readonly customer: string;
      /** An integer above zero, in the smallest unit of the currency. */
      readonly amount: number;
      readonly currency: string;
    }
  | {
      readonly kind: 'DISCOUNT';
      readonly key: string;
      readonly subscription: string;
      readonly percent: number;
      /** Null: of one invoice. */
      readonly months: number | null;
      /** Discounts that the subscription had before, and keeps. */
      readonly keeps: readonly string[];
      /** Where the subscription names the reward. */
      readonly slot?: number;
    };

export type AccountEvent =
  | Fact<
      'AccountOpened',
      {
        account: SubjectId;
        accountId: Personal<string>;
        currency: string;
        /** An import opened it, and no row has given the currency yet. */
        currencyIsDefault?: true;
      }
    >
  /** Imported: it converts no referral. */
  | Fact<'SubscriptionChanged', { subscription: Subscription; imported?: true }>
  | Fact<'CurrencyChanged', { currency: string }>
  /**
   * A code was applied to the account. The referral itself starts with the first referable user.
   * `code` is encrypted with its owner's key.
   */
  | Fact<'AccountAttributed', { code: Personal<string>; referrer: Party; programId: string }>
  | Fact<'PaymentProviderIdSet', { paymentProviderId: Personal<string>; imported?: true }>
  | Fact<'UserIdentified', { person: PersonId; profile: Personal<Profile>; imported?: OfImport }>
  /** The changed members with their new values. */
  | Fact<'UserProfileChanged', { person: PersonId; changes: Personal<Partial<Profile>> }>
  /** From now on the user's primary code in that program; earlier ones keep working. */
  | Fact<
      'ReferralCodeAssigned',
      { person: PersonId; code: Personal<string>; programId: string; imported?: true }
    >
  | Fact<'UserBlocked', { person: PersonId }>
  | Fact<'UserUnblocked', { person: PersonId }>
  /** The person wants no further mails. */
  | Fact<'MailsUnsubscribed', { person: PersonId }>
  | Fact<
      'ReferralStarted',
      {
        referralId: string;
        programId: string;
        programVersion: number;
        code: Personal<string>;
        /**
         * Always null for now: the landing page receives code and media, and no call passes them
         * on.
         */
        shareLinkUsed: string | null;
        referred: Party;
        referrer: Party;
        referredStatus: SideStatus;
        referrerStatus: SideStatus;
        fraudSignals: Readonly<Record<string, FraudSignal>>;
        /**
         * The referrer's other referrals within the time limit of the rate signal: they receive the
         * signal, too.
         */
        tooManyWith: readonly { readonly referralId: string; readonly account: AccountRef }[];
        /**
         * The reward of each side by the start, under the current terms; null: none yet. Granted
         * only to an approved side.
         */
        referredReward: RewardTerms | null;
        referrerReward: RewardTerms | null;
        imported?: OfReferralImport;
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
        /** After the conversion: a referrer blocked in the meantime is denied here. */
        referrerStatus: SideStatus;
        /** The reward of each side by the conversion, under the current terms. */
        referredReward: RewardTerms | null;
        referrerReward: RewardTerms | null;
        imported?: true;
      }
    >
  | Fact<'ReferralEnded', { referralId: string; imported?: true }>
  /** Its first invoice was refunded in full: both sides lose what is not redeemed. */
  | Fact<'ReferralRefunded', { referralId: string; referrer: Party }>
  /** In the referrer's account: the first invoice of this referral was refunded in full. */
  | Fact<'ReferrerSideRefunded', { referralId: string }>
  /**
   * Signals that later referrals raise on this one, perhaps before it started. The statuses of its
   * sides stay.
   */
  | Fact<
      'ReferralFlagged',
      { referralId: string; fraudSignals: Readonly<Record<string, FraudSignal>> }
    >
  /** In the referrer's account: this person is about to refer another account. */
  | Fact<'ReferralAnnounced', { referralId: string; account: AccountRef; person: PersonId }>
  /** The announced referral did not start. */
  | Fact<'ReferralWithdrawn', { referralId: string }>
  /** A reservation for this account that was never recorded here may be taken over. */
  | Fact<'ReservationLapsed', { kind: LapsingKind; holder: PersonId | null }>
  /**
   * An event of a user. `batch` is the keyed hash of its idempotency key, `idRef` that of the id
   * that the client gave it. `repeated`: an event with this id was received before, so no rule
   * counts this one.
   */
  | Fact<
      'UserEventReceived',
      {
        userEventId: string;
        person: PersonId;
        batch: string | null;
        content: Personal<UserEventContent>;
        recalled?: Personal<RecalledNumbers>;
        idRef?: string;
        repeated?: true;
      }
    >
  /** An event of the referred user has earned the referrer a reward, under the current terms. */
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
  | Fact<'RefundableEarningNoted', RefundableEarning>
  /**
   * A later event of the user refunds it. `referrer`: whose account takes back the referrer's
   * reward; null: none was earned.
   */
  | Fact<'EarningRefunded', RefundableEarning & { refundedBy: string; referrer: Party | null }>
  /** A moderation holds the rewards of these referrals until it is applied or released. */
  | Fact<'ModerationPrepared', { moderationId: string; referralIds: readonly string[] }>
  | Fact<'ModerationReleased', { moderationId: string }>
  /** A moderation in the referred account: the new statuses. */
  | Fact<
      'ReferralModerated',
      {
        moderationId: string;
        referralId: string;
        referredStatus: SideStatus;
        referrerStatus: SideStatus;
        referrer: Party;
        /**
         * The referrer's reward, earned under recorded terms and not yet granted because its side
         * was not approved; null: none.
         */
        referrerReward: RewardTerms | null;
        programId: string;
        programVersion: number;
        reason?: OperatorReason;
      }
    >
  /** A moderation of the referrer's side, in the referrer's account. */
  | Fact<
      'ReferrerSideModerated',
      { moderationId: string; referralId: string; status: SideStatus; reason?: OperatorReason }
    >
  | Fact<
      'RewardGranted',
      {
        rewardId: string;
        person: PersonId;
        owner: Personal<PartyIds>;
        source: RewardSource;
        value: RewardValue;
        /** Free text of the reward's author: it may name the person. Null without text. */
        texts: Personal<RewardTexts>;
        cancellable: boolean;
        /** Epoch milliseconds; null: available at once, never expires. */
        dateScheduledFor: number | null;
        dateExpires: number | null;
        referralId: string | null;
        programId: string | null;
        programVersion: number | null;
        /** The rule of the program that granted it; null: granted manually. */
        rule: string | null;
        /** Credit that is redeemed in full when it becomes available. */
        redeemsAutomatically: boolean;
        /** Absent: it stays in the ledger. */
        payTo?: PayTo;
        /** Absent: not a correction. */
        adjustment?: Adjustment;
        reason?: OperatorReason;
        imported?: OfRewardImport;
      }
    >
  /** A due reward that was not granted; the rest took effect. It is not granted later. */
  | Fact<
      'RewardWithheld',
      {
        /** Null in events from before rules had names. */
        rewardId: string | null;
        referralId: string | null;
        /** Which side's reward: this account's, or the referrer's. */
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
      RewardRef & {
        redemptionId: string;
        amount: number;
        adjustment?: Adjustment;
        /** The payment provider's id of the payment. Absent: it was not paid there. */
        externalReference?: Personal<string>;
      }
    >
  /**
   * An amount was redeemed from very many rewards of a unit: from those available at `at`, before
   * this event, by soonest expiry, then by grant order, then by id. This event takes the whole
   * amount; later events list the rewards. The meaning of this rule never changes: another rule is
   * another type.
   */
  | Fact<
      'AccountCreditRedeemed',
      {
        redemptionId: string;
        /** In the first reward's spelling. */
        unit: string;
        amount: number;
        /** Whose rewards; null: the whole account's. */
        onlyOf: PersonId | null;
        /** Number of the rewards. */
        rewards: number;
        /** What was taken from whom, for readers without the state. Absent in older events. */
        owners?: readonly (readonly [person: PersonId, amount: number])[];
        adjustment?: Adjustment;
      }
    >
  /**
   * A part of the list: `from` is the index of its first line. `at` is the time of the redemption.
   */
  | Fact<
      'RedeemedRewardsListed',
      {
        redemptionId: string;
        unit: string;
        from: number;
        persons: readonly PersonId[];
        lines: readonly RedeemedLine[];
        /** The redemption named its owners: their credit has the amount already. */
        posted?: true;
      }
    >
  /** `amount`: the rest of a credit reward, otherwise 0. */
  | Fact<
      'RewardCancelled',
      RewardRef & { amount: number; by: 'REQUEST' | 'MODERATION'; reason?: OperatorReason }
    >
  | Fact<'RewardRestored', RewardRef & { amount: number }>
  /** The event that earned it was refunded, and the reward stays. */
  | Fact<'RewardKept', RewardRef & { reason: KeptReason }>
  /** The referral whose row names the imported reward came in after it. */
  | Fact<
      'ImportedRewardLinked',
      { rewardId: string; referralId: string; side: 'referred' | 'referrer' }
    >
  /**
   * The payment provider is about to be called for this reward, or was. `push` counts the starts
   * from 1: a further one replaces the one before.
   */
  | Fact<
      'RewardPushStarted',
      RewardRef & { push: number; amount: number; body: Personal<PushBody> }
    >
  /** The provider has it. `reference`: its id of the payment or the discount. */
  | Fact<'RewardPushed', RewardRef & { push: number; reference: Personal<string> }>
  /**
   * The provider refuses it. `done`: subscriptions that have the discount all the same, and
   * `reference`: the provider's id of one of these discounts. `mayBePaid`: a call before may have
   * taken effect, and the provider does not say.
   */
  | Fact<
      'RewardPushRefused',
      RewardRef & {
        push: number;
        reason: string;
        done: Personal<readonly string[]>;
        /** Absent: no discount was made by this start. */
        reference?: Personal<string>;
        mayBePaid?: true;
      }
    >
  /**
   * From this event on these people are forgotten, and with `account` the account itself: the next
   * user under such an id is a new one. Their keys are destroyed next. `suppressed`: keyed hashes
   * of user ids that must never be identified in this account again.
   */
  | Fact<'ErasureRequested', Erased & { suppressed: readonly string[] }>
  /**
   * Their keys are destroyed: their identity is unreadable, and copies with plain values must not
   * show it.
   */
  | Fact<'ErasureCompleted', Erased>;

/**
 * Reward, index of its owner among the persons of the event, amount. Short, since there are very
 * many.
 */
export type RedeemedLine = readonly [rewardId: string, person: number, amount: number];

/** The people of one erasure. */
export interface Erased {
  readonly erasureId: string;
  readonly persons: readonly PersonId[];
  /** The name of the account's key when the account is deleted; null: it stays. */
  readonly account: SubjectId | null;
  /** The key of the ids of the account's customer at a payment provider. Absent: there is none. */
  readonly customer?: SubjectId;
}

/** The side of its referral that the reward is of; undefined: of none. */
export function rewardedSide({
  source,
  imported,
}: {
  readonly source: RewardSource;
  readonly imported?: Pick<OfRewardImport, 'side'>;
}): 'referred' | 'referrer' | undefined {
  if (imported !== undefined) return imported.side ?? undefined;
  if (source === 'REFERRED') return 'referred';
  return source === 'FRIEND_SIGNUP' ? 'referrer' : undefined;
}

/** Whether an import recorded the event: it triggers nothing. */
export const isImported = (event: object): boolean => 'imported' in event;

export type AccountEventOf<T extends AccountEvent['type']> = Extract<AccountEvent, { type: T }>;
