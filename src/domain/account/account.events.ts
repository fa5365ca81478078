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
 * The events of an account: its users, its referral as the referred party, its rewards, its
 * subscription. `at` is the time of the effect, epoch milliseconds; stored in the envelope.
 */

/** Generated UUID of a person; also the name of the key that encrypts the person's data. */
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

/** Replaced as a whole. `value` may have decimals: it is a price, not credit. */
export interface Subscription {
  readonly status: SubscriptionStatus;
  readonly value?: number;
  readonly billingIntervalType?: BillingInterval;
  readonly billingIntervalValue?: number;
}

export type CustomFieldValue = string | number | boolean;

/** All encrypted in the log. Null: no value. */
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

/** Describes a reward in each of its events, so that each can be posted on its own. */
export interface RewardRef {
  readonly rewardId: string;
  readonly person: PersonId;
  readonly rewardType: RewardValue['type'];
  /** `%` for percentages, null for a tank code without a unit. */
  readonly unit: string | null;
}

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
  /** The referred account. Repeated announcements of it count once. */
  readonly account: AccountRef;
  readonly person: PersonId;
  readonly at: number;
}

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
  /** The earning event was refunded before the grant. */
  | 'EVENT_REFUNDED';

/** Earned by an event under a rule with a refund. */
export interface RefundableEarning {
  readonly userEventId: string;
  readonly person: PersonId;
  readonly programId: string;
  readonly programVersion: number;
  /** The event reward's rule, or the conversion's. */
  readonly rule: string;
  /** Of a conversion or a referrer's reward; null: the user earned it. */
  readonly referralId: string | null;
  /** From the program version by which it was earned. */
  readonly refund: EventRefund;
  /** Keyed digest of the refund field's value. Null: erased. */
  readonly value: Personal<string>;
}

/** Why a reward stays after a refund. */
export type KeptReason = 'REDEEMED' | 'NOT_CANCELLABLE';

export type EventField =
  | string
  | number
  | boolean
  | null
  | readonly EventField[]
  | { readonly [name: string]: EventField };

/** Greatest earlier number per field of a rule, when the state left the names out. */
export type RecalledNumbers = readonly (readonly [field: string, greatest: number | null])[];

/** A user's event as sent. Encrypted in the log: fields and even keys may be personal. */
export interface UserEventContent {
  /** The client's id or a generated one. */
  readonly id: string;
  readonly key: string;
  readonly fields: Readonly<Record<string, EventField>>;
  /** The client's time, epoch milliseconds. No rule depends on it. */
  readonly dateTriggered: number;
}

/** The reason is encrypted for the credit's owner; names of staff have their own keys. */
export interface Adjustment {
  readonly reason: Personal<string>;
  readonly approvedBy: Personal<string>;
  readonly by: Personal<string>;
}

/** An operator's free text, encrypted for the person it is about. Absent in calls of clients. */
export type OperatorReason = Personal<string>;

/** Values of an imported row by column, compared when the row is imported again. */
export type RowValues = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** The imported row that an event records. Such an event triggers nothing. */
export interface ImportSource {
  /** Keyed digest of the row's identity. */
  readonly ref: string;
  readonly row: Personal<RowValues>;
  /** Time of the import; `at` of the event is a date of the row. */
  readonly at: number;
}

export interface ReferralImportSource extends ImportSource {
  /** The row's values that name the referrer. Null: that person was deleted before. */
  readonly referrerRow: Personal<RowValues> | null;
  /** Rewards that the row names: such a side earns nothing more by the referral. */
  readonly rewards: { readonly referred: string | null; readonly referrer: string | null };
  /** The provider's time of the newest invoice paid before; only later ones convert. */
  readonly paidUntil?: number;
}

export interface RewardImportSource extends ImportSource {
  /** Its side of a referral; null: no referral names the reward. */
  readonly side: 'referred' | 'referrer' | null;
  readonly redeemed: number;
  readonly phase: 'PENDING' | 'AVAILABLE' | 'EXPIRED';
  readonly dateCancelled: number | null;
}

/** Describes a reward to the provider. */
export interface PushBody {
  readonly calls: readonly ProviderCall[];
  /** Subscriptions that got the discount by an earlier start. */
  readonly done: readonly string[];
}

/** A repeatable call of the payment provider, made idempotent by `key`. Ids are the provider's. */
export type ProviderCall =
  | {
      readonly kind: 'BALANCE_CREDIT';
      readonly key: string;
      readonly customer: string;
      /** A positive integer in the currency's smallest unit. */
      readonly amount: number;
      readonly currency: string;
    }
  | {
      readonly kind: 'DISCOUNT';
      readonly key: string;
      readonly subscription: string;
      readonly percent: number;
      /** Null: one invoice. */
      readonly months: number | null;
      /** Earlier discounts of the subscription, which it keeps. */
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
        /** Opened by an import without a currency so far. */
        currencyIsDefault?: true;
      }
    >
  /** Imported: converts no referral. */
  | Fact<'SubscriptionChanged', { subscription: Subscription; imported?: true }>
  | Fact<'CurrencyChanged', { currency: string }>
  /** The referral itself starts with the first referable user. */
  | Fact<'AccountAttributed', { code: Personal<string>; referrer: Party; programId: string }>
  | Fact<'PaymentProviderIdSet', { paymentProviderId: Personal<string>; imported?: true }>
  | Fact<
      'UserIdentified',
      { person: PersonId; profile: Personal<Profile>; imported?: ImportSource }
    >
  /** The changed members. */
  | Fact<'UserProfileChanged', { person: PersonId; changes: Personal<Partial<Profile>> }>
  /** The user's new primary code in that program; earlier ones keep working. */
  | Fact<
      'ReferralCodeAssigned',
      { person: PersonId; code: Personal<string>; programId: string; imported?: true }
    >
  | Fact<'UserBlocked', { person: PersonId }>
  | Fact<'UserUnblocked', { person: PersonId }>
  | Fact<'MailsUnsubscribed', { person: PersonId }>
  | Fact<
      'ReferralStarted',
      {
        referralId: string;
        programId: string;
        programVersion: number;
        code: Personal<string>;
        /** Always null: the landing page receives code and media, and no call passes them on. */
        shareLinkUsed: string | null;
        referred: Party;
        referrer: Party;
        referredStatus: SideStatus;
        referrerStatus: SideStatus;
        fraudSignals: Readonly<Record<string, FraudSignal>>;
        /** The referrer's other referrals in the rate signal's period; flagged as well. */
        tooManyWith: readonly { readonly referralId: string; readonly account: AccountRef }[];
        /** Each side's reward by the start; null: none. Granted only to an approved side. */
        referredReward: RewardTerms | null;
        referrerReward: RewardTerms | null;
        imported?: ReferralImportSource;
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
        /** After the conversion: DENIED if the referrer was blocked since. */
        referrerStatus: SideStatus;
        /** Each side's reward by the conversion, under the current terms. */
        referredReward: RewardTerms | null;
        referrerReward: RewardTerms | null;
        imported?: true;
      }
    >
  | Fact<'ReferralEnded', { referralId: string; imported?: true }>
  /** Its first invoice was refunded in full: both sides lose what is not redeemed. */
  | Fact<'ReferralRefunded', { referralId: string; referrer: Party }>
  /** The same, in the referrer's account. */
  | Fact<'ReferrerSideRefunded', { referralId: string }>
  /** Signals of later referrals, perhaps before the start. The side statuses stay. */
  | Fact<
      'ReferralFlagged',
      { referralId: string; fraudSignals: Readonly<Record<string, FraudSignal>> }
    >
  /** In the referrer's account: the person is about to refer another account. */
  | Fact<'ReferralAnnounced', { referralId: string; account: AccountRef; person: PersonId }>
  /** The announced referral did not start. */
  | Fact<'ReferralWithdrawn', { referralId: string }>
  /** An unrecorded reservation for this account may be taken over. */
  | Fact<'ReservationLapsed', { kind: LapsingKind; holder: PersonId | null }>
  /**
   * `batch`, `idRef`: keyed hashes. `aheadMs`, of a batch with a key: how far the test clock was
   * ahead. `repeated`: by its id; no rule counts it.
   */
  | Fact<
      'UserEventReceived',
      {
        userEventId: string;
        person: PersonId;
        batch: string | null;
        aheadMs?: number;
        content: Personal<UserEventContent>;
        recalled?: Personal<RecalledNumbers>;
        idRef?: string;
        repeated?: true;
      }
    >
  /** An event of the referred user earned the referrer a reward, under the current terms. */
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
  /** A later event refunds this. `referrer`: also has a reward to lose. */
  | Fact<'EarningRefunded', RefundableEarning & { refundedBy: string; referrer: Party | null }>
  /** Holds the rewards of these referrals until the moderation is applied or released. */
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
        /** The referrer's reward, earned but not granted before its approval; null: none. */
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
        /** Free text, which may name the person. Null: no text. */
        texts: Personal<RewardTexts>;
        cancellable: boolean;
        /** Epoch milliseconds; null: available immediately, never expires. */
        dateScheduledFor: number | null;
        dateExpires: number | null;
        referralId: string | null;
        programId: string | null;
        programVersion: number | null;
        /** The program's rule; null: granted manually. */
        rule: string | null;
        /** Credit that is redeemed in full when it becomes available. */
        redeemsAutomatically: boolean;
        /** Absent: it stays in the ledger. */
        payTo?: PayTo;
        adjustment?: Adjustment;
        reason?: OperatorReason;
        imported?: RewardImportSource;
      }
    >
  /** A due reward that is not granted, now or later. */
  | Fact<
      'RewardWithheld',
      {
        /** Null in events from before rules had names. */
        rewardId: string | null;
        referralId: string | null;
        /** The side that the reward is of. */
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
        /** The provider's id of the payment. Absent: not paid there. */
        externalReference?: Personal<string>;
      }
    >
  /**
   * An amount was redeemed from very many rewards of a unit: from those available at `at`, before
   * this event, by soonest expiry, then grant order, then id. Later events list the rewards. The
   * meaning of this rule never changes: another rule needs another type.
   */
  | Fact<
      'AccountCreditRedeemed',
      {
        redemptionId: string;
        /** In the first reward's spelling. */
        unit: string;
        amount: number;
        /** Only of this person's rewards; null: of the whole account's. */
        onlyOf: PersonId | null;
        rewards: number;
        /** Amount taken per person, for readers without the state. Absent in older events. */
        owners?: readonly (readonly [person: PersonId, amount: number])[];
        adjustment?: Adjustment;
      }
    >
  /** A part of the list. `from`: index of its first line; `at`: time of the redemption. */
  | Fact<
      'RedeemedRewardsListed',
      {
        redemptionId: string;
        unit: string;
        from: number;
        persons: readonly PersonId[];
        lines: readonly RedeemedLine[];
        /** The redemption named its owners, whose credit is already reduced. */
        posted?: true;
      }
    >
  /** `amount`: the rest of a credit reward, otherwise 0. */
  | Fact<
      'RewardCancelled',
      RewardRef & { amount: number; by: 'REQUEST' | 'MODERATION'; reason?: OperatorReason }
    >
  | Fact<'RewardRestored', RewardRef & { amount: number }>
  /** The earning event was refunded, and the reward stays. */
  | Fact<'RewardKept', RewardRef & { reason: KeptReason }>
  /** The imported reward's referral was imported after it. */
  | Fact<
      'ImportedRewardLinked',
      { rewardId: string; referralId: string; side: 'referred' | 'referrer' }
    >
  /** The payment provider is called next. `push` counts the starts from 1. */
  | Fact<
      'RewardPushStarted',
      RewardRef & { push: number; amount: number; body: Personal<PushBody> }
    >
  /** `reference`: the provider's id of the payment or the discount. */
  | Fact<'RewardPushed', RewardRef & { push: number; reference: Personal<string> }>
  /**
   * The provider refuses it. `done`: subscriptions that have the discount nevertheless;
   * `reference`: the id of one of these discounts. `mayBePaid`: an earlier call may have taken
   * effect unconfirmed.
   */
  | Fact<
      'RewardPushRefused',
      RewardRef & {
        push: number;
        reason: string;
        done: Personal<readonly string[]>;
        reference?: Personal<string>;
        mayBePaid?: true;
      }
    >
  /**
   * These people are forgotten from now on, with `account` the account too: the next user under
   * such an id is a new one. Their keys are destroyed next. `suppressed`: keyed hashes of user ids
   * that must not be identified in this account again.
   */
  | Fact<'ErasureRequested', ErasedSubjects & { suppressed: readonly string[] }>
  /** The keys are destroyed: copies with plain values must hide them. */
  | Fact<'ErasureCompleted', ErasedSubjects>;

/** Reward, index of its owner in the event's persons, amount. Short, since there are very many. */
export type RedeemedLine = readonly [rewardId: string, person: number, amount: number];

/** The people of one erasure. */
export interface ErasedSubjects {
  readonly erasureId: string;
  readonly persons: readonly PersonId[];
  /** Key name of a deleted account; null: the account stays. */
  readonly account: SubjectId | null;
  /** Key name of the ids of the account's customer at the payment provider. */
  readonly customer?: SubjectId;
}

/** The referral side of a reward; undefined: none. */
export function rewardedSide({
  source,
  imported,
}: {
  readonly source: RewardSource;
  readonly imported?: Pick<RewardImportSource, 'side'>;
}): 'referred' | 'referrer' | undefined {
  if (imported !== undefined) return imported.side ?? undefined;
  if (source === 'REFERRED') return 'referred';
  return source === 'FRIEND_SIGNUP' ? 'referrer' : undefined;
}

/** Imported events trigger nothing. */
export const isImported = (event: object): boolean => 'imported' in event;

export type AccountEventOf<T extends AccountEvent['type']> = Extract<AccountEvent, { type: T }>;
