import fc from 'fast-check';
import type { AccountEvent, AccountEventOf } from '../../src/domain/account/account.events.js';
import type { SideStatus } from '../../src/domain/program.js';
import {
  aboutReward,
  accountAttributed,
  accountOpened,
  anAccount,
  credit,
  creditRedeemed,
  discount,
  forgotten,
  partyOf,
  referralCodeAssigned,
  referralConverted,
  referralModerated,
  referralStarted,
  rewardCancelled,
  rewardGranted,
  subscriptionChanged,
  tankCode,
  userIdentified,
  userProfileChanged,
  type TestAccount,
} from './account-events.js';

/** A step of a history: what kind of thing happens, and numbers that pick to whom. */
export const historyStep = fc.record({
  kind: fc.nat(15),
  account: fc.nat(3),
  user: fc.nat(2),
  pick: fc.nat(20),
  amount: fc.integer({ min: 1, max: 50 }),
});
export type HistoryStep = typeof historyStep extends fc.Arbitrary<infer S> ? S : never;

interface KnownReward {
  readonly account: TestAccount;
  readonly granted: AccountEventOf<'RewardGranted'>;
  left: number;
  cancelled: boolean;
}

const STATUSES: readonly SideStatus[] = ['APPROVED', 'PENDING', 'DENIED'];

export const historyStepWithErasures = fc.oneof(
  { weight: 15, arbitrary: historyStep },
  { weight: 1, arbitrary: historyStep.map((step) => ({ ...step, kind: 16 })) },
);

/** Makes events of any steps; steps that make no sense where they are do nothing. */
export class AccountHistory {
  private readonly accounts: readonly TestAccount[];
  private readonly opened = new Set<TestAccount>();
  private readonly identified = new Set<string>();
  private readonly referralOf = new Map<
    TestAccount,
    { id: string; referrer: ReturnType<typeof partyOf> }
  >();
  private readonly rewards: KnownReward[] = [];
  private time = 1_000;
  private count = 0;

  constructor(private readonly run: string) {
    this.accounts = [0, 1, 2, 3].map((number) =>
      anAccount(`a${number}`, { tenant: run, mode: number === 3 ? 'test' : 'live' }),
    );
  }

  next(step: HistoryStep): [TestAccount, AccountEvent] | undefined {
    const account = this.accounts[step.account]!;
    const at = (this.time += step.pick);
    const id = `${this.run}-${(this.count += 1)}`;
    const begun = this.begun(account, step, at, id);
    if (begun) return [account, begun];
    const reward = this.rewards[step.pick % Math.max(1, this.rewards.length)];
    if (step.kind >= 12 && step.kind <= 15) {
      const event = reward && aboutIt(reward, step, at, id);
      return event && [reward.account, event];
    }
    const event = this.ofAccount(account, step, at, id);
    return event && [account, event];
  }

  /** An account and a user begin before anything happens to them. */
  private begun(
    account: TestAccount,
    { user, pick }: HistoryStep,
    at: number,
    id: string,
  ): AccountEvent | undefined {
    if (!this.opened.has(account)) {
      this.opened.add(account);
      return accountOpened(account, { at, ...(pick === 0 ? { accountId: forgotten(id) } : {}) });
    }
    const { person } = partyOf(account, `user${user}`);
    if (this.identified.has(person)) return undefined;
    this.identified.add(person);
    const event = userIdentified(account, `user${user}`, { firstName: `Ann${pick}` }, at);
    return pick === 1 && event.type === 'UserIdentified'
      ? { ...event, profile: forgotten(person) }
      : event;
  }

  private ofAccount(
    account: TestAccount,
    { kind, user, pick, amount }: HistoryStep,
    at: number,
    id: string,
  ): AccountEvent | undefined {
    const userId = `user${user}`;
    const party = partyOf(account, userId);
    const { person } = party;
    const referral = this.referralOf.get(account);
    const statuses = {
      referredStatus: STATUSES[pick % 3]!,
      referrerStatus: STATUSES[amount % 3]!,
      at,
    };
    const lastName = pick % 2 ? `Lee${pick}` : null;
    const code =
      pick % 2 ? `Code${person.slice(0, 4)}${pick}` : `CODE${person.slice(0, 4)}${pick + 1}`;
    switch (kind) {
      case 0:
        return subscriptionChanged({ status: pick % 2 ? 'PAID' : 'TRIAL' }, at);
      case 1:
        return userProfileChanged(account, userId, { lastName, customFields: { pick } }, at);
      case 2:
        return referralCodeAssigned(account, userId, code, at);
      case 3:
        return { type: pick % 2 ? 'UserBlocked' : 'UserUnblocked', at, person };
      case 4:
        return accountAttributed('CODE', party, at);
      case 5: {
        if (referral) return undefined;
        const other = this.accounts[(this.accounts.indexOf(account) + 1 + (pick % 2)) % 3]!;
        const referrer = partyOf(other, `user${pick % 3}`);
        this.referralOf.set(account, { id, referrer });
        const referred = pick % 7 ? party : { ...party, ids: forgotten<never>(person) };
        return referralStarted(id, referred, referrer, statuses);
      }
      case 6:
        return (
          referral &&
          referralConverted(
            referral.id,
            pick % 5 ? referral.referrer : { ...referral.referrer, ids: forgotten('x') },
            statuses,
          )
        );
      case 7:
        return referral && referralModerated(referral.id, referral.referrer, statuses);
      case 8:
        return referral && { type: 'ReferralEnded', at, referralId: referral.id };
      case 9: {
        const paymentProviderId = { subject: 'x', value: pick ? `cus${pick}` : null };
        return { type: 'PaymentProviderIdSet', at, paymentProviderId };
      }
      case 16: {
        const erased = {
          erasureId: id,
          persons: [person],
          account: pick % 4 === 0 ? account.accountRef : null,
        };
        return amount % 2
          ? { type: 'ErasureRequested', at, ...erased, suppressed: [] }
          : { type: 'ErasureCompleted', at, ...erased };
      }
      default: {
        const value = [
          credit(amount, pick % 2 ? 'CENTS' : 'cents'),
          discount(amount),
          tankCode(`T${pick}`),
          credit(amount, 'POINTS'),
        ][pick % 4]!;
        const granted = rewardGranted(id, party, value, {
          at,
          dateScheduledFor: pick % 3 === 0 ? at + 30 : null,
          dateExpires: pick % 5 === 0 ? at + 100 : null,
          source: pick % 2 ? 'REFERRED' : 'FRIEND_SIGNUP',
          referralId: referral?.id ?? null,
          ...(pick === 13 ? { owner: forgotten(person) } : {}),
        });
        const left = value.type === 'CREDIT' ? value.assignedCredit : 0;
        this.rewards.push({ account, granted, left, cancelled: false });
        return granted;
      }
    }
  }
}

/** What happens to a reward that was granted before. */
function aboutIt(
  reward: KnownReward,
  { kind, pick, amount }: HistoryStep,
  at: number,
  id: string,
): AccountEvent | undefined {
  if (kind === 12) {
    if (reward.left === 0 || reward.cancelled) return undefined;
    const redeemed = Math.min(reward.left, amount);
    reward.left -= redeemed;
    return creditRedeemed(reward.granted, id, redeemed, at);
  }
  if (kind === 13) {
    reward.cancelled = true;
    return rewardCancelled(reward.granted, reward.left, at);
  }
  if (kind === 14) reward.cancelled = false;
  const due = pick % 2 ? 'RewardExpired' : 'RewardBecameAvailable';
  const type = kind === 14 ? 'RewardRestored' : due;
  return aboutReward(type, reward.granted, reward.left, at);
}
