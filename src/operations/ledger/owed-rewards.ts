import { eventRewardId } from '../../command-handling/event-reward-id.js';
import type {
  AccountEvent,
  AccountEventOf,
  Party,
  PersonId,
} from '../../domain/account/account.events.js';
import {
  REFERRED_RULE,
  REFERRER_RULE,
  type GrantTerms,
  type PromisedValue,
} from '../../domain/program.js';

/** A reward that an event has earned and that was neither granted nor withheld. */
export interface RewardMissing {
  /**
   * `conversion`: earned by a referral. `event-reward`: earned by an event of the referred user.
   */
  readonly kind: 'conversion' | 'event-reward';
  /**
   * The account that the reward belongs to; the account of the earning event when the owner's ids
   * cannot be read.
   */
  readonly account: string;
  /** For display: `referrer reward of …: 1000 CENTS`. */
  readonly what: string;
  /** The amount of credit. */
  readonly amount: number | null;
  /** The event that earned it. */
  readonly eventId: string;
}

/** An event of an account, with where it comes from. */
export interface AccountFact {
  readonly event: AccountEvent;
  readonly eventId: string;
  readonly recordedAt: number;
  /** A policy wrote it in reaction to an event of another account. */
  readonly byPolicy: boolean;
}

type Owed = RewardMissing & { readonly person: PersonId; readonly recordedAt: number };

/** The types that `OwedRewards` reads. */
export const OWED_REWARD_TYPES = [
  'ReferralStarted',
  'ReferralConverted',
  'ReferralModerated',
  'ReferrerRewardEarnedByEvent',
  'RewardGranted',
  'RewardWithheld',
  'ErasureRequested',
] as const satisfies readonly AccountEvent['type'][];

type Earning = AccountEventOf<'ReferralStarted' | 'ReferralConverted' | 'ReferralModerated'>;

/**
 * Compares the earned rewards with those that were granted or withheld. An earning event and its
 * reward may belong to two accounts, read in either order: matched pairs are dropped, so memory
 * grows with the unmatched ones.
 */
export class OwedRewards {
  private readonly owed = new Map<string, Owed>();
  private readonly settled = new Set<string>();
  private readonly forgotten = new Set<PersonId>();

  /** All events of one account, in order. @param account the client's id. */
  add(account: string, facts: readonly AccountFact[]): void {
    const read = new AccountRead(account);
    for (const fact of facts) {
      if (fact.event.type === 'ErasureRequested')
        for (const person of fact.event.persons) this.forgotten.add(person);
      read.add(fact);
    }
    for (const [key, owed] of read.owed) if (!this.settled.delete(key)) this.owed.set(key, owed);
    for (const key of read.settledElsewhere()) if (!this.owed.delete(key)) this.settled.add(key);
  }

  /**
   * Rewards earned before that time and neither granted nor withheld, of people who are not
   * forgotten.
   * @param ahead of later entries the clock was ahead: they count as old ones.
   */
  missing(before: number, ahead = Infinity): RewardMissing[] {
    const isOld = (recordedAt: number): boolean => recordedAt < before || recordedAt > ahead;
    return [...this.owed.values()]
      .filter(({ person, recordedAt }) => isOld(recordedAt) && !this.forgotten.has(person))
      .map(({ person: _, recordedAt: __, ...missing }) => missing);
  }
}

/**
 * The events of one account. A side of a referral earns once, whichever event earned it; a reward
 * earned by an event is identified by the reward's id.
 */
class AccountRead {
  readonly owed = new Map<string, Owed>();
  private readonly settled = new Set<string>();
  /** The rewards that the referred side has earned, approved or not. */
  private readonly earned = new Map<
    string,
    { readonly terms: GrantTerms; readonly person: PersonId }
  >();
  /** The referred person of each referral, which only its first event names. */
  private readonly referred = new Map<string, PersonId>();

  constructor(private readonly account: string) {}

  add(fact: AccountFact): void {
    const { event } = fact;
    switch (event.type) {
      case 'RewardGranted': {
        const { source } = event;
        const sides = { referred: source === 'REFERRED', referrer: source === 'FRIEND_SIGNUP' };
        return this.settle(fact, event, { ...sides, reward: source === 'EVENT' });
      }
      case 'RewardWithheld': {
        const { rule } = event;
        // Events from before rules had names may belong to either side.
        const isOf = (side: string): boolean => rule === null || rule === side;
        const sides = { referred: isOf(REFERRED_RULE), referrer: isOf(REFERRER_RULE) };
        return this.settle(fact, event, { ...sides, reward: event.referralId === null });
      }
      case 'ReferrerRewardEarnedByEvent':
        return this.earnedByEvent(fact, event);
      case 'ReferralStarted':
      case 'ReferralConverted':
      case 'ReferralModerated':
        this.referrerSide(fact, event);
        return this.referredSide(fact, event);
      default:
        return;
    }
  }

  /** Rewards granted or withheld here that another account's event may have earned. */
  settledElsewhere(): readonly string[] {
    return [...this.settled].filter((key) => !key.startsWith('referred '));
  }

  private referrerSide(
    fact: AccountFact,
    { referralId, referrer, referrerStatus, referrerReward }: Earning,
  ): void {
    const key = `referrer ${referralId}`;
    // Denied or undecided: a reward earned before is not granted for the time being.
    if (referrerStatus !== 'APPROVED') this.owed.delete(key);
    else if (referrerReward)
      this.owe(key, fact, {
        kind: 'conversion',
        of: `referrer reward of ${referralId}`,
        terms: referrerReward,
        to: referrer,
      });
  }

  private referredSide(fact: AccountFact, event: Earning): void {
    const { referralId, referredStatus } = event;
    const key = `referred ${referralId}`;
    if (event.type === 'ReferralStarted') this.referred.set(referralId, event.referred.person);
    if (event.type !== 'ReferralModerated' && event.referredReward)
      this.earned.set(referralId, {
        terms: event.referredReward,
        person: this.referred.get(referralId) ?? '',
      });
    const earned = this.earned.get(referralId);
    if (referredStatus !== 'APPROVED') this.owed.delete(key);
    else if (earned)
      this.owe(key, fact, {
        kind: 'conversion',
        of: `referred reward of ${referralId}`,
        terms: earned.terms,
        to: { person: earned.person },
      });
  }

  private earnedByEvent(
    fact: AccountFact,
    {
      userEventId,
      programId,
      rule,
      terms,
      referrer,
    }: AccountEventOf<'ReferrerRewardEarnedByEvent'>,
  ): void {
    this.owe(`reward ${eventRewardId(referrer.account, userEventId, programId, rule)}`, fact, {
      kind: 'event-reward',
      of: `${rule} reward of event ${userEventId}`,
      terms,
      to: referrer,
    });
  }

  private owe(
    key: string,
    { eventId, recordedAt }: AccountFact,
    earned: {
      kind: Owed['kind'];
      of: string;
      terms: GrantTerms;
      to: Pick<Party, 'person'> & Partial<Party>;
    },
  ): void {
    if (this.settled.has(key) || this.owed.has(key)) return;
    const { kind, of, to } = earned;
    const { value } = earned.terms;
    const amount = value.type === 'CREDIT' ? value.assignedCredit : null;
    const account = to.ids?.value?.accountId ?? this.account;
    const what = `${of}: ${promised(value)}`;
    const { person } = to;
    this.owed.set(key, { kind, account, what, amount, eventId, person, recordedAt });
  }

  private settle(
    { byPolicy }: AccountFact,
    { referralId, rewardId }: AccountEventOf<'RewardGranted' | 'RewardWithheld'>,
    of: Readonly<Record<'referred' | 'referrer' | 'reward', boolean>>,
  ): void {
    const keys = [
      of.referred && referralId !== null && `referred ${referralId}`,
      of.referrer && referralId !== null && `referrer ${referralId}`,
      of.reward && byPolicy && rewardId !== null && `reward ${rewardId}`,
    ];
    for (const key of keys.filter((each) => each !== false)) {
      this.settled.add(key);
      this.owed.delete(key);
    }
  }
}

function promised(value: PromisedValue): string {
  switch (value.type) {
    case 'CREDIT':
      return `${value.assignedCredit} ${value.unit}`;
    case 'PCT_DISCOUNT':
      return `${value.discountPercent} %`;
    case 'FUELTANK':
      return 'a code out of a tank';
  }
}
