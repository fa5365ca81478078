import type { Decoded } from '../../event-log/codec.js';
import { eventRewardId } from '../../command-handling/event-reward-id.js';
import {
  rewardedSide,
  type AccountEvent,
  type Party,
  type PersonId,
} from '../../domain/account/account.events.js';
import {
  CONVERSION_RULE,
  REFERRED_RULE,
  REFERRER_RULE,
  type GrantTerms,
  type PromisedValue,
  type RewardTerms,
} from '../../domain/program.js';

/** A reward that an event has earned and that was neither granted nor withheld. */
interface RewardMissing {
  /** `conversion`: earned by a referral; the other one by an event of the referred user. */
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

type Owed = RewardMissing & { readonly person: PersonId; readonly recordedAt: number };

/** The types that `OwedRewards` reads. */
export const OWED_REWARD_TYPES = [
  'ReferralStarted',
  'ReferralConverted',
  'ReferralModerated',
  'ReferralRefunded',
  'ReferrerRewardEarnedByEvent',
  'EarningRefunded',
  'RewardGranted',
  'RewardWithheld',
  'ErasureRequested',
] as const satisfies readonly AccountEvent['type'][];

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
  add(account: string, events: readonly Decoded[]): void {
    const read = new AccountRead(account);
    for (const decoded of events) {
      if (decoded.event.type === 'ErasureRequested')
        for (const person of decoded.event.persons) this.forgotten.add(person);
      read.add(decoded);
    }
    for (const [key, owed] of read.owed) if (!this.settled.delete(key)) this.owed.set(key, owed);
    for (const key of read.settled)
      if (!this.owed.delete(key) && !key.startsWith('referred ')) this.settled.add(key);
  }

  /**
   * Rewards earned before that time and neither granted nor withheld, of people who are not
   * forgotten.
   * @param ahead entries recorded after this time came from a clock that was ahead: they count as
   * old.
   */
  missing(before: number, ahead = Infinity): RewardMissing[] {
    const isOld = (recordedAt: number): boolean => recordedAt < before || recordedAt > ahead;
    return [...this.owed.values()]
      .filter(({ person, recordedAt }) => isOld(recordedAt) && !this.forgotten.has(person))
      .map(({ person: _, recordedAt: __, ...missing }) => missing);
  }
}

const RULES = { referred: REFERRED_RULE, referrer: REFERRER_RULE } as const;
const SIDES = ['referred', 'referrer'] as const;

const ofSide = (side: (typeof SIDES)[number], referralId: string): string =>
  `${side} reward of ${referralId}`;

/**
 * The events of one account. A side of a referral earns once, whichever event earned it; a reward
 * earned by an event is identified by the reward's id.
 */
class AccountRead {
  readonly owed = new Map<string, Owed>();
  /**
   * Granted or withheld. The earning event may be in another account, except for the referred side.
   */
  readonly settled = new Set<string>();
  /** The rewards that the referred side has earned, approved or not. */
  private readonly earned = new Map<string, RewardTerms>();
  /** The referred person of each referral, which only its first event names. */
  private readonly referred = new Map<string, PersonId>();

  constructor(private readonly account: string) {}

  add({ event, envelope, recorded }: Decoded): void {
    // In reaction to an event of another account.
    const byPolicy = envelope.actor.kind === 'policy';
    switch (event.type) {
      case 'RewardGranted': {
        const { source, referralId, rewardId } = event;
        const sides = SIDES.filter((side) => side === rewardedSide(event));
        return this.settle(sides, referralId, source === 'EVENT' && byPolicy ? rewardId : null);
      }
      case 'RewardWithheld': {
        const { rule, referralId, rewardId } = event;
        // Events from before rules had names may belong to either side.
        const sides = SIDES.filter((side) => rule === null || rule === RULES[side]);
        return this.settle(sides, referralId, referralId === null && byPolicy ? rewardId : null);
      }
      case 'ReferrerRewardEarnedByEvent': {
        const { userEventId, programId, rule, terms, referrer } = event;
        const key = eventRewardId(referrer.account, userEventId, programId, rule);
        const of = `${rule} reward of event ${userEventId}`;
        return this.owe(key, recorded, { kind: 'event-reward', of, terms, to: referrer });
      }
      case 'EarningRefunded': {
        const { rule, referralId } = event;
        if (rule !== CONVERSION_RULE || referralId === null) return;
        // The reward of the referrer is settled in the referrer's account.
        if (this.earned.get(referralId)?.when === 'CONVERTED') this.endReferred(referralId);
        return;
      }
      case 'ReferralRefunded':
        return this.endReferred(event.referralId);
      case 'ReferralStarted':
      case 'ReferralConverted':
      case 'ReferralModerated': {
        const { referralId, referrer, referrerReward } = event;
        if (event.type === 'ReferralStarted') this.referred.set(referralId, event.referred.person);
        if (event.type !== 'ReferralModerated' && event.referredReward)
          this.earned.set(referralId, event.referredReward);
        const side = (name: (typeof SIDES)[number], terms: GrantTerms | null, to: Owner): void => {
          const of = ofSide(name, referralId);
          // Denied or undecided: a reward earned before is not granted for the time being.
          if (event[`${name}Status`] !== 'APPROVED') this.owed.delete(of);
          else if (terms) this.owe(of, recorded, { kind: 'conversion', of, terms, to });
        };
        side('referrer', referrerReward, referrer);
        const person = this.referred.get(referralId) ?? '';
        return side('referred', this.earned.get(referralId) ?? null, { person });
      }
      default:
        return;
    }
  }

  /** After a refund a later approval of the referred side grants nothing. */
  private endReferred(referralId: string): void {
    this.earned.delete(referralId);
    this.owed.delete(ofSide('referred', referralId));
  }

  private owe(key: string, { id: eventId, recordedAt }: Decoded['recorded'], earned: Earned): void {
    if (this.settled.has(key) || this.owed.has(key)) return;
    const { kind, of, to, terms } = earned;
    const { value } = terms;
    const amount = value.type === 'CREDIT' ? value.assignedCredit : null;
    const account = to.ids?.value?.accountId ?? this.account;
    const what = `${of}: ${promised(value)}`;
    const { person } = to;
    this.owed.set(key, { kind, account, what, amount, eventId, person, recordedAt });
  }

  private settle(
    sides: readonly (typeof SIDES)[number][],
    referralId: string | null,
    rewardId: string | null,
  ): void {
    const ofReferral = referralId === null ? [] : sides.map((side) => ofSide(side, referralId));
    for (const key of rewardId === null ? ofReferral : [...ofReferral, rewardId]) {
      this.settled.add(key);
      this.owed.delete(key);
    }
  }
}

type Owner = Pick<Party, 'person'> & Partial<Party>;

interface Earned extends Pick<Owed, 'kind'> {
  readonly of: string;
  readonly terms: GrantTerms;
  readonly to: Owner;
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
