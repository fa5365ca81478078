import type { AccountEventOf } from '../../src/domain/account/account.events.js';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import {
  aboutReward,
  accountOpened,
  credit,
  creditRedeemed,
  discount,
  rewardCancelled,
  rewardGranted,
  tankCode,
  userIdentified,
} from '../support/account-events.js';
import { ACME, BOB, given, NOW, opened } from './support/account-scenario.js';

const here = [accountOpened(ACME), userIdentified(ACME, 'bob')];

const redeem = (amount: number, unit = 'CENTS', now = NOW) =>
  ({
    type: 'RedeemCredit',
    rewardId: 'reward',
    redemptionId: 'redemption',
    amount,
    unit,
    now,
  }) as const;
const reward = rewardGranted('reward', BOB, credit(500));

it('redeeming one reward takes a part or all of the remaining credit', () => {
  given(here, reward)
    .when(redeem(1))
    .then(creditRedeemed(reward, 'redemption', 1, NOW));
  given(here, reward)
    .when(redeem(500))
    .then(creditRedeemed(reward, 'redemption', 500, NOW));
  given(here, reward, creditRedeemed(reward, 'r', 400, 3_000))
    .when(redeem(100))
    .then(creditRedeemed(reward, 'redemption', 100, NOW));
});

it('redeeming one reward never takes more than the remaining credit', () => {
  given(here, reward)
    .when(redeem(501))
    .refused('REDEMPTION_NOT_POSSIBLE', 'amount exceeds what is left (500)');
  given(here, reward, creditRedeemed(reward, 'r', 500, 3_000))
    .when(redeem(1))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The reward has already been redeemed');
});

it.each([0, -1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])(
  'redeeming one reward does not take %d',
  (amount) => {
    given(here, reward)
      .when(redeem(amount))
      .refused('REDEMPTION_NOT_POSSIBLE', `The amount ${amount} must be a whole number above zero`);
  },
);

it('redeeming one reward compares units without case and keeps the spelling of the reward', () => {
  given(here, reward)
    .when(redeem(1, 'cEnTs'))
    .then(creditRedeemed(reward, 'redemption', 1, NOW));
  given(here, reward)
    .when(redeem(1, 'POINTS'))
    .refused(
      'REDEMPTION_NOT_POSSIBLE',
      'The reward is in CENTS: redeem it with this unit instead of POINTS',
    );
});

it('redeeming one reward is for credit alone', () => {
  for (const value of [discount(10), tankCode('T')]) {
    given(here, rewardGranted('reward', BOB, value))
      .when(redeem(1, '%'))
      .refused(
        'REDEMPTION_NOT_POSSIBLE',
        `Only credit can be redeemed, and the reward is of type ${value.type}`,
      );
  }
});

it('redeeming one reward does not find an unknown reward', () => {
  given().when(redeem(1)).refused('REWARD_NOT_FOUND');
  given(here).when(redeem(1)).refused('REWARD_NOT_FOUND');
});

it('redeeming one reward uses the clock, whether due dates are recorded or not', () => {
  const due = rewardGranted('reward', BOB, credit(500), {
    dateScheduledFor: 3_000,
    dateExpires: 4_000,
  });
  const available = aboutReward('RewardBecameAvailable', due, 500, 3_000);
  const notBefore = 'The reward is not available before 1970-01-01T00:00:03.000Z';
  const expired = 'The reward expired at 1970-01-01T00:00:04.000Z';
  given(here, due)
    .when(redeem(1, 'CENTS', 2_999))
    .refused('REDEMPTION_NOT_POSSIBLE', notBefore);
  given(here, due)
    .when(redeem(1, 'CENTS', 3_000))
    .then(available, creditRedeemed(due, 'redemption', 1, 3_000));
  given(here, due, available)
    .when(redeem(1, 'CENTS', 3_999))
    .then(creditRedeemed(due, 'redemption', 1, 3_999));
  given(here, due, available)
    .when(redeem(1, 'CENTS', 4_000))
    .refused('REDEMPTION_NOT_POSSIBLE', expired);
  given(here, due)
    .when(redeem(1, 'CENTS', 4_000))
    .refused('REDEMPTION_NOT_POSSIBLE', expired);
});

it('redeeming one reward is not possible for a cancelled reward', () => {
  for (const by of ['REQUEST', 'MODERATION'] as const) {
    given(here, reward, rewardCancelled(reward, 500, 3_000, by))
      .when(redeem(1))
      .refused('REDEMPTION_NOT_POSSIBLE', 'The reward was cancelled at 1970-01-01T00:00:03.000Z');
  }
});

describe('redeeming of the account', () => {
  const redeem = (amount: number, unit = 'CENTS', now = NOW) =>
    ({ type: 'RedeemAccountCredit', redemptionId: 'redemption', amount, unit, now }) as const;
  const of = (
    rewardId: string,
    amount: number,
    over: Partial<AccountEventOf<'RewardGranted'>> = {},
  ) => rewardGranted(rewardId, BOB, credit(amount), over);

  it('takes the soonest expiry first, then the oldest grant, then by id', () => {
    const never = of('never', 10, { at: 1_000 });
    const late = of('late', 10, { at: 900, dateExpires: NOW + 9 });
    const soon = of('soon', 10, { at: 3_000, dateExpires: NOW + 5 });
    const soonToo = of('soon-too', 10, { at: 3_000, dateExpires: NOW + 5 });
    const soonOlder = of('zzz', 10, { at: 2_000, dateExpires: NOW + 5 });
    given(here, never, late, soonToo, soon, soonOlder)
      .when(redeem(45))
      .then(
        creditRedeemed(soonOlder, 'redemption-0', 10, NOW),
        creditRedeemed(soon, 'redemption-1', 10, NOW),
        creditRedeemed(soonToo, 'redemption-2', 10, NOW),
        creditRedeemed(late, 'redemption-3', 10, NOW),
        creditRedeemed(never, 'redemption-4', 5, NOW),
      );
  });

  it('takes of one unit, in every spelling, and of credit alone', () => {
    const spelled = rewardGranted('b', BOB, credit(10, 'Cents'));
    const others = [
      rewardGranted('c', BOB, credit(100, 'POINTS')),
      rewardGranted('d', BOB, discount(10)),
      rewardGranted('e', BOB, tankCode('T')),
    ];
    const a = of('a', 10);
    given(here, a, spelled, others)
      .when(redeem(20, 'cents'))
      .then(
        creditRedeemed(a, 'redemption-0', 10, NOW),
        creditRedeemed(spelled, 'redemption-1', 10, NOW),
      );
    given(here, a, spelled, others)
      .when(redeem(21))
      .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 21 exceeds the available credit 20 CENTS');
  });

  it('is all or nothing', () => {
    given(here, of('a', 10))
      .when(redeem(11))
      .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 11 exceeds the available credit 10 CENTS');
    given(here)
      .when(redeem(1))
      .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 1 exceeds the available credit 0 CENTS');
    given(here, of('a', 10))
      .when(redeem(1, 'POINTS'))
      .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 1 exceeds the available credit 0 POINTS');
    given(here, of('a', 10))
      .when(redeem(0))
      .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 0 must be a whole number above zero');
    given().when(redeem(1)).refused('ACCOUNT_NOT_FOUND');
  });

  it('uses the clock, and records due dates of the taken rewards only', () => {
    const gone = of('gone', 10, { dateExpires: 4_000 });
    const due = of('due', 10, { dateScheduledFor: 3_000 });
    const later = of('later', 10, { dateScheduledFor: NOW + 1 });
    given(here, gone, due, later)
      .when(redeem(10))
      .then(
        aboutReward('RewardBecameAvailable', due, 10, 3_000),
        creditRedeemed(due, 'redemption-0', 10, NOW),
      );
    given(here, gone, due, later)
      .when(redeem(11))
      .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 11 exceeds the available credit 10 CENTS');
  });
});

it('spendable credit follows the clock', () => {
  const rewards = [
    rewardGranted('now', BOB, credit(1)),
    rewardGranted('scheduled', BOB, credit(10), { dateScheduledFor: 5_000 }),
    rewardGranted('expiring', BOB, credit(100, 'cents'), { dateExpires: 6_000 }),
    rewardGranted('of another unit', BOB, credit(1_000, 'POINTS')),
  ];
  const cancelled = rewardGranted('cancelled', BOB, credit(10_000));
  const state = opened(
    given(here, rewards, cancelled, rewardCancelled(cancelled, 10_000, 3_000)).state,
  );
  expect([4_999, 5_000, 5_999, 6_000].map((now) => availableCredit(state, 'Cents', now))).toEqual([
    101, 111, 111, 11,
  ]);
});
