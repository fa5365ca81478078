import type { AccountEvent, PersonId } from '../domain/account/account.events.js';
import { REFERRED_RULE, REFERRER_RULE } from '../domain/program.js';

/** A reward that a referral has earned somebody and of which the ledger says nothing: neither given nor withheld. */
export interface RewardMissing {
  readonly account: string;
  readonly referralId: string;
  readonly side: 'referred' | 'referrer';
  readonly eventId: string;
}

type Owed = RewardMissing & { readonly person: PersonId; readonly recordedAt: number };

/** The types that `Conversions` looks at. */
export const CONVERSION_TYPES = [
  ...(['ReferralStarted', 'ReferralConverted', 'ReferralModerated', 'RewardGranted', 'RewardWithheld', 'ErasureRequested'] as const),
] as const satisfies readonly AccountEvent['type'][];

/**
 * Lays what referrals have earned against what was granted. The two sides of a referral are facts of two accounts, in whichever order these
 * are read: what finds its counterpart is dropped at once.
 */
export class Conversions {
  private readonly owed = new Map<string, Owed>();
  private readonly settled = new Set<string>();
  private readonly forgotten = new Set<PersonId>();
  /** Who the referred party of a referral is, which only its start says. */
  private readonly referred = new Map<string, PersonId>();

  add(
    account: string,
    { eventId, event, recordedAt }: { readonly eventId: string; readonly event: AccountEvent; readonly recordedAt: number },
  ): void {
    if (event.type === 'ErasureRequested') for (const person of event.persons) this.forgotten.add(person);
    if (event.type === 'RewardGranted') this.granted(event);
    if (event.type === 'RewardWithheld' && event.referralId !== null) this.withheld(event.referralId, event.rule);
    if (event.type !== 'ReferralStarted' && event.type !== 'ReferralConverted' && event.type !== 'ReferralModerated') return;
    const { referralId, referrer, referrerStatus, referrerReward } = event;
    const common = { account, referralId, eventId, recordedAt };
    // Denied or undecided: what was owed before is not given for the time being.
    if (referrerStatus !== 'APPROVED') this.owed.delete(keyOf(referralId, 'referrer'));
    else if (referrerReward) this.owe({ ...common, side: 'referrer', person: referrer.person });
    if (event.type === 'ReferralStarted') this.referred.set(referralId, event.referred.person);
    // A moderation gives the referred side's reward in the same decision, and says nothing of it.
    if (event.type === 'ReferralModerated' || event.referredStatus !== 'APPROVED' || !event.referredReward) return;
    this.owe({ ...common, side: 'referred', person: this.referred.get(referralId) ?? '' });
  }

  /** What was owed before that time and is neither given nor withheld, to somebody who is still there. */
  missing(before: number): RewardMissing[] {
    return [...this.owed.values()]
      .filter(({ person, recordedAt }) => recordedAt < before && !this.forgotten.has(person))
      .map(({ account, referralId, side, eventId }) => ({ account, referralId, side, eventId }));
  }

  private granted({ referralId, source }: Extract<AccountEvent, { type: 'RewardGranted' }>): void {
    if (referralId === null) return;
    if (source === 'REFERRED') this.settle(referralId, 'referred');
    if (source === 'FRIEND_SIGNUP') this.settle(referralId, 'referrer');
  }

  /** Facts from before rules were named may be of either side. */
  private withheld(referralId: string, rule: string | null): void {
    if (rule === null || rule === REFERRED_RULE) this.settle(referralId, 'referred');
    if (rule === null || rule === REFERRER_RULE) this.settle(referralId, 'referrer');
  }

  private owe(owed: Owed): void {
    const key = keyOf(owed.referralId, owed.side);
    if (!this.settled.has(key) && !this.owed.has(key)) this.owed.set(key, owed);
  }

  private settle(referralId: string, side: RewardMissing['side']): void {
    const key = keyOf(referralId, side);
    this.settled.add(key);
    this.owed.delete(key);
  }
}

const keyOf = (referralId: string, side: RewardMissing['side']): string => `${referralId}/${side}`;
