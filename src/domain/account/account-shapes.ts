import type { List, Map, OrderedMap, Set } from 'immutable';
import type { CustomerLink } from '../customer/customer.state.js';
import type { SubjectId } from '../personal.js';
import type { RewardTerms, SideStatus } from '../program.js';
import type {
  AnnouncedReferral,
  ErasedSubjects,
  FraudSignal,
  Party,
  PersonId,
  Profile,
  RewardRef,
  RowValues,
  Subscription,
} from './account.events.js';
import type { EventsSeen } from './users/events-seen.js';
import type { Refundable } from './users/refundable.js';
import type { Spendable } from './rewards/spendable.js';
import type { RewardState } from './rewards/reward-state.js';
import type { GrantedOfRule } from './rewards/rule-counts.js';

/**
 * An account, folded from its events. Persistent maps keep a fold of 100,000 events linear and let
 * a decision try events on a shared state. Folding never throws: the log may contain events that no
 * current rule would produce.
 */
export type AccountState = AbsentAccount | OpenAccount;

/** Never opened, or deleted. */
export interface AbsentAccount {
  readonly status: 'absent';
  readonly remains: RetainedData;
}

/** Data that outlasts the account and its people, without names. */
export interface RetainedData {
  /** Deleted people and accounts, by key name. */
  readonly forgotten: Set<SubjectId>;
  /** Keyed hashes of the user ids that must not be tracked. */
  readonly suppressed: Set<string>;
  /** Erasures whose destruction of keys is not recorded yet. */
  readonly erasures: Map<string, ErasedSubjects>;
  /** Granted before a deletion; still counts towards limits. */
  readonly grantedByRule: Map<string, GrantedOfRule>;
  /** Still open to moderation. */
  readonly formerReferrals: FormerReferrals;
  /** Tank codes of rewards before a deletion, by reward: never handed out again. */
  readonly tankCodes: Map<string, string>;
  /** Bulk redemptions with rewards still to list; oldest first. */
  readonly unlisted: OrderedMap<string, UnlistedRedemption>;
  /** Number of reservations that lapsed before the account recorded them. */
  readonly lapses: number;
  /** Rewards with a payment in progress when the account was deleted. */
  readonly pushing: Map<string, OrphanedPush>;
  /** By the digest of the row's identity. */
  readonly imported: Map<string, ImportedEntry>;
}

export interface ImportedEntry {
  /** The people that the row names. */
  readonly persons: readonly PersonId[];
  /** Null: one of these people is forgotten. */
  readonly row: RowValues | null;
  /** Import time, epoch milliseconds. */
  readonly at: number;
  /** Id of the referral or reward; null: the row is a user. */
  readonly ledgerId: string | null;
  /** As imported; of credit only. */
  readonly credit: {
    readonly unit: string;
    readonly assigned: number;
    readonly redeemed: number;
    readonly available: number;
  } | null;
}

/** State of a payment that ends after its account was deleted. */
export interface OrphanedPush {
  readonly reward: RewardRef;
  readonly subject: SubjectId;
  readonly push: number;
  readonly at: number;
  readonly amount: number;
}

export interface OpenAccount {
  readonly status: 'open';
  readonly remains: RetainedData;
  /** Names the key that encrypts the account's identifying values. */
  readonly account: SubjectId;
  readonly accountId: string | null;
  readonly currency: string;
  /** True: an import opened the account, and no row gave its currency yet. */
  readonly currencyIsDefault: boolean;
  readonly subscription: Subscription | null;
  /** Once PAID, an account cannot be attributed any more. */
  readonly everPaid: boolean;
  /** A PAID was recorded, other than by an import or before the import of the referral. */
  readonly hasPaid: boolean;
  /** Invoices up to this time of the provider convert nothing; null: all do. */
  readonly paidUntil: number | null;
  readonly paymentProviderId: string | null;
  readonly paymentProviderIdSince: number | null;
  readonly attribution: Attribution | null;
  readonly referral: ReferralState | null;
  readonly users: Map<PersonId, UserState>;
  readonly personsByUserId: Map<string, PersonId>;
  /** In the order of identification. */
  readonly persons: List<PersonId>;
  /** People forgotten since the account was opened. */
  readonly forgottenPersons: Set<PersonId>;
  readonly rewards: Map<string, RewardState>;
  /** Rewards that the payment provider is still to pay. */
  readonly toPush: Set<string>;
  /** Spendable credit, in the order of spending. */
  readonly spendable: Spendable;
  /** Reward ids by referral, of either side. */
  readonly rewardsByReferral: Map<string, List<string>>;
  /** All credit ever assigned, by lower-case unit, that of forgotten people included. */
  readonly assignedEver: Map<string, number>;
  /** By lower-case unit: the currency of the first reward with one. */
  readonly currencies: Map<string, string>;
  /** Moderated statuses of referrals that this account made. */
  readonly referrerSides: Map<string, SideStatus>;
  /** Referrals of either side whose first invoice was refunded in full. */
  readonly refunded: Set<string>;
  /** Moderation id by held referral. */
  readonly holds: Map<string, string>;
  /** Rewards ever granted, by program and rule. */
  readonly grantedByRule: Map<string, GrantedOfRule>;
  /** Rewards that were due and not granted. */
  readonly withheld: Set<string>;
  /** Per user, the events that first-time rules need. */
  readonly eventsSeen: Map<PersonId, EventsSeen>;
  /** Per user, earnings that a later event may refund. */
  readonly refundable: Map<PersonId, Refundable>;
  /** Times by person and keyed hash of a batch's idempotency key; oldest first. */
  readonly batches: OrderedMap<string, number>;
  /** Announced referrals, oldest first; null: withdrawn. */
  readonly announced: Announced;
  /** Index by referral. */
  readonly announcedAt: Map<string, number>;
  /** Signals of later referrals on a referral that has not started yet. */
  readonly flagged: Map<string, Readonly<Record<string, FraudSignal>>>;
}

/** A bulk redemption and its rewards, in order. */
export interface UnlistedRedemption {
  readonly redemptionId: string;
  readonly at: number;
  readonly unit: string;
  readonly lines: readonly {
    readonly rewardId: string;
    readonly person: PersonId;
    readonly amount: number;
  }[];
  readonly listed: number;
  /** The redemption event named its owners. */
  readonly posted: boolean;
}

export type Announced = List<AnnouncedReferral | null>;

/** The account's referrer, before and after the referral starts. */
export interface Attribution {
  readonly code: string | null;
  readonly codeSubject: SubjectId;
  readonly referrer: Party;
  readonly programId: string;
}

export interface ReferralState {
  readonly referralId: string;
  readonly programId: string;
  readonly programVersion: number;
  readonly referred: Party;
  readonly referrer: Party;
  readonly referredStatus: SideStatus;
  readonly referrerStatus: SideStatus;
  readonly fraudSignals: Readonly<Record<string, FraudSignal>>;
  /** Terms of a side's earned reward; null: none earned yet. */
  readonly referredEarned: RewardTerms | null;
  readonly referrerEarned: RewardTerms | null;
  readonly dateStarted: number;
  readonly datePaid: number | null;
  readonly dateEnded: number | null;
  readonly dateRefunded?: number;
  /** Time of the refund of the converting event. */
  readonly dateConversionRefunded?: number;
  readonly dateModerated: number;
  /** Of an imported referral: the reward that each side came with; null: the side can earn one. */
  readonly named?: { readonly referred: string | null; readonly referrer: string | null };
}

export interface UserState {
  readonly person: PersonId;
  /** Null: forgotten. */
  readonly profile: Profile | null;
  readonly dateCreated: number;
  readonly dateBlocked: number | null;
  /** The person has unsubscribed from mails. */
  readonly wantsNoMails?: true;
  /** All codes the user ever had, by lower case. */
  readonly codes: Map<
    string,
    { readonly code: string; readonly programId: string; readonly since: number }
  >;
  readonly primaryCodes: Map<string, string>;
}

/** A referral from before a deletion: moderated further, since the referrer's reward stays. */
export interface FormerReferral extends ReferralState {
  /** The moderation that holds it. */
  readonly heldBy: string | null;
}

export type FormerReferrals = Map<string, FormerReferral>;

/** A usable or visible reward. Rewards of deleted people stay in the ledger and in no answer. */
export function presentReward(state: OpenAccount, rewardId: string): RewardState | undefined {
  const reward = state.rewards.get(rewardId);
  return reward && !state.remains.forgotten.has(reward.person) ? reward : undefined;
}

export const customerLinkOf = ({ account, paymentProviderIdSince }: OpenAccount): CustomerLink => ({
  account,
  since: paymentProviderIdSince ?? 0,
});
