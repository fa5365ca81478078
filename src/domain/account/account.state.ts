import { List, Map, OrderedMap, Set } from 'immutable';
import type { RewardTerms, RewardValue, SideStatus } from '../program.js';
import type { SubjectId } from '../personal.js';
import type {
  AccountEvent,
  AccountEventOf,
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
import { countGranted, withheldKey, type GrantedOfRule } from './rule-counts.js';
import { batchKey, noteEvent, rememberBatch, type EventsSeen } from './events-seen.js';

/**
 * An account, folded from its events. Persistent maps (Immutable): a fold of 100 000 events costs as many small steps, and a
 * decision may try events on a state that others hold. A fold never throws: facts that no rule of today would produce may stand in the log.
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
  /** All credit that was ever assigned before the account was deleted, by unit in lower case: it still stands in the ledger. */
  readonly assignedEver: Map<string, number>;
  /** What rules granted before the account was deleted: it still counts towards their limits. */
  readonly grantedByRule: Map<string, GrantedOfRule>;
  /** Tank codes that went to the account before it was deleted, by reward: nobody else is given them. */
  readonly tankCodes: Map<string, string>;
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
  /** Idempotency keys of user events, by person, as keyed hashes, with the time they came; oldest first. */
  readonly batches: OrderedMap<string, number>;
  /** Referrals that users of this account have made, oldest first. */
  readonly announced: List<AnnouncedReferral>;
  /** Signals that came upon a referral of this account before it started. */
  readonly flagged: Map<string, Readonly<Record<string, FraudSignal>>>;
}

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
  readonly codes: Map<string, { readonly code: string; readonly programId: string; readonly since: number }>;
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

const NOTHING_REMAINS: Remains = {
  ...{ forgotten: Set<SubjectId>(), suppressed: Set<string>(), erasures: Map<string, Erased>() },
  ...{ assignedEver: Map<string, number>(), grantedByRule: Map<string, GrantedOfRule>(), tankCodes: Map<string, string>() },
  lapses: 0,
};

export const initialState: AccountState = { status: 'absent', remains: NOTHING_REMAINS };

export const unitKey = (unit: string): string => unit.toLowerCase();

/** What is left of a credit reward; 0 for other types. */
export const amountLeft = (reward: RewardState): number =>
  reward.value.type === 'CREDIT' ? reward.value.assignedCredit - reward.redeemed : 0;

export const unitOf = (value: RewardValue): string | null => (value.type === 'PCT_DISCOUNT' ? '%' : value.unit);

export const rewardRef = (reward: RewardState): RewardRef => ({
  rewardId: reward.rewardId,
  person: reward.person,
  rewardType: reward.value.type,
  unit: unitOf(reward.value),
});

/** A reward that somebody may still use or see: what belonged to people who are gone stays in the ledger and in no answer. */
export function presentReward(state: OpenAccount, rewardId: string): RewardState | undefined {
  const reward = state.rewards.get(rewardId);
  return reward && !state.remains.forgotten.has(reward.person) ? reward : undefined;
}

export function evolve(state: AccountState, event: AccountEvent): AccountState {
  if (event.type === 'AccountOpened') return state.status === 'open' ? state : open(event, state.remains);
  if (event.type === 'ErasureRequested') return erase(state, event);
  if (event.type === 'ErasureCompleted')
    return { ...state, remains: { ...state.remains, erasures: state.remains.erasures.delete(event.erasureId) } };
  if (event.type === 'ReservationLapsed') return { ...state, remains: { ...state.remains, lapses: state.remains.lapses + 1 } };
  if (state.status === 'absent') return state;
  switch (event.type) {
    case 'SubscriptionChanged':
      return { ...state, subscription: event.subscription, everPaid: state.everPaid || event.subscription.status === 'PAID' };
    case 'CurrencyChanged':
      return { ...state, currency: event.currency };
    case 'AccountAttributed':
      return {
        ...state,
        attribution: { code: event.code.value, codeSubject: event.code.subject, referrer: event.referrer, programId: event.programId },
      };
    case 'PaymentProviderIdSet':
      return { ...state, paymentProviderId: event.paymentProviderId.value };
    case 'UserIdentified':
      return identify(state, event);
    case 'UserProfileChanged':
      return withUser(state, event.person, (user) => ({ ...user, profile: user.profile && { ...user.profile, ...event.changes.value } }));
    case 'ReferralCodeAssigned':
      return withUser(state, event.person, (user) => assignCode(user, event.code.value, event.programId, event.at));
    case 'UserBlocked':
      return withUser(state, event.person, (user) => ({ ...user, dateBlocked: event.at }));
    case 'UserUnblocked':
      return withUser(state, event.person, (user) => ({ ...user, dateBlocked: null }));
    case 'ReferralStarted':
      return { ...state, referral: started(event) };
    case 'ReferralConverted':
      return withReferral(state, event.referralId, (referral) => ({
        ...referral,
        datePaid: event.at,
        referredStatus: event.referredStatus,
        referrerStatus: event.referrerStatus,
        referredEarned: event.referredReward ?? referral.referredEarned,
        referrerEarned: event.referrerReward ?? referral.referrerEarned,
      }));
    case 'ReferralEnded':
      return withReferral(state, event.referralId, (referral) => ({ ...referral, dateEnded: event.at }));
    case 'ReferralFlagged':
      return flag(state, event);
    case 'ReferralAnnounced': {
      const { referralId, account, person, at } = event;
      return { ...state, announced: state.announced.push({ referralId, account, person, at }) };
    }
    case 'ReferralWithdrawn':
      return { ...state, announced: state.announced.filterNot(({ referralId }) => referralId === event.referralId) };
    case 'UserEventReceived':
      return {
        ...state,
        eventsSeen: noteEvent(state.eventsSeen, event.person, event.content.value),
        batches: event.batch === null ? state.batches : rememberBatch(state.batches, batchKey(event.person, event.batch), event.at),
      };
    // The referrer's account has the reward; here it is a fact for whoever tells that account.
    case 'ReferrerRewardEarnedByEvent':
      return state;
    case 'ModerationPrepared':
      return { ...state, holds: state.holds.merge(Map(event.referralIds.map((id) => [id, event.moderationId]))) };
    case 'ModerationReleased':
      return { ...state, holds: state.holds.filterNot((moderationId) => moderationId === event.moderationId) };
    case 'ReferralModerated':
      return release(
        withReferral(state, event.referralId, (referral) => ({
          ...referral,
          referredStatus: event.referredStatus,
          referrerStatus: event.referrerStatus,
          dateModerated: event.at,
        })),
        event.referralId,
        event.moderationId,
      );
    case 'ReferrerSideModerated':
      return release(
        { ...state, referrerSides: state.referrerSides.set(event.referralId, event.status) },
        event.referralId,
        event.moderationId,
      );
    case 'RewardGranted':
      return grant(state, event);
    case 'RewardWithheld':
      return { ...state, withheld: state.withheld.add(withheldKey(event)) };
    case 'RewardBecameAvailable':
      return withReward(state, event.rewardId, (reward) => ({ ...reward, phase: 'AVAILABLE' }));
    case 'RewardExpired':
      return withReward(state, event.rewardId, (reward) => ({ ...reward, phase: 'EXPIRED' }));
    case 'CreditRedeemed':
      return withReward(state, event.rewardId, (reward) => ({ ...reward, redeemed: reward.redeemed + event.amount }));
    case 'RewardCancelled':
      return withReward(state, event.rewardId, (reward) => ({
        ...reward,
        dateCancelled: reward.dateCancelled ?? event.at,
        cancelledBy: event.by,
      }));
    case 'RewardRestored':
      return withReward(state, event.rewardId, (reward) => ({ ...reward, dateCancelled: null, cancelledBy: null }));
  }
}

function open(event: AccountEventOf<'AccountOpened'>, remains: Remains): OpenAccount {
  return {
    status: 'open',
    remains,
    account: event.account,
    accountId: event.accountId.value,
    currency: event.currency,
    subscription: null,
    everPaid: false,
    paymentProviderId: null,
    attribution: null,
    referral: null,
    users: Map(),
    personsByUserId: Map(),
    persons: List(),
    rewards: Map(),
    rewardsByReferral: Map(),
    assignedEver: remains.assignedEver,
    referrerSides: Map(),
    holds: Map(),
    grantedByRule: remains.grantedByRule,
    withheld: Set(),
    eventsSeen: Map(),
    batches: OrderedMap(),
    announced: List(),
    flagged: Map(),
  };
}

function identify(state: OpenAccount, event: AccountEventOf<'UserIdentified'>): OpenAccount {
  const profile = event.profile.value;
  const user: UserState = { person: event.person, profile, dateCreated: event.at, dateBlocked: null, codes: Map(), primaryCodes: Map() };
  return {
    ...state,
    users: state.users.set(event.person, user),
    persons: state.persons.push(event.person),
    personsByUserId: profile ? state.personsByUserId.set(profile.id, event.person) : state.personsByUserId,
  };
}

function erase(state: AccountState, { erasureId, persons, account, suppressed }: AccountEventOf<'ErasureRequested'>): AccountState {
  const { remains } = state;
  const after: Remains = {
    forgotten: remains.forgotten.union(persons, account === null ? [] : [account]),
    suppressed: remains.suppressed.union(suppressed),
    erasures: remains.erasures.set(erasureId, { erasureId, persons, account }),
    assignedEver: state.status === 'open' ? state.assignedEver : remains.assignedEver,
    grantedByRule: state.status === 'open' ? state.grantedByRule : remains.grantedByRule,
    tankCodes: remains.tankCodes,
    lapses: remains.lapses,
  };
  if (state.status === 'absent') return { status: 'absent', remains: after };
  if (account !== null) return { status: 'absent', remains: { ...after, tankCodes: after.tankCodes.merge(tankCodesOf(state)) } };
  const isGone = (person: PersonId): boolean => after.forgotten.has(person);
  return {
    ...state,
    remains: after,
    users: state.users.deleteAll(persons),
    personsByUserId: state.personsByUserId.filterNot(isGone),
    persons: state.persons.filterNot(isGone),
    eventsSeen: state.eventsSeen.deleteAll(persons),
  };
}

function tankCodesOf({ rewards }: OpenAccount): Map<string, string> {
  return rewards.flatMap(({ rewardId, value }) => (value.type === 'FUELTANK' ? [[rewardId, value.fuelTankCode] as const] : []));
}

function assignCode(user: UserState, code: string | null, programId: string, at: number): UserState {
  if (code === null) return user;
  const key = code.toLowerCase();
  const since = user.codes.get(key)?.since ?? at;
  return { ...user, codes: user.codes.set(key, { code, programId, since }), primaryCodes: user.primaryCodes.set(programId, code) };
}

function started(event: AccountEventOf<'ReferralStarted'>): ReferralState {
  return {
    referralId: event.referralId,
    programId: event.programId,
    programVersion: event.programVersion,
    referred: event.referred,
    referrer: event.referrer,
    referredStatus: event.referredStatus,
    referrerStatus: event.referrerStatus,
    fraudSignals: event.fraudSignals,
    referredEarned: event.referredReward,
    referrerEarned: event.referrerReward,
    dateStarted: event.at,
    datePaid: null,
    dateEnded: null,
    dateModerated: event.at,
  };
}

function grant(state: OpenAccount, event: AccountEventOf<'RewardGranted'>): OpenAccount {
  const { rewardId, person, source, value, cancellable, dateScheduledFor, dateExpires, referralId } = event;
  const { redeemsAutomatically, texts } = event;
  const { name, description } = texts.value ?? { name: null, description: null };
  const reward: RewardState = {
    ...{ rewardId, person, source, value, name, description, cancellable, dateScheduledFor, dateExpires, referralId, redeemsAutomatically },
    dateGiven: event.at,
    redeemed: 0,
    phase: dateScheduledFor === null ? 'AVAILABLE' : 'PENDING',
    dateCancelled: null,
    cancelledBy: null,
  };
  return {
    ...state,
    rewards: state.rewards.set(rewardId, reward),
    rewardsByReferral:
      referralId === null
        ? state.rewardsByReferral
        : state.rewardsByReferral.update(referralId, List<string>(), (ids) => ids.push(rewardId)),
    assignedEver:
      value.type === 'CREDIT' ? state.assignedEver.update(unitKey(value.unit), 0, (sum) => sum + value.assignedCredit) : state.assignedEver,
    grantedByRule: countGranted(state.grantedByRule, event),
  };
}

function flag(state: OpenAccount, { referralId, fraudSignals }: AccountEventOf<'ReferralFlagged'>): OpenAccount {
  if (state.referral?.referralId !== referralId) {
    return { ...state, flagged: state.flagged.update(referralId, {}, (before) => ({ ...before, ...fraudSignals })) };
  }
  return withReferral(state, referralId, (referral) => ({ ...referral, fraudSignals: { ...referral.fraudSignals, ...fraudSignals } }));
}

function release(state: OpenAccount, referralId: string, moderationId: string): OpenAccount {
  return state.holds.get(referralId) === moderationId ? { ...state, holds: state.holds.delete(referralId) } : state;
}

function withUser(state: OpenAccount, person: PersonId, change: (user: UserState) => UserState): OpenAccount {
  const user = state.users.get(person);
  return user ? { ...state, users: state.users.set(person, change(user)) } : state;
}

function withReferral(state: OpenAccount, referralId: string, change: (referral: ReferralState) => ReferralState): OpenAccount {
  return state.referral?.referralId === referralId ? { ...state, referral: change(state.referral) } : state;
}

function withReward(state: OpenAccount, rewardId: string, change: (reward: RewardState) => RewardState): OpenAccount {
  const reward = state.rewards.get(rewardId);
  return reward ? { ...state, rewards: state.rewards.set(rewardId, change(reward)) } : state;
}
