import { personal } from '../../src/domain/personal.js';
import { AMOUNT_MAX, rewardUnderTerms } from '../../src/domain/account/rewards/rewards.js';
import {
  aboutReward,
  credit,
  creditRedeemed,
  discount,
  rewardCancelled,
  rewardGranted,
  tankCode,
} from '../support/account-events.js';
import { BOB, DAY_MS, given, NOW, refOf, terms, HERE } from './support/account-scenario.js';
import { createReward } from './support/commands.js';

it.each([credit(500), discount(20), tankCode('TANK-1')])(
  'a manual reward of $type is granted now',
  (value) => {
    given(HERE)
      .when(createReward({ value, name: 'Thanks', description: 'for all', cancellable: false }))
      .then(
        rewardGranted('reward', BOB, value, {
          at: NOW,
          texts: personal(BOB.person, { name: 'Thanks', description: 'for all' }),
          cancellable: false,
        }),
      );
  },
);

it('a manual reward may be scheduled and expire; both at the same time is just possible', () => {
  const dates = { dateScheduledFor: NOW + 5, dateExpires: NOW + 5 };
  given(HERE)
    .when(createReward(dates))
    .then(rewardGranted('reward', BOB, credit(500), { at: NOW, ...dates }));
});

it('a manual reward that is scheduled for the past, or for now, is available now', () => {
  given(HERE)
    .when(createReward({ dateScheduledFor: NOW - 1 }))
    .then(rewardGranted('reward', BOB, credit(500), { at: NOW }));
  given(HERE)
    .when(createReward({ dateScheduledFor: NOW }))
    .then(rewardGranted('reward', BOB, credit(500), { at: NOW }));
});

const EXPIRED = `dateExpires must lie in the future, after ${new Date(NOW).toISOString()}`;

it('a manual reward does not expire in the past or before it becomes available', () => {
  given(HERE)
    .when(createReward({ dateExpires: NOW }))
    .refused('REWARD_DATES_INVALID', EXPIRED);
  given(HERE)
    .when(createReward({ dateScheduledFor: NOW + 2, dateExpires: NOW + 1 }))
    .refused(
      'REWARD_DATES_INVALID',
      `dateExpires must not be before dateScheduledFor, ${new Date(NOW + 2).toISOString()}`,
    );
});

it('a manual reward needs its user', () => {
  given().when(createReward()).refused('USER_NOT_FOUND');
  given(HERE)
    .when(createReward({ userId: 'cat' }))
    .refused('USER_NOT_FOUND');
});

it('a manual reward is refused under the id of another reward', () => {
  given(HERE, rewardGranted('reward', BOB, credit(1)))
    .when(createReward())
    .refused('REWARD_EXISTS');
});

it('a manual reward is refused for its dates before its user is checked', () => {
  given()
    .when(createReward({ dateExpires: NOW }))
    .refused('REWARD_DATES_INVALID', EXPIRED);
  given(HERE)
    .when(createReward({ userId: 'cat', dateExpires: NOW }))
    .refused('REWARD_DATES_INVALID', EXPIRED);
});

it('a manual reward never raises the total ever assigned of a unit beyond the countable maximum', () => {
  const nearly = rewardGranted('nearly', BOB, credit(AMOUNT_MAX - 10, 'cents'));
  given(HERE)
    .when(createReward({ value: credit(AMOUNT_MAX) }))
    .then(rewardGranted('reward', BOB, credit(AMOUNT_MAX), { at: NOW }));
  given(HERE, nearly)
    .when(createReward({ value: credit(10, 'Cents') }))
    .then(rewardGranted('reward', BOB, credit(10, 'Cents'), { at: NOW }));
  given(HERE, nearly)
    .when(createReward({ value: credit(11, 'CENTS') }))
    .refused(
      'AMOUNT_TOO_LARGE',
      'All CENTS ever assigned to the account would be more than 9,007,199,254,740,991: assign less',
    );
  given(HERE, nearly)
    .when(createReward({ value: credit(11, 'POINTS') }))
    .then(rewardGranted('reward', BOB, credit(11, 'POINTS'), { at: NOW }));
  for (const unit of ['constructor', '__proto__'])
    given(HERE, rewardGranted('nearly', BOB, credit(AMOUNT_MAX - 10, unit)))
      .when(createReward({ value: credit(11, unit) }))
      .refused(
        'AMOUNT_TOO_LARGE',
        `All ${unit} ever assigned to the account would be more than 9,007,199,254,740,991: assign less`,
      );
  // Assigned is assigned, whatever became of it.
  given(HERE, nearly, rewardCancelled(nearly, AMOUNT_MAX - 10, 3_000))
    .when(createReward({ value: credit(11) }))
    .refused(
      'AMOUNT_TOO_LARGE',
      'All CENTS ever assigned to the account would be more than 9,007,199,254,740,991: assign less',
    );
});

const money = (currency: string | null, unit = 'CENTS') => credit(10, unit, currency);
const euros = rewardGranted('euros', BOB, money('EUR'));

it('the currency of a unit is that of the first reward with one: another one is refused, none takes it', () => {
  given(HERE, euros)
    .when(createReward({ value: money('USD', 'cents') }))
    .refused('CURRENCY_DIFFERS', "currency must be EUR, as of the account's other cents, not USD");
  for (const currency of ['EUR', null])
    given(HERE, euros)
      .when(createReward({ value: money(currency) }))
      .then(rewardGranted('reward', BOB, money('EUR'), { at: NOW }));
  given(HERE, euros)
    .when(createReward({ value: money('USD', 'POINTS') }))
    .then(rewardGranted('reward', BOB, money('USD', 'POINTS'), { at: NOW }));
});

it('the currency of a unit is open while no reward has one, and stays when that reward is cancelled', () => {
  given(HERE, rewardGranted('none', BOB, money(null)))
    .when(createReward({ value: money('USD') }))
    .then(rewardGranted('reward', BOB, money('USD'), { at: NOW }));
  given(HERE, euros, rewardCancelled(euros, 10, 3_000))
    .when(createReward({ value: money('USD') }))
    .refused('CURRENCY_DIFFERS', "currency must be EUR, as of the account's other CENTS, not USD");
});

it('a unit with two currencies in an older log has the first one', () => {
  const dollars = rewardGranted('dollars', BOB, money('USD'));
  given(HERE, euros, dollars)
    .when(createReward({ value: money(null) }))
    .then(rewardGranted('reward', BOB, money('EUR'), { at: NOW }));
});

const cancel = { type: 'CancelReward', rewardId: 'reward', now: NOW } as const;
const reward = rewardGranted('reward', BOB, credit(500));

it('cancelling takes the available credit away', () => {
  given(HERE, reward)
    .when(cancel)
    .then(rewardCancelled(reward, 500, NOW));
  const percent = rewardGranted('reward', BOB, discount(10));
  given(HERE, percent)
    .when(cancel)
    .then(rewardCancelled(percent, 0, NOW));
});

it('cancelling changes nothing the second time', () => {
  given(HERE, reward, rewardCancelled(reward, 500, 3_000))
    .when(cancel)
    .then();
});

it('cancelling pins a reward that a moderation cancelled, without taking its amount again', () => {
  const scenario = given(HERE, reward, rewardCancelled(reward, 500, 3_000, 'MODERATION'));
  scenario.when(cancel).then(rewardCancelled(reward, 0, NOW));
  const after = given(
    HERE,
    reward,
    rewardCancelled(reward, 500, 3_000, 'MODERATION'),
    rewardCancelled(reward, 0, NOW),
  );
  after.when(cancel).then();
  // The day it was cancelled stays the first one.
  expect(after.state.status === 'open' && after.state.rewards.get('reward')).toMatchObject({
    dateCancelled: 3_000,
    cancelledBy: 'REQUEST',
  });
});

it('cancelling is refused after a part was redeemed, and for a reward that is not cancellable', () => {
  given(HERE, reward, creditRedeemed(reward, 'r', 1, 3_000))
    .when(cancel)
    .refused(
      'REWARD_NOT_CANCELLABLE',
      'The reward cannot be cancelled: 1 CENTS of it were redeemed',
    );
  given(HERE, rewardGranted('reward', BOB, credit(5), { cancellable: false }))
    .when(cancel)
    .refused(
      'REWARD_NOT_CANCELLABLE',
      'The reward cannot be cancelled: it was given as not cancellable',
    );
});

it('cancelling does not find an unknown reward', () => {
  given().when(cancel).refused('REWARD_NOT_FOUND');
  given(HERE).when(cancel).refused('REWARD_NOT_FOUND');
});

it('cancelling first records due dates', () => {
  const due = rewardGranted('reward', BOB, credit(5), {
    dateScheduledFor: 3_000,
    dateExpires: 4_000,
  });
  given(HERE, due)
    .when(cancel)
    .then(
      aboutReward('RewardBecameAvailable', due, 5, 3_000),
      aboutReward('RewardExpired', due, 5, 4_000),
      rewardCancelled(due, 5, NOW),
    );
});

const settle = (now: number) => ({ type: 'SettleReward', rewardId: 'reward', now }) as const;
const dated = rewardGranted('reward', BOB, credit(5), {
  dateScheduledFor: 3_000,
  dateExpires: 4_000,
});
const available = aboutReward('RewardBecameAvailable', dated, 5, 3_000);
const expired = aboutReward('RewardExpired', dated, 5, 4_000);

it('settling records due dates with their own time, once', () => {
  given(HERE, dated).when(settle(2_999)).then();
  given(HERE, dated).when(settle(3_000)).then(available);
  given(HERE, dated, available).when(settle(3_999)).then();
  given(HERE, dated, available).when(settle(4_000)).then(expired);
  given(HERE, dated).when(settle(9_000)).then(available, expired);
  given(HERE, dated, available, expired).when(settle(9_000)).then();
});

it('settling posts the remaining credit', () => {
  given(HERE, dated, available, creditRedeemed(dated, 'r', 2, 3_500))
    .when(settle(4_000))
    .then(aboutReward('RewardExpired', dated, 3, 4_000));
});

it('settling works for every kind of reward', () => {
  const percent = rewardGranted('reward', BOB, discount(5), { dateExpires: 4_000 });
  given(HERE, percent)
    .when(settle(4_000))
    .then(aboutReward('RewardExpired', percent, 0, 4_000));
  expect(refOf(given(HERE, percent).state, 'reward')).toEqual({
    rewardId: 'reward',
    person: BOB.person,
    rewardType: 'PCT_DISCOUNT',
    unit: '%',
  });
});

const dates = (over: Parameters<typeof terms>[1]) => {
  const { dateScheduledFor, dateExpires } = rewardUnderTerms(terms(credit(1), over), NOW);
  return [dateScheduledFor, dateExpires];
};

it('terms count the delay from earning and the validity from when it became available', () => {
  expect(dates({})).toEqual([null, null]);
  expect(dates({ delayDays: 3 })).toEqual([NOW + 3 * DAY_MS, null]);
  expect(dates({ validDays: 3 })).toEqual([null, NOW + 3 * DAY_MS]);
  expect(dates({ delayDays: 3, validDays: 4 })).toEqual([NOW + 3 * DAY_MS, NOW + 7 * DAY_MS]);
});
