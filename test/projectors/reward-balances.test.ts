import fc from 'fast-check';
import {
  atTime,
  contribution,
  NOTHING,
  type BalanceItem,
} from '../../projections/reward-balances/contribution.js';
import { rewardBalancesProjector } from '../../projections/reward-balances/projector.js';
import {
  balanceItems,
  balances,
  type BalanceItemRow,
  type BalanceRow,
} from '../../projections/reward-balances/table.js';
import {
  aboutReward,
  anAccount,
  credit,
  creditRedeemed,
  discount,
  erasureCompleted,
  erasureRequested,
  forgotten,
  partyOf,
  rewardCancelled,
  rewardGranted,
  tankCode,
  accountCreditRedeemed,
  redeemedRewardsListed,
} from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';
import { rowsOf } from './support/rows-of.js';

const ACME = anAccount('acme');
const ANN = partyOf(ACME, 'ann');
const BOB = partyOf(ACME, 'bob');
const ofBob = { person: BOB.person, user_id: 'bob' };

/** Ann's 100 cents, available immediately. */
const anItem = rowsOf(balanceItems, {
  account_ref: ACME.accountRef,
  person: ANN.person,
  user_id: 'ann',
  type: 'CREDIT',
  unit_key: 'cents',
  source: 'MANUAL',
  bucket: 'available',
  phase: 'AVAILABLE',
  cancelled: false,
  assigned: 100,
  redeemed: 0,
  percent: 0,
  date_given: 2_100,
  redeems_automatically: false,
});
const item = (rewardId: string, over: Partial<BalanceItemRow> = {}) =>
  anItem({ reward_id: rewardId, ...over });

/** Ann's of the first reward in the account's stream. */
const balance = rowsOf(balances, {
  ...NOTHING,
  account_ref: ACME.accountRef,
  person: ANN.person,
  type: 'CREDIT',
  unit_key: 'cents',
  user_id: 'ann',
  account_id: 'acme',
  unit: 'CENTS',
  first_revision: 0,
  date_created: 2_100,
});

const reward = rewardGranted('w1', ANN, credit(100));
const later = { dateScheduledFor: 3_000, dateExpires: 4_000 };
const scheduled = rewardGranted('w1', ANN, credit(100), later);
const dates = { date_scheduled_for: 3_000, date_expires: 4_000 };

describeProjector(rewardBalancesProjector, (given) => {
  test('rewards of a person sum up by type and unit, whose first spelling is shown', () =>
    given(
      ACME,
      rewardGranted('w1', ANN, credit(100, 'Cents')),
      rewardGranted('w2', ANN, credit(50, 'CENTS')),
      rewardGranted('w3', ANN, credit(7, 'POINTS')),
      rewardGranted('w4', BOB, credit(9, 'CENTS')),
    ).then({
      balance_items: [
        item('w1'),
        item('w2', { assigned: 50 }),
        item('w3', { unit_key: 'points', assigned: 7 }),
        item('w4', { ...ofBob, assigned: 9 }),
      ],
      reward_balances: inOrder(
        balance({ unit: 'Cents', count: 2, available_credit: 150 }),
        balance({
          unit_key: 'points',
          unit: 'POINTS',
          first_revision: 2,
          count: 1,
          available_credit: 7,
        }),
        balance({ ...ofBob, first_revision: 3, count: 1, available_credit: 9 }),
      ),
    }));

  test('a balance is as old as the reward that was given first, whatever was recorded first', () =>
    given(
      ACME,
      rewardGranted('w1', ANN, credit(100), { at: 2_200 }),
      rewardGranted('w2', ANN, credit(50), { at: 2_050 }),
      rewardGranted('w3', ANN, credit(7), { at: 2_300 }),
    ).then({
      balance_items: [
        item('w1', { date_given: 2_200 }),
        item('w2', { assigned: 50, date_given: 2_050 }),
        item('w3', { assigned: 7, date_given: 2_300 }),
      ],
      reward_balances: [balance({ count: 3, available_credit: 157, date_created: 2_050 })],
    }));

  test('percentages count by the side that earned them, tank codes by their number', () =>
    given(
      ACME,
      rewardGranted('w1', ANN, discount(10), { source: 'REFERRED' }),
      rewardGranted('w2', ANN, discount(20), { source: 'FRIEND_SIGNUP' }),
      rewardGranted('w3', ANN, discount(5)),
      rewardGranted('w4', ANN, tankCode('T')),
    ).then({
      balance_items: [
        item('w1', {
          type: 'PCT_DISCOUNT',
          unit_key: '%',
          source: 'REFERRED',
          assigned: 0,
          percent: 10,
        }),
        item('w2', {
          type: 'PCT_DISCOUNT',
          unit_key: '%',
          source: 'FRIEND_SIGNUP',
          assigned: 0,
          percent: 20,
        }),
        item('w3', { type: 'PCT_DISCOUNT', unit_key: '%', assigned: 0, percent: 5 }),
        item('w4', { type: 'FUELTANK', unit_key: '', assigned: 0 }),
      ],
      reward_balances: [
        balance({
          type: 'FUELTANK',
          unit_key: '',
          unit: null,
          first_revision: 3,
          count: 1,
          fuel_tank_codes: 1,
        }),
        balance({
          type: 'PCT_DISCOUNT',
          unit_key: '%',
          unit: '%',
          count: 3,
          discount_percent: 35,
          referred_percent: 10,
          referrer_percent: 20,
        }),
      ],
    }));

  test('a reward whose owner is forgotten is not counted, and its events are skipped', () => {
    const granted = rewardGranted('w1', ANN, credit(9), { owner: forgotten(ANN.person) });
    return given(ACME, granted, creditRedeemed(granted, 'd', 9, 3_000)).then({});
  });

  test('a second grant of a reward does not count again', () =>
    given(
      ACME,
      reward,
      creditRedeemed(reward, 'd', 60, 2_200),
      rewardGranted('w1', ANN, credit(500)),
    ).then({
      balance_items: [item('w1', { redeemed: 60 })],
      reward_balances: [balance({ count: 1, available_credit: 40, redeemed_credit: 60 })],
    }));

  test('credit goes from pending to available to expired, and redeemed credit stays redeemed', async () => {
    const granted = given(ACME, scheduled);
    await granted.then({
      balance_items: [item('w1', { ...dates, bucket: 'pending', phase: 'PENDING', due_at: 3_000 })],
      reward_balances: [balance({ pending_credit: 100 })],
    });
    const available = granted.and(
      ACME,
      aboutReward('RewardBecameAvailable', scheduled, 100, 3_000),
    );
    await available.then({
      balance_items: [item('w1', { ...dates, due_at: 4_000 })],
      reward_balances: [balance({ count: 1, available_credit: 100 })],
    });
    await available
      .and(
        ACME,
        creditRedeemed(scheduled, 'd', 40, 3_100),
        aboutReward('RewardExpired', scheduled, 60, 4_000),
      )
      .then({
        balance_items: [
          item('w1', { ...dates, bucket: 'expired', phase: 'EXPIRED', redeemed: 40 }),
        ],
        reward_balances: [balance({ count: 1, redeemed_credit: 40, expired_credit: 60 })],
      });
  });

  test('a reward that is cancelled moves to its own bucket and back', async () => {
    const cancelled = given(ACME, scheduled, rewardCancelled(scheduled, 100, 2_200));
    await cancelled.then({
      balance_items: [
        item('w1', { ...dates, bucket: 'cancelled', phase: 'PENDING', cancelled: true }),
      ],
      reward_balances: [balance({ cancelled_credit: 100 })],
    });
    await cancelled.and(ACME, aboutReward('RewardRestored', scheduled, 100, 2_300)).then({
      balance_items: [item('w1', { ...dates, bucket: 'pending', phase: 'PENDING', due_at: 3_000 })],
      reward_balances: [balance({ pending_credit: 100 })],
    });
  });

  test('a redemption that names its owners counts with its event, and its list adds nothing', async () => {
    const fromMany = given(
      ACME,
      reward,
      rewardGranted('w2', BOB, credit(50)),
      accountCreditRedeemed(130, {
        owners: [
          [ANN.person, 100],
          [BOB.person, 30],
        ],
      }),
    );
    const counted = inOrder(
      balance({ count: 1, redeemed_credit: 100 }),
      balance({
        ...ofBob,
        first_revision: 1,
        count: 1,
        redeemed_credit: 30,
        available_credit: 20,
      }),
    );
    await fromMany.then({
      balance_items: [item('w1'), item('w2', { ...ofBob, assigned: 50 })],
      reward_balances: counted,
    });
    await fromMany
      .and(
        ACME,
        redeemedRewardsListed(
          [ANN.person, BOB.person],
          [
            ['w1', 0, 100],
            ['w2', 1, 30],
          ],
          { posted: true },
        ),
      )
      .then({
        balance_items: [
          item('w1', { redeemed: 100 }),
          item('w2', { ...ofBob, assigned: 50, redeemed: 30 }),
        ],
        reward_balances: counted,
      });
  });

  test('a redemption of more than was assigned contradicts the rows', () =>
    given(ACME, reward, creditRedeemed(reward, 'd', 101, 2_200)).refused(
      'more was redeemed than assigned: reward w1',
    ));

  test('a forgotten person has no balance, at either event of the erasure, and others keep theirs', async () => {
    const granted = given(
      ACME,
      rewardGranted('w1', BOB, credit(100)),
      rewardGranted('w2', ANN, credit(5)),
      rewardGranted('w3', ANN, discount(5)),
    );
    const left = {
      balance_items: [item('w1', ofBob)],
      reward_balances: [balance({ ...ofBob, count: 1, available_credit: 100 })],
    };
    await granted.and(ACME, erasureRequested([ANN.person])).then(left);
    await granted.and(ACME, erasureCompleted([ANN.person])).then(left);
  });
});

it('a balance that moves with the clock loses nothing, and has nothing of what has expired', () => {
  const anyItem = fc.record<BalanceItem>({
    type: fc.constantFrom('CREDIT', 'PCT_DISCOUNT', 'FUELTANK'),
    source: fc.constantFrom('REFERRED', 'FRIEND_SIGNUP', 'MANUAL'),
    phase: fc.constantFrom('PENDING', 'AVAILABLE', 'EXPIRED'),
    cancelled: fc.boolean(),
    assigned: fc.integer({ min: 10, max: 20 }),
    redeemed: fc.nat(10),
    percent: fc.nat(100),
    date_scheduled_for: fc.option(fc.nat(10)),
    date_expires: fc.option(fc.integer({ min: 10, max: 20 })),
    redeems_automatically: fc.boolean(),
  });
  fc.assert(
    fc.property(anyItem, fc.nat(30), (one, now) => {
      const figures = contribution(atTime(one, now));
      expect(
        Object.values(figures).every((figure) => Number.isInteger(figure) && figure >= 0),
      ).toBe(true);
      if (one.type !== 'CREDIT') return;
      const { available_credit: available, pending_credit: pending } = figures;
      const elsewhere = figures.redeemed_credit + figures.expired_credit + figures.cancelled_credit;
      expect(elsewhere + available + pending).toBe(one.assigned);
      if (one.date_expires !== null && one.date_expires <= now) expect(available + pending).toBe(0);
    }),
  );
});

/** Rows come in the order of their keys, and ids of people in that of their hashes. */
function inOrder(...rows: readonly BalanceRow[]): BalanceRow[] {
  const keyOf = ({ person, type, unit_key }: BalanceRow): string => `${person} ${type} ${unit_key}`;
  return [...rows].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
