import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import {
  anId,
  aTime,
  creditBalance,
  expectedCredit,
  expectedPercent,
  expectedTank,
  percentBalance,
  tankBalance,
} from '../support/expected-answers.js';
import { eventually } from '../support/embedded.js';
import { outcome, personal, refusal, startWithStores } from '../support/running-service.js';
import { acceptClockOf } from '../support/turn-back-clock.js';

let running: Awaited<ReturnType<typeof startWithStores>>;
let api: ApiClient;
const now = Date.now.bind(Date);
// Before the service starts: whoever asks for the time later asks this one.
const clock = jest.spyOn(Date, 'now').mockImplementation(now);
beforeAll(async () => {
  running = await startWithStores();
  api = (await running.service.createTenant()).live;
});
afterAll(() => running.end());

const MAX = Number.MAX_SAFE_INTEGER;

interface Owner {
  readonly accountId: string;
  readonly userId: string;
  readonly at: string;
}

async function owner(inAccount?: string): Promise<Owner> {
  const accountId = inAccount ?? personal('acc');
  const userId = personal('user');
  if (inAccount === undefined)
    await api.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } });
  expect((await api.post('/user', { id: userId, accountId })).status).toBe(200);
  return { accountId, userId, at: `/account${path(accountId)}/user${path(userId)}` };
}

async function give({ at }: Owner, reward: Json): Promise<Json & { readonly id: string }> {
  const { status, body } = await api.post<Json & { readonly id: string }>(`/rewards${at}`, reward);
  expect([status, body]).toEqual([201, expect.anything()]);
  return body;
}

const credit = (unit: string, assignedCredit: number, more: Json = {}) => ({
  type: 'CREDIT',
  unit,
  assignedCredit,
  ...more,
});
const balance = async (accountId: string, more: Record<string, string> = {}) =>
  (await api.get<Json[]>(`/reward/balance${query({ accountId, ...more })}`)).body;
const rewards = async (accountId: string, more: Record<string, string> = {}) =>
  (await api.get<Json[]>(`/reward${query({ accountId, ...more })}`)).body;
const redeem = (id: string, amount: unknown, unit: unknown) =>
  api.post(`/credit${path(id)}/redeem`, { amount, unit });
const bulk = (accountId: string, amount: unknown, unit: unknown) =>
  api.post('/credit/bulkredeem', { accountId, amount, unit });
const cancel = (id: string) => api.post(`/reward${path(id)}/cancel`);

describe('granting', () => {
  test('answers each type with all of its members, and null for the others', async () => {
    const person = await owner();
    const later = Date.now() + 3_600_000;
    const dates = { dateScheduledFor: later, dateExpires: later };
    const about = { name: 'A name', description: 'A text', cancellable: false };
    const { accountId, userId } = person;
    expect(
      await give(
        person,
        credit('CENTS', 5, {
          ...dates,
          ...about,
          currency: 'USD',
          discountPercent: null,
          fuelTankCode: null,
        }),
      ),
    ).toStrictEqual(
      expectedCredit(accountId, userId, 'CENTS', 5, { ...dates, ...about, currency: 'USD' }),
    );
    expect(
      await give(person, {
        type: 'PCT_DISCOUNT',
        discountPercent: 100,
        unit: '%',
        ...dates,
        ...about,
        assignedCredit: null,
      }),
    ).toStrictEqual(expectedPercent(accountId, userId, 100, { ...dates, ...about }));
    const tank = {
      type: 'FUELTANK',
      fuelTankCode: 'T-1',
      fuelTankType: 'PCT_DISCOUNT',
      amount: 10,
    };
    expect(
      await give(person, { ...tank, ...dates, ...about, unit: null, currency: null }),
    ).toStrictEqual(
      expectedTank(accountId, userId, 'T-1', 10, {
        ...dates,
        ...about,
        fueltankType: 'PCT_DISCOUNT',
      }),
    );
    const nothing = {
      name: null,
      description: null,
      dateExpires: null,
      dateScheduledFor: null,
      cancellable: null,
    };
    const past = await give(
      person,
      credit('CENTS', 5, { ...nothing, dateScheduledFor: Date.UTC(2000, 0, 1) }),
    );
    // The unit has a currency by now.
    expect(past).toStrictEqual(expectedCredit(accountId, userId, 'CENTS', 5, { currency: 'USD' }));
    const shown = await rewards(accountId);
    expect(shown.map(({ type }) => type)).toStrictEqual([
      'CREDIT',
      'FUELTANK',
      'PCT_DISCOUNT',
      'CREDIT',
    ]);
    for (const reward of shown) {
      expect(outcome(await api.get(`/reward/${String(reward['id'])}`))).toStrictEqual({
        status: 201,
        body: reward,
      });
      expect(outcome(await api.get(`/reward/${String(reward['id'])}/`))).toStrictEqual({
        status: 201,
        body: reward,
      });
    }
    for (const type of ['CREDIT', 'PCT_DISCOUNT', 'FUELTANK']) {
      expect(await rewards(accountId, { rewardTypeFilter: type })).toStrictEqual(
        shown.filter((reward) => reward['type'] === type),
      );
    }
  });

  const soon = () => Date.now() + 60_000;
  test.each<[string, () => Json]>([
    ['no type', () => ({})],
    ['an unknown type', () => ({ type: 'CASH' })],
    ['a type in lower case', () => ({ type: 'credit', unit: 'CENTS', assignedCredit: 1 })],
    ['credit without a unit', () => ({ type: 'CREDIT', assignedCredit: 1 })],
    ['credit of an empty unit', () => credit('', 1)],
    ['credit of a unit of 65 characters', () => credit('x'.repeat(65), 1)],
    ['credit without an amount', () => ({ type: 'CREDIT', unit: 'CENTS' })],
    ['no credit', () => credit('CENTS', 0)],
    ['negative credit', () => credit('CENTS', -1)],
    ['half a cent', () => credit('CENTS', 0.5)],
    ['2^53', () => credit('CENTS', 2 ** 53)],
    ['1e300', () => credit('CENTS', 1e300)],
    ['credit as text', () => ({ type: 'CREDIT', unit: 'CENTS', assignedCredit: '5' })],
    ['an unknown currency', () => credit('CENTS', 1, { currency: 'EURO' })],
    ['credit with a percentage', () => credit('CENTS', 1, { discountPercent: 5 })],
    ['an unknown member', () => credit('CENTS', 1, { colour: 'red' })],
    ['a source', () => credit('CENTS', 1, { rewardSource: 'REFERRED' })],
    [
      "the output's spelling",
      () => ({ type: 'FUELTANK', fuelTankCode: 'a', fueltankType: 'CREDIT', amount: 1 }),
    ],
    ['no percent', () => ({ type: 'PCT_DISCOUNT' })],
    ['0 %', () => ({ type: 'PCT_DISCOUNT', discountPercent: 0 })],
    ['101 %', () => ({ type: 'PCT_DISCOUNT', discountPercent: 101 })],
    ['half a percent', () => ({ type: 'PCT_DISCOUNT', discountPercent: 0.5 })],
    [
      'a percentage with credit',
      () => ({ type: 'PCT_DISCOUNT', discountPercent: 5, assignedCredit: 5 }),
    ],
    ['a tank without a code', () => ({ type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 1 })],
    ['a tank without a type', () => ({ type: 'FUELTANK', fuelTankCode: 'a', amount: 1 })],
    [
      'a tank of a tank',
      () => ({ type: 'FUELTANK', fuelTankCode: 'a', fuelTankType: 'FUELTANK', amount: 1 }),
    ],
    [
      'a tank of half a unit',
      () => ({ type: 'FUELTANK', fuelTankCode: 'a', fuelTankType: 'CREDIT', amount: '0.5' }),
    ],
    [
      'a tank of nothing',
      () => ({ type: 'FUELTANK', fuelTankCode: 'a', fuelTankType: 'CREDIT', amount: 0 }),
    ],
    [
      'a tank of nothing, as text',
      () => ({ type: 'FUELTANK', fuelTankCode: 'a', fuelTankType: 'CREDIT', amount: '00' }),
    ],
    [
      'a tank without an amount',
      () => ({ type: 'FUELTANK', fuelTankCode: 'a', fuelTankType: 'CREDIT' }),
    ],
    ['an end in the past', () => credit('CENTS', 1, { dateExpires: Date.now() - 1 })],
    [
      'an end before its beginning',
      () => credit('CENTS', 1, { dateScheduledFor: soon(), dateExpires: soon() - 10_000 }),
    ],
    ['an end in seconds', () => credit('CENTS', 1, { dateExpires: 1_893_456_000 })],
    ['a start in seconds', () => credit('CENTS', 1, { dateScheduledFor: 1_893_456_000 })],
    ['a unit with a control character', () => credit('CE\u0085NTS', 1)],
    ['an end as text', () => credit('CENTS', 1, { dateExpires: '2999-01-01' })],
    ['half a millisecond', () => credit('CENTS', 1, { dateExpires: soon() + 0.5 })],
    ['the end of time', () => credit('CENTS', 1, { dateExpires: 2 ** 53 })],
    ['cancellable as text', () => credit('CENTS', 1, { cancellable: 'no' })],
    ['a name that is a number', () => credit('CENTS', 1, { name: 5 })],
  ])('%s is refused', async (_what, reward) => {
    const person = await owner();
    expect(outcome(await api.post(`/rewards${person.at}`, reward()))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    // What is wrong with the body comes before the question whose reward it would be.
    for (const at of [`/account/${person.accountId}/user/nobody`, '/account/nowhere/user/nobody']) {
      expect(outcome(await api.post(`/rewards${at}`, reward()))).toStrictEqual(
        refusal(400, 'BAD_REQUEST'),
      );
    }
    expect(await rewards(person.accountId)).toStrictEqual([]);
  });

  test('goes up to 2^53-1 per account and unit, cancelled and redeemed ones included', async () => {
    const person = await owner();
    const big = await give(person, credit('CENTS', MAX - 10));
    expect(big['assignedCredit']).toBe(9_007_199_254_740_981);
    expect(outcome(await api.post(`/rewards${person.at}`, credit('cents', 11)))).toStrictEqual(
      refusal(400, 'AMOUNT_TOO_LARGE'),
    );
    await give(person, credit('Cents', 10));
    expect(outcome(await api.post(`/rewards${person.at}`, credit('CENTS', 1)))).toStrictEqual(
      refusal(400, 'AMOUNT_TOO_LARGE'),
    );
    expect(await balance(person.accountId)).toStrictEqual([
      creditBalance('CENTS', { count: 2, available: MAX }),
    ]);
    expect(outcome(await bulk(person.accountId, MAX, 'CENTS'))).toStrictEqual({
      status: 200,
      body: { creditRedeemed: MAX, creditAvailable: 0, unit: 'CENTS' },
    });
    expect(await balance(person.accountId)).toStrictEqual([
      creditBalance('CENTS', { count: 2, redeemed: MAX }),
    ]);
    expect(outcome(await api.post(`/rewards${person.at}`, credit('CENTS', 1)))).toStrictEqual(
      refusal(400, 'AMOUNT_TOO_LARGE'),
    );
    await give(person, credit('POINTS', MAX));
    const other = await owner(person.accountId);
    expect(outcome(await api.post(`/rewards${other.at}`, credit('points', 1)))).toStrictEqual(
      refusal(400, 'AMOUNT_TOO_LARGE'),
    );
  });

  test('lets a conversion happen without a reward over the maximum', async () => {
    const referrer = await owner();
    await give(referrer, credit('CENTS', MAX));
    const { referralCode } = (await api.get(referrer.at)).body;
    const friend = personal('acc');
    await api.post('/accountsync', {
      id: friend,
      subscription: { status: 'TRIAL' },
      referral: { code: referralCode },
    });
    await api.post('/user', { id: 'friend', accountId: friend });
    const subscription = {
      status: 'PAID',
      value: 1,
      billingIntervalType: 'DAY',
      billingIntervalValue: 1,
    };
    expect((await api.post('/accountsync', { id: friend, subscription })).status).toBe(200);
    const { body } = await api.get<{ referrals: Json[] }>(
      `/referrals${query({ referredAccountId: friend })}`,
    );
    expect(body.referrals).toMatchObject([
      { dateReferralPaid: aTime, referrerReward: null, referredReward: { id: anId } },
    ]);
    expect(await balance(referrer.accountId)).toStrictEqual([
      creditBalance('CENTS', { count: 1, available: MAX }),
    ]);
  });
});

describe('redeeming one', () => {
  test.each<[string, unknown, unknown, string]>([
    ['no amount', undefined, 'CENTS', 'BAD_REQUEST'],
    ['an amount of null', null, 'CENTS', 'BAD_REQUEST'],
    ['an amount as text', '5', 'CENTS', 'BAD_REQUEST'],
    ['an amount in a list', [5], 'CENTS', 'BAD_REQUEST'],
    ['no unit', 5, undefined, 'BAD_REQUEST'],
    ['an empty unit', 5, '', 'BAD_REQUEST'],
    ['a unit of null', 5, null, 'BAD_REQUEST'],
    ['a unit that is a number', 5, 5, 'BAD_REQUEST'],
    ['nothing', 0, 'CENTS', 'INVALD_REWARD_REDEMPTION'],
    ['minus one', -1, 'CENTS', 'INVALD_REWARD_REDEMPTION'],
    ['a half', 0.5, 'CENTS', 'INVALD_REWARD_REDEMPTION'],
    ['one too many', 101, 'CENTS', 'INVALD_REWARD_REDEMPTION'],
    ['2^53', 2 ** 53, 'CENTS', 'INVALD_REWARD_REDEMPTION'],
    ['1e300', 1e300, 'CENTS', 'INVALD_REWARD_REDEMPTION'],
    ['another unit', 5, 'POINTS', 'INVALD_REWARD_REDEMPTION'],
  ])('%s is refused, in bulk too', async (_what, amount, unit, code) => {
    const person = await owner();
    const { id } = await give(person, credit('CENTS', 100));
    expect(outcome(await redeem(id, amount, unit))).toStrictEqual(refusal(400, code));
    expect(outcome(await bulk(person.accountId, amount, unit))).toStrictEqual(refusal(400, code));
    expect(await balance(person.accountId)).toStrictEqual([
      creditBalance('CENTS', { count: 1, available: 100 }),
    ]);
  });

  test('refuses a number too large to be read as an amount that is too large', async () => {
    const person = await owner();
    const { id } = await give(person, credit('CENTS', 100));
    const raw = '{"amount":1e999,"unit":"CENTS"}';
    expect(outcome(await api.post(`/credit/${id}/redeem`, undefined, { raw }))).toStrictEqual(
      refusal(400, 'INVALD_REWARD_REDEMPTION'),
    );
  });

  test('refuses a reward without available credit', async () => {
    const person = await owner();
    const far = Date.now() + 3_600_000;
    const { id: percent } = await give(person, { type: 'PCT_DISCOUNT', discountPercent: 5 });
    const { id: tank } = await give(person, {
      type: 'FUELTANK',
      fuelTankCode: 'c',
      fuelTankType: 'CREDIT',
      amount: 5,
      unit: 'CENTS',
    });
    const { id: scheduled } = await give(person, credit('CENTS', 5, { dateScheduledFor: far }));
    const { id: cancelled } = await give(person, credit('CENTS', 5));
    await cancel(cancelled);
    for (const id of [percent, tank, scheduled, cancelled]) {
      expect(outcome(await redeem(id, 1, 'CENTS'))).toStrictEqual(
        refusal(400, 'INVALD_REWARD_REDEMPTION'),
      );
    }
    expect(outcome(await bulk(person.accountId, 1, 'CENTS'))).toStrictEqual(
      refusal(400, 'INVALD_REWARD_REDEMPTION'),
    );
  });

  test('finds no unknown reward or account, for any request', async () => {
    const { accountId, at } = await owner();
    const { id } = await give({ accountId, at, userId: '' }, credit('CENTS', 5));
    const unknownIds = [
      'x',
      personal(),
      '0'.repeat(48),
      `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`,
      id.toUpperCase(),
      'a/b',
      'x'.repeat(2000),
    ];
    for (const unknown of unknownIds.filter((candidate) => candidate !== id)) {
      expect(outcome(await redeem(unknown, 0, 'CENTS'))).toStrictEqual(
        refusal(404, 'REWARD_NOT_FOUND'),
      );
      expect(outcome(await cancel(unknown))).toStrictEqual(refusal(404, 'REWARD_NOT_FOUND'));
      expect(outcome(await api.get(`/reward${path(unknown)}`))).toStrictEqual(
        refusal(404, 'REWARD_NOT_FOUND'),
      );
    }
    expect(outcome(await bulk(personal(), 0, 'CENTS'))).toStrictEqual(
      refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'),
    );
  });

  test('repeats until no credit is left', async () => {
    const person = await owner();
    const { id } = await give(person, credit('Points', 10));
    expect((await redeem(id, 4, 'POINTS')).body).toStrictEqual({
      creditRedeemed: 4,
      creditAvailable: 6,
      unit: 'Points',
    });
    expect(outcome(await redeem(id, 7, 'points'))).toStrictEqual(
      refusal(400, 'INVALD_REWARD_REDEMPTION'),
    );
    expect((await redeem(id, 6, 'points')).body).toStrictEqual({
      creditRedeemed: 6,
      creditAvailable: 0,
      unit: 'Points',
    });
    expect(outcome(await redeem(id, 1, 'points'))).toStrictEqual(
      refusal(400, 'INVALD_REWARD_REDEMPTION'),
    );
    const [shown] = await rewards(person.accountId);
    const redemption = (quantityRedeemed: number) => ({
      id: expect.any(String) as unknown,
      dateRedeemed: aTime,
      quantityRedeemed,
    });
    expect(shown).toStrictEqual(
      expectedCredit(person.accountId, person.userId, 'Points', 10, {
        redeemedCredit: 10,
        redemptions: [redemption(4), redemption(6)],
      }),
    );
    expect(await balance(person.accountId)).toStrictEqual([
      creditBalance('Points', { count: 1, redeemed: 10 }),
    ]);
  });
});

describe('redeeming from the account', () => {
  test('takes the soonest expiry first, then the oldest, all or nothing, in the first spelling', async () => {
    const person = await owner();
    const hour = 3_600_000;
    const endless1 = await give(person, credit('Cents', 10));
    const late = await give(person, credit('CENTS', 10, { dateExpires: Date.now() + 2 * hour }));
    const soon = await give(person, credit('cents', 10, { dateExpires: Date.now() + hour }));
    const other = await owner(person.accountId);
    const endless2 = await give(other, credit('cents', 10));
    await give(person, credit('POINTS', 1000));
    expect(outcome(await bulk(person.accountId, 41, 'CENTS'))).toStrictEqual(
      refusal(400, 'INVALD_REWARD_REDEMPTION'),
    );
    const left = async () => {
      const all = await rewards(person.accountId, { rewardTypeFilter: 'CREDIT' });
      return [soon, late, endless1, endless2].map(
        ({ id }) => all.find((reward) => reward['id'] === id)?.['redeemedCredit'],
      );
    };
    expect(await left()).toStrictEqual([0, 0, 0, 0]);
    expect((await bulk(person.accountId, 12, 'cEnTs')).body).toMatchObject({
      creditRedeemed: 12,
      creditAvailable: 28,
    });
    expect(await left()).toStrictEqual([10, 2, 0, 0]);
    expect((await bulk(person.accountId, 19, 'cents')).body).toMatchObject({
      creditRedeemed: 19,
      creditAvailable: 9,
    });
    expect(await left()).toStrictEqual([10, 10, 10, 1]);
    expect(await balance(person.accountId)).toStrictEqual([
      creditBalance('Cents', { count: 4, redeemed: 31, available: 9 }),
      creditBalance('POINTS', { count: 1, available: 1000 }),
    ]);
    expect(await balance(person.accountId, { userId: other.userId })).toStrictEqual([
      creditBalance('cents', { count: 1, redeemed: 1, available: 9 }),
    ]);
  });

  test('never takes more than there is, under any number of requests', async () => {
    const person = await owner();
    const { id } = await give(person, credit('CENTS', 60));
    await give(person, credit('CENTS', 40));
    const asked = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        n % 2 === 0 ? redeem(id, 7, 'CENTS') : bulk(person.accountId, 7, 'CENTS'),
      ),
    );
    const done = asked.filter(({ status }) => status === 200).length;
    expect(asked.filter(({ status }) => status !== 200).map(outcome)).toStrictEqual(
      Array.from({ length: 30 - done }, () => refusal(400, 'INVALD_REWARD_REDEMPTION')),
    );
    expect(done * 7).toBeLessThanOrEqual(100);
    expect(await balance(person.accountId)).toStrictEqual([
      creditBalance('CENTS', { count: 2, redeemed: done * 7, available: 100 - done * 7 }),
    ]);
  });
});

describe('cancelling', () => {
  test('takes effect once; twice changes nothing', async () => {
    const person = await owner();
    const { id } = await give(person, credit('CENTS', 5));
    const first = await cancel(id);
    expect(outcome(first)).toStrictEqual({
      status: 200,
      body: expectedCredit(person.accountId, person.userId, 'CENTS', 5, { dateCancelled: aTime }),
    });
    const second = await api.post(`/reward/${id}/cancel`, {});
    expect(outcome(second)).toStrictEqual(outcome(first));
    expect(second.headers.get('ledger-position')).toBe(first.headers.get('ledger-position'));
    expect(await rewards(person.accountId)).toStrictEqual([first.body]);
  });

  test('is refused for a partly redeemed reward and for one that cannot be cancelled', async () => {
    const person = await owner();
    const { id: redeemed } = await give(person, credit('CENTS', 5));
    await redeem(redeemed, 1, 'CENTS');
    const { id: firm } = await give(person, {
      type: 'PCT_DISCOUNT',
      discountPercent: 5,
      cancellable: false,
    });
    for (const id of [redeemed, firm])
      expect(outcome(await cancel(id))).toStrictEqual(refusal(400, 'REWARD_NOT_CANCELLABLE'));
  });
});

describe('balances', () => {
  test('are sorted by type and unit, with redeemed, available, and other credit by its reason', async () => {
    const person = await owner();
    const { accountId } = person;
    const { id: partly } = await give(person, credit('points', 100));
    await redeem(partly, 30, 'POINTS');
    const { id: gone } = await give(person, credit('Points', 7));
    await cancel(gone);
    await give(person, credit('POINTS', 11, { dateScheduledFor: Date.now() + 3_600_000 }));
    await give(person, credit('CENTS', 13, { dateScheduledFor: Date.now() + 3_600_000 }));
    await give(person, { type: 'PCT_DISCOUNT', discountPercent: 20 });
    const { id: percent } = await give(person, { type: 'PCT_DISCOUNT', discountPercent: 5 });
    await give(person, {
      type: 'PCT_DISCOUNT',
      discountPercent: 50,
      dateScheduledFor: Date.now() + 3_600_000,
    });
    const { id: tank } = await give(person, {
      type: 'FUELTANK',
      fuelTankCode: 'c',
      fuelTankType: 'CREDIT',
      amount: 5,
    });
    const points = creditBalance('points', {
      count: 1,
      redeemed: 30,
      available: 70,
      cancelled: 7,
      pending: 11,
    });
    expect(await balance(accountId)).toStrictEqual([
      creditBalance('CENTS', { count: 0, pending: 13 }),
      points,
      tankBalance(1),
      percentBalance(25, 0, 0),
    ]);
    expect(await balance(accountId, { rewardTypeFilter: 'PCT_DISCOUNT' })).toStrictEqual([
      percentBalance(25, 0, 0),
    ]);
    expect(
      await balance(accountId, { userId: person.userId, rewardTypeFilter: 'FUELTANK' }),
    ).toStrictEqual([tankBalance(1)]);
    expect(await balance(accountId, { userId: 'nobody' })).toStrictEqual([]);
    await cancel(percent);
    await cancel(tank);
    expect((await balance(accountId)).slice(2)).toStrictEqual([
      tankBalance(0),
      percentBalance(20, 0, 0),
    ]);
    const account = await bulk(accountId, 70, 'Points');
    expect(account.body).toStrictEqual({ creditRedeemed: 70, creditAvailable: 0, unit: 'points' });
  });

  test('follow the clock: scheduled, then available, then expired', async () => {
    const person = await owner();
    const { accountId } = person;
    const hour = 3_600_000;
    const { id } = await give(
      person,
      credit('CENTS', 10, { dateScheduledFor: now() + hour, dateExpires: now() + 2 * hour }),
    );
    await give(person, credit('cents', 1, { dateScheduledFor: now() + hour }));
    await give(person, { type: 'PCT_DISCOUNT', discountPercent: 7, dateExpires: now() + 2 * hour });
    await give(person, {
      type: 'PCT_DISCOUNT',
      discountPercent: 50,
      dateScheduledFor: now() + hour,
    });
    expect(await balance(accountId)).toStrictEqual([
      creditBalance('CENTS', { count: 0, pending: 11 }),
      percentBalance(7, 0, 0),
    ]);
    const shown = await rewards(accountId);
    try {
      clock.mockImplementation(() => now() + hour);
      expect(await balance(accountId)).toStrictEqual([
        creditBalance('CENTS', { count: 2, available: 11 }),
        percentBalance(57, 0, 0),
      ]);
      expect(
        await balance(accountId, { userId: person.userId, rewardTypeFilter: 'PCT_DISCOUNT' }),
      ).toStrictEqual([percentBalance(57, 0, 0)]);
      expect((await redeem(id, 4, 'CENTS')).body).toStrictEqual({
        creditRedeemed: 4,
        creditAvailable: 6,
        unit: 'CENTS',
      });
      expect(await balance(accountId)).toStrictEqual([
        creditBalance('CENTS', { count: 2, redeemed: 4, available: 7 }),
        percentBalance(57, 0, 0),
      ]);
      clock.mockImplementation(() => now() + 2 * hour);
      const left = creditBalance('CENTS', { count: 2, redeemed: 4, available: 1, expired: 6 });
      expect(await balance(accountId)).toStrictEqual([left, percentBalance(50, 0, 0)]);
      expect(outcome(await redeem(id, 1, 'CENTS'))).toStrictEqual(
        refusal(400, 'INVALD_REWARD_REDEMPTION'),
      );
      expect(outcome(await bulk(accountId, 2, 'CENTS'))).toStrictEqual(
        refusal(400, 'INVALD_REWARD_REDEMPTION'),
      );
      expect((await bulk(accountId, 1, 'cents')).body).toMatchObject({
        creditRedeemed: 1,
        creditAvailable: 0,
      });
      const spent = creditBalance('CENTS', { count: 2, redeemed: 5, expired: 6 });
      expect(await balance(accountId)).toStrictEqual([spent, percentBalance(50, 0, 0)]);
      // Rewards themselves only show their dates.
      expect(
        (await rewards(accountId)).map(({ dateScheduledFor, dateExpires }) => [
          dateScheduledFor,
          dateExpires,
        ]),
      ).toStrictEqual(
        shown.map(({ dateScheduledFor, dateExpires }) => [dateScheduledFor, dateExpires]),
      );
    } finally {
      clock.mockImplementation(now);
      await acceptClockOf(running.stores);
    }
  });

  test('are the same before and after a job has recorded due dates', async () => {
    const person = await owner();
    const end = now() + 1_500;
    await give(person, credit('CENTS', 10, { dateScheduledFor: end - 500, dateExpires: end }));
    await give(person, { type: 'PCT_DISCOUNT', discountPercent: 7, dateExpires: end });
    await eventually(async () => now() >= end);
    const expired = [creditBalance('CENTS', { count: 0, expired: 10 }), percentBalance(0, 0, 0)];
    expect(await balance(person.accountId)).toStrictEqual(expired);
    const { log, names } = running.service.service.core;
    const scope = { tenant: api.tenant, mode: 'live' as const };
    const stream = names.accountStream(scope, names.accountRef(scope, person.accountId));
    await eventually(async () => {
      const types: string[] = [];
      for await (const { type } of log.readStream(stream)) types.push(type);
      return types.filter((type) => type === 'RewardExpired').length === 2;
    });
    expect(
      (
        await api.get(`/reward/balance${query({ accountId: person.accountId })}`, {
          atLeast: (await running.service.head())!,
        })
      ).body,
    ).toStrictEqual(expired);
  });

  test.each([
    '',
    '?accountId=',
    '?accountId=a&accountId=b',
    '?accountId=%00',
    '?accountId=a&rewardTypeFilter=credit',
    '?accountId=a&rewardTypeFilter=X',
    '?userId=a',
  ])('GET /reward%s and its balance are refused', async (parameters) => {
    expect(outcome(await api.get(`/reward${parameters}`))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    expect(outcome(await api.get(`/reward/balance${parameters}`))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
  });
});
