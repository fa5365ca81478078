import type { List, Map, OrderedMap, Set } from 'immutable';
import type { CustomerLink } from '../customer/customer.state.js';
import type { SubjectId } from '../personal.js';
import type { RewardTerms, SideStatus } from '../program.js';
import type {
  AnnouncedReferral,
  Erased,
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
 * An account, folded from its events. Persistent maps (Immutable): folding 100 000 events takes as
 * many small steps, and a decision may try events on a state that others share. Folding never
 * throws: the log may contain events that no current rule would produce.
 */
export type AccountState = AbsentAccount | OpenAccount;

/** Never opened, or deleted. */
export interface AbsentAccount {
  readonly status: 'absent';
  readonly remains: Remains;
}

/** The part of the state that outlasts its people and the account, without names. */
export interface Remains {
  /** People and accounts that were deleted, by the name of their key. */
  readonly forgotten: Set<SubjectId>;
  /** Keyed hashes of the user ids that asked not to be tracked. */
  readonly suppressed: Set<string>;
  /** Erasures whose keys are not known to be destroyed yet. */
  readonly erasures: Map<string, Erased>;
  /** Rewards that rules granted before the account was deleted: they still count towards limits. */
  readonly grantedByRule: Map<string, GrantedOfRule>;
  /** Referrals of the account before it was deleted: they can still be moderated. */
  readonly formerReferrals: FormerReferrals;
  /**
   * Tank codes of the account before it was deleted, by reward: they are never handed out again.
   */
  readonly tankCodes: Map<string, string>;
  /** Bulk redemptions whose rewards are not completely listed yet; oldest first. */
  readonly unlisted: OrderedMap<string, UnlistedRedemption>;
  /** How many reservations lapsed before the account recorded them. */
  readonly lapses: number;
  /** Rewards of the deleted account that were on their way to the payment provider. */
  readonly pushing: Map<string, PushOfTheDeleted>;
  /** The imported rows of the account, by the digest of their identity. */
  readonly imported: Map<string, ImportedEntry>;
}

export interface ImportedEntry {
  /** The people that the row is about. */
  readonly persons: readonly PersonId[];
  /** Null: one of them is forgotten. */
  readonly row: RowValues | null;
  /** When it was imported, epoch milliseconds. */
  readonly at: number;
  /** Of the referral or the reward; null: of a user. */
  readonly ledgerId: string | null;
  /** Of a reward of credit, as it was imported. */
  readonly credit: {
    readonly unit: string;
    readonly assigned: number;
    readonly redeemed: number;
    readonly available: number;
  } | null;
}

/** What the outcome of a call needs after the account was deleted. */
export interface PushOfTheDeleted {
  readonly reward: RewardRef;
  readonly subject: SubjectId;
  readonly push: number;
  readonly at: number;
  readonly amount: number;
}

export interface OpenAccount {
  readonly status: 'open';
  readonly remains: Remains;
  /** The name of the key that encrypts the account's identifying values. */
  readonly account: SubjectId;
  readonly accountId: string | null;
  readonly currency: string;
  /** An import opened the account, and nothing has given its currency yet. */
  readonly currencyIsDefault: boolean;
  readonly subscription: Subscription | null;
  /** Whether the subscription was ever PAID: no attribution after that. */
  readonly everPaid: boolean;
  /** Whether a PAID converts the referral: none of an import, nor before its referral's import. */
  readonly hasPaid: boolean;
  /** The provider's time up to which invoices convert nothing; null: all of them count. */
  readonly paidUntil: number | null;
  readonly paymentProviderId: string | null;
  /** When it was set; null: never. */
  readonly paymentProviderIdSince: number | null;
  readonly attribution: Attribution | null;
  readonly referral: ReferralState | null;
  readonly users: Map<PersonId, UserState>;
  readonly personsByUserId: Map<string, PersonId>;
  /** In the order of identification. */
  readonly persons: List<PersonId>;
  /** People of this account who were forgotten since it was opened. */
  readonly forgottenPersons: Set<PersonId>;
  readonly rewards: Map<string, RewardState>;
  /** Those that the payment provider pays and does not have yet. */
  readonly toPush: Set<string>;
  /** The credit that can be spent, in the order of spending. */
  readonly spendable: Spendable;
  /**
   * Reward ids by the referral that this account was rewarded for, as its referrer or referred
   * party.
   */
  readonly rewardsByReferral: Map<string, List<string>>;
  /** All credit ever assigned, by unit in lower case; that of forgotten people included. */
  readonly assignedEver: Map<string, number>;
  /** The currency of the credit, by unit in lower case: that of the first reward with one. */
  readonly currencies: Map<string, string>;
  /** The moderated status of referrals that this account made. Absent: not moderated. */
  readonly referrerSides: Map<string, SideStatus>;
  /** Referrals of this account, of either side, whose first invoice was refunded in full. */
  readonly refunded: Set<string>;
  /** Referrals whose rewards a moderation holds, with its id. */
  readonly holds: Map<string, string>;
  /** Number of rewards that each rule ever granted here, by program and rule. */
  readonly grantedByRule: Map<string, GrantedOfRule>;
  /** Rewards that were due and not granted. */
  readonly withheld: Set<string>;
  /** Each user's events, as far as a rule needs them to recognise a first time. */
  readonly eventsSeen: Map<PersonId, EventsSeen>;
  /** What each user's events earned and a later event may refund. */
  readonly refundable: Map<PersonId, Refundable>;
  /** Idempotency keys of user events, by person, as keyed hashes with their time; oldest first. */
  readonly batches: OrderedMap<string, number>;
  /**
   * Referrals that users of this account announced, oldest first; null in the place of a withdrawn
   * one.
   */
  readonly announced: Announced;
  /** Index of each referral in `announced`. */
  readonly announcedAt: Map<string, number>;
  /** Signals of later referrals on a referral of this account that has not started yet. */
  readonly flagged: Map<string, Readonly<Record<string, FraudSignal>>>;
}

/** A recorded bulk redemption and its rewards, in order. */
export interface UnlistedRedemption {
  readonly redemptionId: string;
  readonly at: number;
  readonly unit: string;
  readonly lines: readonly {
    readonly rewardId: string;
    readonly person: PersonId;
    readonly amount: number;
  }[];
  /** Number of lines listed so far. */
  readonly listed: number;
  /** Whether the redemption named its owners. */
  readonly posted: boolean;
}

export type Announced = List<AnnouncedReferral | null>;

/** The referrer of the account, before and after the referral starts. */
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
  /** Terms under which a side has earned its reward; null: none earned yet. */
  readonly referredEarned: RewardTerms | null;
  readonly referrerEarned: RewardTerms | null;
  readonly dateStarted: number;
  readonly datePaid: number | null;
  readonly dateEnded: number | null;
  /** Absent: it was not refunded. */
  readonly dateRefunded?: number;
  /** Absent: the event that converted it was not refunded. */
  readonly dateConversionRefunded?: number;
  readonly dateModerated: number;
  /** Of an imported referral: the reward of each side that came with it. Null: the side earns. */
  readonly named?: { readonly referred: string | null; readonly referrer: string | null };
}

export interface UserState {
  readonly person: PersonId;
  /** Null: forgotten. */
  readonly profile: Profile | null;
  readonly dateCreated: number;
  readonly dateBlocked: number | null;
  /** Whether the person has unsubscribed from mails; missing: no. */
  readonly wantsNoMails?: true;
  /** Every code the user ever had, by its lower case. */
  readonly codes: Map<
    string,
    { readonly code: string; readonly programId: string; readonly since: number }
  >;
  readonly primaryCodes: Map<string, string>;
}

/**
 * A referral from before the account was deleted. The account may have been opened and referred
 * again. The referrer's reward remains, so the referral can be moderated. One for each deletion,
 * without names.
 */
export interface FormerReferral extends ReferralState {
  /** The moderation that holds it; null: none. */
  readonly heldBy: string | null;
}

export type FormerReferrals = Map<string, FormerReferral>;

/**
 * A reward that can still be used or shown: the rewards of deleted people stay in the ledger and in
 * no answer.
 */
export function presentReward(state: OpenAccount, rewardId: string): RewardState | undefined {
  const reward = state.rewards.get(rewardId);
  return reward && !state.remains.forgotten.has(reward.person) ? reward : undefined;
}

/** The account as its payment provider's customer is its. */
export const linkOf = ({ account, paymentProviderIdSince }: OpenAccount): CustomerLink => ({
  account,
  since: paymentProviderIdSince ?? 0,
});
