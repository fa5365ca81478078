import type { BalanceFacts } from '../../src/domain/account/account.facts.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import {
  aboutReward,
  anAccount,
  credit,
  creditRedeemed,
  discount,
  forgotten,
  partyOf,
  rewardCancelled,
  rewardGranted,
  tankCode,
} from '../support/account-events.js';
import { ProjectedLedger } from '../support/projected-ledger.js';

describe('rewards and balances, from events to answers', () => {
  let projected: ProjectedLedger;
  const scope = { tenant: 'demo', mode: 'live' } as const;
  const acme = anAccount('acme');
  const { accountRef } = acme;
  const ann = partyOf(acme, 'ann');
  const bob = partyOf(acme, 'bob');

  beforeEach(async () => {
    projected = await ProjectedLedger.open();
    projected.startRunner();
  });
  afterEach(() => projected.close());

  const given = (...events: readonly AccountEvent[]) => projected.given(acme, ...events);
  const NOTHING = {
    ...{ count: 0, totalRedeemedCredit: 0, totalAvailableCredit: 0, totalPendingCredit: 0, totalExpiredCredit: 0, totalCancelledCredit: 0 },
    ...{ totalDiscountPercent: 0, referredDiscountPercent: 0, referrerDiscountPercent: 0, totalFuelTankCodes: 0 },
  };
  const balances = (now: number, filter: { userId?: string; type?: BalanceFacts['type'] } = {}) =>
    projected.balances().list(scope, { accountRef, now, ...filter });
  const creditFigures = async (now: number): Promise<Partial<BalanceFacts>> => {
    const [{ type: _, unit: __, ...figures } = { ...NOTHING, type: 'CREDIT', unit: null }] = await balances(now, { type: 'CREDIT' });
    return Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== 0));
  };

  test('a reward id comes into being once: a second grant in an old log puts nothing in the place of what was redeemed', async () => {
    const reward = rewardGranted('w1', ann, credit(100), { at: 10, referralId: 'r1', source: 'FRIEND_SIGNUP' });
    const again = rewardGranted('w1', ann, credit(500), { at: 30, referralId: 'r1', source: 'FRIEND_SIGNUP' });
    await given(reward, creditRedeemed(reward, 'd1', 60, 20), again, creditRedeemed(reward, 'd2', 40, 40));
    expect(await projected.rewards().byId(scope, 'w1')).toMatchObject({
      ...{ assignedCredit: 100, redeemedCredit: 100, dateGiven: 10 },
      redemptions: [
        { id: 'd1', quantityRedeemed: 60 },
        { id: 'd2', quantityRedeemed: 40 },
      ],
    });
    expect(await creditFigures(100)).toEqual({ count: 1, totalRedeemedCredit: 100 });
  });

  test('a credit reward shows its redemptions in order and when it was first cancelled', async () => {
    const reward = rewardGranted('w1', ann, credit(100), {
      at: 10,
      dateExpires: 900,
      texts: { subject: ann.person, value: { name: 'Thanks', description: null } },
    });
    await given(reward, creditRedeemed(reward, 'd2', 30, 20), creditRedeemed(reward, 'd1', 5, 20));
    const facts = {
      ...{ rewardId: 'w1', accountRef, person: ann.person, accountId: 'acme', userId: 'ann', type: 'CREDIT', source: 'MANUAL' },
      ...{ unit: 'CENTS', name: 'Thanks', description: null, cancellable: true, dateGiven: 10, dateExpires: 900 },
      ...{ dateCancelled: null, dateScheduledFor: null, currency: null, discountPercent: null, monthsDiscountIsValid: null },
      ...{ assignedCredit: 100, redeemedCredit: 35, amount: null, fuelTankCode: null, fuelTankType: null },
      redemptions: [
        { id: 'd2', dateRedeemed: 20, quantityRedeemed: 30 },
        { id: 'd1', dateRedeemed: 20, quantityRedeemed: 5 },
      ],
    };
    expect(await projected.rewards().byId(scope, 'w1')).toEqual(facts);
    expect(await projected.rewards().byId({ ...scope, mode: 'test' }, 'w1')).toBeUndefined();

    const other = rewardGranted('w2', ann, credit(1), { at: 11 });
    await given(other, rewardCancelled(other, 1, 40, 'MODERATION'), rewardCancelled(other, 0, 50, 'REQUEST'));
    expect((await projected.rewards().byId(scope, 'w2'))?.dateCancelled).toBe(40);
    await given(aboutReward('RewardRestored', other, 1, 60));
    const byIds = await projected.rewards().byIds(scope, ['w1', 'w2', 'w9']);
    expect(byIds.get('w2')).toMatchObject({ dateCancelled: null, redeemedCredit: 0, redemptions: [] });
    expect(byIds.get('w1')).toEqual(facts);
    expect(byIds.size).toBe(2);
  });

  test('rewards of an account are listed newest first, by user and by type', async () => {
    await given(
      rewardGranted('w1', ann, credit(1), { at: 10 }),
      rewardGranted('w3', ann, discount(10), { at: 30, source: 'REFERRED' }),
      rewardGranted('w2', bob, tankCode('T-1'), { at: 30 }),
      rewardGranted('w4', bob, credit(1), { at: 20, owner: forgotten('bob') }),
    );
    const listed = async (filter: object) =>
      (await projected.rewards().list(scope, { accountRef, ...filter })).map(({ rewardId }) => rewardId);
    expect(await listed({})).toEqual(['w2', 'w3', 'w1']);
    expect(await listed({ userId: 'ann' })).toEqual(['w3', 'w1']);
    expect(await listed({ userId: 'ann', type: 'CREDIT' })).toEqual(['w1']);
    expect(await projected.rewards().byId(scope, 'w3')).toMatchObject({
      unit: '%',
      discountPercent: 10,
      redemptions: null,
      redeemedCredit: null,
    });
    expect(await projected.rewards().byId(scope, 'w2')).toMatchObject({
      unit: null,
      amount: 5,
      fuelTankCode: 'T-1',
      fuelTankType: 'CREDIT',
    });
  });

  test('a balance sums over people, compares units without case and shows the first spelling', async () => {
    const first = rewardGranted('w1', bob, credit(100, 'Cents'));
    await given(
      first,
      rewardGranted('w2', ann, credit(50, 'CENTS')),
      rewardGranted('w3', ann, credit(7, 'POINTS')),
      creditRedeemed(first, 'd', 30, 1),
    );
    await given(
      rewardGranted('w4', ann, discount(10), { source: 'REFERRED' }),
      rewardGranted('w5', ann, discount(20), { source: 'FRIEND_SIGNUP' }),
    );
    await given(
      rewardGranted('w6', ann, discount(5)),
      rewardGranted('w7', ann, tankCode('T')),
      rewardGranted('w8', ann, credit(9), { owner: forgotten('x') }),
    );
    expect(await balances(5_000)).toEqual([
      { ...NOTHING, type: 'CREDIT', unit: 'Cents', count: 2, totalRedeemedCredit: 30, totalAvailableCredit: 120 },
      { ...NOTHING, type: 'CREDIT', unit: 'POINTS', count: 1, totalAvailableCredit: 7 },
      { ...NOTHING, type: 'FUELTANK', unit: null, count: 1, totalFuelTankCodes: 1 },
      {
        ...NOTHING,
        type: 'PCT_DISCOUNT',
        unit: '%',
        count: 3,
        totalDiscountPercent: 35,
        referredDiscountPercent: 10,
        referrerDiscountPercent: 20,
      },
    ]);
    expect(await balances(5_000, { userId: 'ann', type: 'CREDIT' })).toMatchObject([
      { unit: 'CENTS', totalAvailableCredit: 50, totalRedeemedCredit: 0 },
      { unit: 'POINTS' },
    ]);
    expect(await balances(5_000, { userId: 'nobody' })).toEqual([]);
    expect(await projected.balances().list({ ...scope, mode: 'test' }, { accountRef, now: 1 })).toEqual([]);
  });

  test('what very many rewards were redeemed by shows as if each had been redeemed by itself', async () => {
    const granted = [
      rewardGranted('w1', ann, credit(100), { at: 10 }),
      rewardGranted('w2', bob, credit(50), { at: 11, dateScheduledFor: 20 }),
      rewardGranted('w3', bob, credit(30), { at: 12 }),
    ];
    const about = { at: 40, redemptionId: 'r', unit: 'CENTS' } as const;
    await given(
      ...granted,
      { type: 'AccountCreditRedeemed', ...about, amount: 160, onlyOf: null, rewards: 3 },
      { type: 'RedeemedRewardsListed', ...about, from: 0, persons: [ann.person], lines: [['w1', 0, 100]] },
    );
    expect((await projected.rewards().byId(scope, 'w2'))?.redeemedCredit).toBe(0);
    await given({
      ...{ type: 'RedeemedRewardsListed', ...about, from: 1, persons: [bob.person, ann.person] },
      lines: [
        ['w2', 0, 50],
        ['w3', 0, 10],
      ],
    });
    const shown = await projected.rewards().byIds(scope, ['w1', 'w2', 'w3']);
    expect([...shown.values()].map(({ rewardId, redeemedCredit, redemptions }) => [rewardId, redeemedCredit, redemptions])).toEqual([
      ['w1', 100, [{ id: 'r-0', dateRedeemed: 40, quantityRedeemed: 100 }]],
      ['w2', 50, [{ id: 'r-1', dateRedeemed: 40, quantityRedeemed: 50 }]],
      ['w3', 10, [{ id: 'r-2', dateRedeemed: 40, quantityRedeemed: 10 }]],
    ]);
    // The scheduled one is available by that, before any job has said so.
    expect(await balances(15)).toEqual([
      { ...NOTHING, type: 'CREDIT', unit: 'CENTS', count: 3, totalRedeemedCredit: 160, totalAvailableCredit: 20 },
    ]);
  });

  test('credit goes from pending to available to expired, whether or not the ledger has recorded it yet', async () => {
    const reward = rewardGranted('w1', ann, credit(100), { at: 10, dateScheduledFor: 100, dateExpires: 200 });
    await given(reward);
    expect(await creditFigures(99)).toEqual({ totalPendingCredit: 100 });
    expect(await creditFigures(100)).toEqual({ count: 1, totalAvailableCredit: 100 });
    expect(await creditFigures(199)).toEqual({ count: 1, totalAvailableCredit: 100 });
    expect(await creditFigures(200)).toEqual({ totalExpiredCredit: 100 });
    await given(aboutReward('RewardBecameAvailable', reward, 100, 100), creditRedeemed(reward, 'd', 40, 150));
    expect(await creditFigures(199)).toEqual({ count: 1, totalAvailableCredit: 60, totalRedeemedCredit: 40 });
    expect(await creditFigures(200)).toEqual({ count: 1, totalExpiredCredit: 60, totalRedeemedCredit: 40 });
    await given(aboutReward('RewardExpired', reward, 60, 200));
    expect(await creditFigures(201)).toEqual({ count: 1, totalExpiredCredit: 60, totalRedeemedCredit: 40 });
  });

  test('cancelling and restoring moves credit there and back, and an entry stays when all is zero', async () => {
    const reward = rewardGranted('w1', ann, credit(100), { dateScheduledFor: 3_000, dateExpires: 4_000 });
    const percent = rewardGranted('w2', ann, discount(10));
    await given(reward, percent, rewardCancelled(reward, 100, 2_200), rewardCancelled(percent, 0, 2_200));
    expect(await creditFigures(9_000)).toEqual({ totalCancelledCredit: 100 });
    expect(await balances(9_000, { type: 'PCT_DISCOUNT' })).toEqual([{ ...NOTHING, type: 'PCT_DISCOUNT', unit: '%' }]);
    await given(aboutReward('RewardRestored', reward, 100, 2_300));
    expect(await creditFigures(2_400)).toEqual({ totalPendingCredit: 100 });
    expect(await creditFigures(3_000)).toEqual({ count: 1, totalAvailableCredit: 100 });
  });

  test('a redemption of more than there is contradicts the rows: the account is parked, the figures stay', async () => {
    const reward = rewardGranted('w1', ann, credit(10));
    await given(reward, creditRedeemed(reward, 'd', 11, 1));
    expect(await creditFigures(5_000)).toEqual({ count: 1, totalAvailableCredit: 10 });
    const parked = await projected.pool.query('select projection, reason from ledger.parked_streams');
    expect(parked.rows).toEqual([{ projection: 'reward-balances', reason: 'Error: more was redeemed than assigned: reward w1' }]);
  });
});
