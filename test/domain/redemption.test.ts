import type { AccountEventOf, AccountEvent } from '../../src/domain/account/account.events.js';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import {
  aboutReward,
  credit,
  creditRedeemed,
  discount,
  rewardCancelled,
  rewardGranted,
  tankCode,
  moderationPrepared,
  referrerSideModerated,
} from '../support/account-events.js';
import { BOB, given, NOW, opened, HERE } from './support/account-scenario.js';
import type { CreateReward } from '../../src/domain/account/rewards/rewards.js';
import {
  createReward,
  redeemAccountCredit,
  redeemCredit,
  applyModeration,
} from './support/commands.js';

const redeem = (amount: number, unit = 'CENTS', now = NOW) =>
  redeemCredit('reward', amount, { redemptionId: 'redemption', unit, now });
const reward = rewardGranted('reward', BOB, credit(500));

it('redeeming one reward takes a part or all of the remaining credit', () => {
  given(HERE, reward)
    .when(redeem(1))
    .then(creditRedeemed(reward, 'redemption', 1, NOW));
  given(HERE, reward)
    .when(redeem(500))
    .then(creditRedeemed(reward, 'redemption', 500, NOW));
  given(HERE, reward, creditRedeemed(reward, 'r', 400, 3_000))
    .when(redeem(100))
    .then(creditRedeemed(reward, 'redemption', 100, NOW));
});

it('redeeming one reward never takes more than the remaining credit', () => {
  given(HERE, reward)
    .when(redeem(501))
    .refused('REDEMPTION_NOT_POSSIBLE', 'amount exceeds what is left (500)');
  given(HERE, reward, creditRedeemed(reward, 'r', 500, 3_000))
    .when(redeem(1))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The reward has already been redeemed');
});

it.each([0, -1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])(
  'redeeming one reward does not take %d',
  (amount) => {
    given(HERE, reward)
      .when(redeem(amount))
      .refused('REDEMPTION_NOT_POSSIBLE', `The amount ${amount} must be a whole number above zero`);
  },
);

it('redeeming one reward compares units without case and keeps the spelling of the reward', () => {
  given(HERE, reward)
    .when(redeem(1, 'cEnTs'))
    .then(creditRedeemed(reward, 'redemption', 1, NOW));
  given(HERE, reward)
    .when(redeem(1, 'POINTS'))
    .refused(
      'REDEMPTION_NOT_POSSIBLE',
      'The reward is in CENTS: redeem it with this unit instead of POINTS',
    );
});

it('redeeming one reward is for credit alone', () => {
  for (const value of [discount(10), tankCode('T')]) {
    given(HERE, rewardGranted('reward', BOB, value))
      .when(redeem(1, '%'))
      .refused(
        'REDEMPTION_NOT_POSSIBLE',
        `Only credit can be redeemed, and the reward is of type ${value.type}`,
      );
  }
});

it('redeeming one reward does not find an unknown reward', () => {
  given().when(redeem(1)).refused('REWARD_NOT_FOUND');
  given(HERE).when(redeem(1)).refused('REWARD_NOT_FOUND');
});

it('redeeming one reward uses the clock, whether due dates are recorded or not', () => {
  const due = rewardGranted('reward', BOB, credit(500), {
    dateScheduledFor: 3_000,
    dateExpires: 4_000,
  });
  const available = aboutReward('RewardBecameAvailable', due, 500, 3_000);
  const notBefore = 'The reward is not available before 1970-01-01T00:00:03.000Z';
  const expired = 'The reward expired at 1970-01-01T00:00:04.000Z';
  given(HERE, due)
    .when(redeem(1, 'CENTS', 2_999))
    .refused('REDEMPTION_NOT_POSSIBLE', notBefore);
  given(HERE, due)
    .when(redeem(1, 'CENTS', 3_000))
    .then(available, creditRedeemed(due, 'redemption', 1, 3_000));
  given(HERE, due, available)
    .when(redeem(1, 'CENTS', 3_999))
    .then(creditRedeemed(due, 'redemption', 1, 3_999));
  given(HERE, due, available)
    .when(redeem(1, 'CENTS', 4_000))
    .refused('REDEMPTION_NOT_POSSIBLE', expired);
  given(HERE, due)
    .when(redeem(1, 'CENTS', 4_000))
    .refused('REDEMPTION_NOT_POSSIBLE', expired);
});

it('redeeming one reward is not possible for a cancelled reward', () => {
  for (const by of ['REQUEST', 'MODERATION'] as const) {
    given(HERE, reward, rewardCancelled(reward, 500, 3_000, by))
      .when(redeem(1))
      .refused('REDEMPTION_NOT_POSSIBLE', 'The reward was cancelled at 1970-01-01T00:00:03.000Z');
  }
});

const redeemOfAccount = (amount: number, unit = 'CENTS', now = NOW) =>
  ({ type: 'RedeemAccountCredit', redemptionId: 'redemption', amount, unit, now }) as const;
const of = (
  rewardId: string,
  amount: number,
  over: Partial<AccountEventOf<'RewardGranted'>> = {},
) => rewardGranted(rewardId, BOB, credit(amount), over);

it('redeeming of the account takes the soonest expiry first, then the oldest grant, then by id', () => {
  const never = of('never', 10, { at: 1_000 });
  const late = of('late', 10, { at: 900, dateExpires: NOW + 9 });
  const soon = of('soon', 10, { at: 3_000, dateExpires: NOW + 5 });
  const soonToo = of('soon-too', 10, { at: 3_000, dateExpires: NOW + 5 });
  const soonOlder = of('zzz', 10, { at: 2_000, dateExpires: NOW + 5 });
  given(HERE, never, late, soonToo, soon, soonOlder)
    .when(redeemOfAccount(45))
    .then(
      creditRedeemed(soonOlder, 'redemption-0', 10, NOW),
      creditRedeemed(soon, 'redemption-1', 10, NOW),
      creditRedeemed(soonToo, 'redemption-2', 10, NOW),
      creditRedeemed(late, 'redemption-3', 10, NOW),
      creditRedeemed(never, 'redemption-4', 5, NOW),
    );
});

it('redeeming of the account takes of one unit, in every spelling, and of credit alone', () => {
  const spelled = rewardGranted('b', BOB, credit(10, 'Cents'));
  const others = [
    rewardGranted('c', BOB, credit(100, 'POINTS')),
    rewardGranted('d', BOB, discount(10)),
    rewardGranted('e', BOB, tankCode('T')),
  ];
  const a = of('a', 10);
  given(HERE, a, spelled, others)
    .when(redeemOfAccount(20, 'cents'))
    .then(
      creditRedeemed(a, 'redemption-0', 10, NOW),
      creditRedeemed(spelled, 'redemption-1', 10, NOW),
    );
  given(HERE, a, spelled, others)
    .when(redeemOfAccount(21))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 21 exceeds the available credit 20 CENTS');
});

it('redeeming of the account is all or nothing', () => {
  given(HERE, of('a', 10))
    .when(redeemOfAccount(11))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 11 exceeds the available credit 10 CENTS');
  given(HERE)
    .when(redeemOfAccount(1))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 1 exceeds the available credit 0 CENTS');
  given(HERE, of('a', 10))
    .when(redeemOfAccount(1, 'POINTS'))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 1 exceeds the available credit 0 POINTS');
  given(HERE, of('a', 10))
    .when(redeemOfAccount(0))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 0 must be a whole number above zero');
  given().when(redeemOfAccount(1)).refused('ACCOUNT_NOT_FOUND');
});

it('redeeming of the account uses the clock, and records due dates of the taken rewards only', () => {
  const gone = of('gone', 10, { dateExpires: 4_000 });
  const due = of('due', 10, { dateScheduledFor: 3_000 });
  const later = of('later', 10, { dateScheduledFor: NOW + 1 });
  given(HERE, gone, due, later)
    .when(redeemOfAccount(10))
    .then(
      aboutReward('RewardBecameAvailable', due, 10, 3_000),
      creditRedeemed(due, 'redemption-0', 10, NOW),
    );
  given(HERE, gone, due, later)
    .when(redeemOfAccount(11))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 11 exceeds the available credit 10 CENTS');
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
    given(HERE, rewards, cancelled, rewardCancelled(cancelled, 10_000, 3_000)).state,
  );
  expect([4_999, 5_000, 5_999, 6_000].map((now) => availableCredit(state, 'Cents', now))).toEqual([
    101, 111, 111, 11,
  ]);
});

const create = (over: Partial<CreateReward> = {}) =>
  createReward({ redeemsAutomatically: true, ...over });
const DUE = NOW + 100;
const now = rewardGranted('reward', BOB, credit(500), { at: NOW, redeemsAutomatically: true });
const scheduled = rewardGranted('reward', BOB, credit(500), {
  at: NOW,
  redeemsAutomatically: true,
  dateScheduledFor: DUE,
  referralId: 'referral',
});
const available = aboutReward('RewardBecameAvailable', scheduled, 500, DUE);
const redeemed = (at: number): AccountEvent => creditRedeemed(now, 'reward-automatic', 500, at);

it('an automatic redemption takes all the credit immediately', () => {
  given(HERE).when(create()).then(now, redeemed(NOW));
});

it('an automatic redemption is of credit alone', () => {
  given(HERE)
    .when(create({ value: discount(10) }))
    .then(rewardGranted('reward', BOB, discount(10), { at: NOW, redeemsAutomatically: true }));
});

it('an automatic redemption waits until the reward is available, and happens at that moment, whenever it is recorded', () => {
  given(HERE)
    .when(create({ dateScheduledFor: DUE }))
    .then({ ...scheduled, referralId: null });
  const settle = (at: number) =>
    given(HERE, scheduled).when({ type: 'SettleReward', rewardId: 'reward', now: at });
  settle(DUE - 1).then();
  settle(DUE).then(available, redeemed(DUE));
  settle(DUE + 1_000_000).then(available, redeemed(DUE));
  given(HERE, scheduled, available, redeemed(DUE))
    .when({ type: 'SettleReward', rewardId: 'reward', now: DUE + 1 })
    .then();
});

it('an automatic redemption leaves nothing to spend or to cancel, by the clock', () => {
  const { state } = given(HERE, scheduled);
  expect([DUE - 1, DUE].map((at) => availableCredit(opened(state), 'CENTS', at))).toEqual([0, 0]);
  const at = { now: DUE };
  given(HERE, scheduled)
    .when(redeemAccountCredit(1, at))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 1 exceeds the available credit 0 CENTS');
  given(HERE, scheduled)
    .when(redeemCredit('reward', 1, at))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The reward has already been redeemed');
  given(HERE, scheduled)
    .when({ type: 'CancelReward', rewardId: 'reward', ...at })
    .refused(
      'REWARD_NOT_CANCELLABLE',
      'The reward cannot be cancelled: 500 CENTS of it were redeemed',
    );
  given(HERE, scheduled)
    .when({ type: 'CancelReward', rewardId: 'reward', now: DUE - 1 })
    .then(rewardCancelled(scheduled, 500, DUE - 1));
});

it('an automatic redemption leaves other credit of the account redeemable', () => {
  const other = rewardGranted('other', BOB, credit(20), { at: 1 });
  given(HERE, other, scheduled)
    .when(redeemAccountCredit(20, { now: DUE }))
    .then(creditRedeemed(other, 'r-0', 20, DUE));
});

const held = moderationPrepared('m', NOW, 'referral');
const changes = [{ referralId: 'referral', referred: undefined, referrer: 'DENIED' as const }];

it('an automatic redemption with a moderation under way does not happen when it denies: a reward that was held before its time is cancelled', () => {
  given(HERE, scheduled, held)
    .when(applyModeration('referrer', changes, { now: DUE }))
    .then(
      referrerSideModerated('DENIED', DUE),
      available,
      rewardCancelled(scheduled, 500, DUE, 'MODERATION'),
    );
});

it('an automatic redemption with a moderation under way has happened, by the clock, before one that is prepared later', () => {
  given(HERE, scheduled)
    .when({ type: 'PrepareModeration', moderationId: 'm', side: 'referrer', changes, now: DUE })
    .refused('MODERATION_NOT_POSSIBLE', "referral: the referrer side's reward has been redeemed");
});
