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

const STATUSES: readonly SideStatus[] = ['APPROVED', 'PENDING', 'DENIED'];

/** One in which people are forgotten, too. */
export const historyStepWithErasures = fc.oneof(
  { weight: 15, arbitrary: historyStep },
  { weight: 1, arbitrary: historyStep.map((step) => ({ ...step, kind: 16 })) },
);

/**
 * Makes events that could have happened out of any steps; steps that make no sense where they stand
 * are left out.
 */
export class AccountHistory {
  private readonly accounts: readonly TestAccount[];
  private readonly opened = new Set<TestAccount>();
  private readonly identified = new Set<string>();
  private readonly referralOf = new Map<
    TestAccount,
    { id: string; referrer: ReturnType<typeof partyOf> }
  >();
  private readonly rewards: {
    account: TestAccount;
    granted: AccountEventOf<'RewardGranted'>;
    left: number;
    cancelled: boolean;
  }[] = [];
  private time = 1_000;
  private count = 0;

  constructor(private readonly run: string) {
    this.accounts = [0, 1, 2, 3].map((number) =>
      anAccount(`a${number}`, { tenant: run, mode: number === 3 ? 'test' : 'live' }),
    );
  }

  next({
    kind,
    account: accountNumber,
    user: userNumber,
    pick,
    amount,
  }: HistoryStep): [TestAccount, AccountEvent] | undefined {
    const account = this.accounts[accountNumber] ?? this.accounts[0];
    if (!account) return undefined;
    const at = (this.time += pick);
    const id = `${this.run}-${(this.count += 1)}`;
    const userId = `user${userNumber}`;
    const party = partyOf(account, userId);
    if (!this.opened.has(account)) {
      this.opened.add(account);
      return [
        account,
        accountOpened(account, { at, ...(pick === 0 ? { accountId: forgotten(id) } : {}) }),
      ];
    }
    const person = party.person;
    if (!this.identified.has(person)) {
      this.identified.add(person);
      const event = userIdentified(account, userId, { firstName: `Ann${pick}` }, at);
      return [
        account,
        pick === 1 && event.type === 'UserIdentified'
          ? { ...event, profile: forgotten(person) }
          : event,
      ];
    }
    const reward = this.rewards[pick % Math.max(1, this.rewards.length)];
    const referral = this.referralOf.get(account);
    const statuses = {
      referredStatus: STATUSES[pick % 3] ?? 'DENIED',
      referrerStatus: STATUSES[amount % 3] ?? 'DENIED',
      at,
    };
    switch (kind) {
      case 0:
        return [account, subscriptionChanged({ status: pick % 2 ? 'PAID' : 'TRIAL' }, at)];
      case 1:
        return [
          account,
          userProfileChanged(
            account,
            userId,
            { lastName: pick % 2 ? `Lee${pick}` : null, customFields: { pick } },
            at,
          ),
        ];
      case 2:
        return [
          account,
          referralCodeAssigned(
            account,
            userId,
            pick % 2 ? `Code${person.slice(0, 4)}${pick}` : `CODE${person.slice(0, 4)}${pick + 1}`,
            at,
          ),
        ];
      case 3:
        return [account, { type: pick % 2 ? 'UserBlocked' : 'UserUnblocked', at, person }];
      case 4:
        return [account, accountAttributed('CODE', party, at)];
      case 5: {
        const referrer = partyOf(
          this.accounts[(accountNumber + 1 + (pick % 2)) % 3] ?? account,
          `user${pick % 3}`,
        );
        if (referral) return undefined;
        this.referralOf.set(account, { id, referrer });
        return [
          account,
          referralStarted(
            id,
            pick % 7 ? party : { ...party, ids: forgotten(person) },
            referrer,
            statuses,
          ),
        ];
      }
      case 6:
        return (
          referral && [
            account,
            referralConverted(
              referral.id,
              pick % 5 ? referral.referrer : { ...referral.referrer, ids: forgotten('x') },
              statuses,
            ),
          ]
        );
      case 7:
        return referral && [account, referralModerated(referral.id, referral.referrer, statuses)];
      case 8:
        return referral && [account, { type: 'ReferralEnded', at, referralId: referral.id }];
      case 9:
        return [
          account,
          {
            type: 'PaymentProviderIdSet',
            at,
            paymentProviderId: { subject: 'x', value: pick ? `cus${pick}` : null },
          },
        ];
      case 10:
      case 11: {
        const value =
          [
            credit(amount, pick % 2 ? 'CENTS' : 'cents'),
            discount(amount),
            tankCode(`T${pick}`),
            credit(amount, 'POINTS'),
          ][pick % 4] ?? discount(1);
        const dateScheduledFor = pick % 3 === 0 ? at + 30 : null;
        const granted = rewardGranted(id, party, value, {
          at,
          dateScheduledFor,
          dateExpires: pick % 5 === 0 ? at + 100 : null,
          source: pick % 2 ? 'REFERRED' : 'FRIEND_SIGNUP',
          referralId: referral?.id ?? null,
          ...(pick === 13 ? { owner: forgotten(person) } : {}),
        });
        this.rewards.push({
          account,
          granted,
          left: value.type === 'CREDIT' ? value.assignedCredit : 0,
          cancelled: false,
        });
        return [account, granted];
      }
      case 16: {
        const erased = {
          erasureId: id,
          persons: [person],
          account: pick % 4 === 0 ? account.accountRef : null,
        };
        return [
          account,
          amount % 2
            ? { type: 'ErasureRequested', at, ...erased, suppressed: [] }
            : { type: 'ErasureCompleted', at, ...erased },
        ];
      }
      case 12: {
        if (!reward || reward.left === 0 || reward.cancelled) return undefined;
        const redeemed = Math.min(reward.left, amount);
        reward.left -= redeemed;
        return [reward.account, creditRedeemed(reward.granted, id, redeemed, at)];
      }
      case 13:
        if (!reward) return undefined;
        reward.cancelled = true;
        return [reward.account, rewardCancelled(reward.granted, reward.left, at)];
      case 14:
        if (!reward) return undefined;
        reward.cancelled = false;
        return [reward.account, aboutReward('RewardRestored', reward.granted, reward.left, at)];
      default:
        return (
          reward && [
            reward.account,
            aboutReward(
              pick % 2 ? 'RewardExpired' : 'RewardBecameAvailable',
              reward.granted,
              reward.left,
              at,
            ),
          ]
        );
    }
  }
}
