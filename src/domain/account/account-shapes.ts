import type { List, Map, OrderedMap, Set } from 'immutable';
import type { SubjectId } from '../personal.js';
import type { RewardTerms, RewardValue, SideStatus } from '../program.js';
import type {
  AnnouncedReferral,
  Erased,
  FraudSignal,
  Party,
  PersonId,
  Profile,
  RewardRef,
  RewardSource,
  Subscription,
} from './account.events.js';
import type { EventsSeen } from './events-seen.js';
import type { Spendable } from './ordered-credit.js';
import type { GrantedOfRule } from './rule-counts.js';

/**
 * An account, folded from its events. Persistent maps (Immutable): a fold of 100 000 events costs
 * as many small steps, and a decision may try events on a state that others hold. A fold never
 * throws: facts that no rule of today would produce may stand in the log.
 */
export type AccountState = AbsentAccount | OpenAccount;

/** Never opened, or deleted since. */
export interface AbsentAccount {
  readonly status: 'absent';
  readonly remains: Remains;
}

/** What outlasts people and the account itself, without a name. */
export interface Remains {
  /** People who are gone, and accounts that are, by the name of their key. */
  readonly forgotten: Set<SubjectId>;
  /** Keyed hashes of user ids that asked not to be tracked. */
  readonly suppressed: Set<string>;
  /** Requests whose keys are not known to be destroyed yet. */
  readonly erasures: Map<string, Erased>;
  /**
   * All credit that was ever assigned before the account was deleted, by unit in lower case: it
   * still stands in the ledger.
   */
  readonly assignedEver: Map<string, number>;
  /** What rules granted before the account was deleted: it still counts towards their limits. */
  readonly grantedByRule: Map<string, GrantedOfRule>;
  /** Referrals of the account before it was deleted: they can still be moderated. */
  readonly formerReferrals: FormerReferrals;
  /**
   * Tank codes that went to the account before it was deleted, by reward: nobody else is given
   * them.
   */
  readonly tankCodes: Map<string, string>;
  /** Redemptions from very many rewards, until it is written down which; oldest first. */
  readonly unlisted: OrderedMap<string, UnlistedRedemption>;
  /** How often something reserved for the account lapsed before the account recorded it. */
  readonly lapses: number;
}

export interface OpenAccount {
  readonly status: 'open';
  readonly remains: Remains;
  /** The key that encrypts what identifies the account. */
  readonly account: SubjectId;
  readonly accountId: string | null;
  readonly currency: string;
  readonly subscription: Subscription | null;
  /** Whether the subscription was PAID at any time: no attribution after that. */
  readonly everPaid: boolean;
  readonly paymentProviderId: string | null;
  readonly attribution: Attribution | null;
  readonly referral: ReferralState | null;
  readonly users: Map<PersonId, UserState>;
  readonly personsByUserId: Map<string, PersonId>;
  /** In the order they were identified. */
  readonly persons: List<PersonId>;
  readonly rewards: Map<string, RewardState>;
  /** What may be spent of the rewards, in the order in which it is spent. */
  readonly spendable: Spendable;
  /** Reward ids per referral that paid this account as its referrer or referred party. */
  readonly rewardsByReferral: Map<string, List<string>>;
  /** All credit ever assigned, by unit in lower case. */
  readonly assignedEver: Map<string, number>;
  /** What moderation said of the referrals that this account made. Absent: nothing yet. */
  readonly referrerSides: Map<string, SideStatus>;
  /** Referrals whose rewards a moderation holds, with its id. */
  readonly holds: Map<string, string>;
  /** Every reward that a rule ever granted here, whatever became of it, by program and rule. */
  readonly grantedByRule: Map<string, GrantedOfRule>;
  /** Rewards that were due and not given. */
  readonly withheld: Set<string>;
  /** What each user did, as far as a rule may ask whether it is the first time. */
  readonly eventsSeen: Map<PersonId, EventsSeen>;
  /**
   * Idempotency keys of user events, by person, as keyed hashes, with the time they came; oldest
   * first.
   */
  readonly batches: OrderedMap<string, number>;
  /**
   * Referrals that users of this account have made, oldest first; null in the place of one that was
   * withdrawn.
   */
  readonly announced: Announced;
  /** Where in `announced` a referral stands. */
  readonly announcedAt: Map<string, number>;
  /** Signals that came upon a referral of this account before it started. */
  readonly flagged: Map<string, Readonly<Record<string, FraudSignal>>>;
}

/** A redemption whose effect stands, and the rewards that it came from, in order. */
export interface UnlistedRedemption {
  readonly redemptionId: string;
  readonly at: number;
  readonly unit: string;
  readonly lines: readonly {
    readonly rewardId: string;
    readonly person: PersonId;
    readonly amount: number;
    /** Before it was redeemed. */
    readonly phase: RewardPhase;
  }[];
  /** So many of the lines are written down. */
  readonly listed: number;
}

export type Announced = List<AnnouncedReferral | null>;

/** Who brought the account, before and after the referral starts. */
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
  /** Terms under which a side has earned its reward so far; null: nothing earned yet. */
  readonly referredEarned: RewardTerms | null;
  readonly referrerEarned: RewardTerms | null;
  readonly dateStarted: number;
  readonly datePaid: number | null;
  readonly dateEnded: number | null;
  readonly dateModerated: number;
}

export interface UserState {
  readonly person: PersonId;
  /** Null: forgotten. */
  readonly profile: Profile | null;
  readonly dateCreated: number;
  readonly dateBlocked: number | null;
  /** Every code the user ever had, by its lower case. */
  readonly codes: Map<
    string,
    { readonly code: string; readonly programId: string; readonly since: number }
  >;
  readonly primaryCodes: Map<string, string>;
}

export type RewardPhase = 'PENDING' | 'AVAILABLE' | 'EXPIRED';

export interface RewardState {
  readonly rewardId: string;
  readonly person: PersonId;
  readonly source: RewardSource;
  readonly value: RewardValue;
  readonly name: string | null;
  readonly description: string | null;
  readonly cancellable: boolean;
  readonly dateGiven: number;
  readonly dateScheduledFor: number | null;
  readonly dateExpires: number | null;
  readonly referralId: string | null;
  readonly redeemed: number;
  /** As the ledger shows it; a command first records what its clock says is due. */
  readonly phase: RewardPhase;
  readonly dateCancelled: number | null;
  readonly cancelledBy: 'REQUEST' | 'MODERATION' | null;
  readonly redeemsAutomatically: boolean;
}

/**
 * A referral of an account in a life that it had before: the account was deleted, perhaps opened
 * anew and referred again. Its referrer's reward stands, so it can be moderated. One per life,
 * without a name.
 */
export interface FormerReferral extends ReferralState {
  /** The moderation that holds it; null: none. */
  readonly heldBy: string | null;
}

export type FormerReferrals = Map<string, FormerReferral>;

export const unitKey = (unit: string): string => unit.toLowerCase();

/** What is left of a credit reward; 0 for other types. */
export const amountLeft = (reward: RewardState): number =>
  reward.value.type === 'CREDIT' ? reward.value.assignedCredit - reward.redeemed : 0;

export const unitOf = (value: RewardValue): string | null =>
  value.type === 'PCT_DISCOUNT' ? '%' : value.unit;

export const rewardRef = (reward: RewardState): RewardRef => ({
  rewardId: reward.rewardId,
  person: reward.person,
  rewardType: reward.value.type,
  unit: unitOf(reward.value),
});

/**
 * A reward that somebody may still use or see: what belonged to people who are gone stays in the
 * ledger and in no answer.
 */
export function presentReward(state: OpenAccount, rewardId: string): RewardState | undefined {
  const reward = state.rewards.get(rewardId);
  return reward && !state.remains.forgotten.has(reward.person) ? reward : undefined;
}
