import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import {
  aTime,
  creditBalance,
  expectedCredit,
  expectedPercent,
  expectedTank,
  percentBalance,
  tankBalance,
} from '../support/expected-answers.js';
import { eventually } from '../support/embedded.js';
import { outcome, personal, refusal, shareService } from '../support/running-service.js';

let running: Awaited<ReturnType<typeof shareService>>;
let api: ApiClient;
beforeAll(async () => {
  running = await shareService();
  api = (await running.service.createTenant()).live;
});
afterAll(() => running.end());

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
    ['an end in the past', () => credit('CENTS', 1, { dateExpires: Date.now() - 1 })],
    [
      'an end before its beginning',
      () => credit('CENTS', 1, { dateScheduledFor: soon(), dateExpires: soon() - 10_000 }),
    ],
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

  test('is refused beyond 2^53-1 of a unit', async () => {
    const person = await owner();
    await give(person, credit('CENTS', Number.MAX_SAFE_INTEGER));
    expect(outcome(await api.post(`/rewards${person.at}`, credit('CENTS', 1)))).toStrictEqual(
      refusal(400, 'AMOUNT_TOO_LARGE'),
    );
  });
});

describe('redeeming one', () => {
  test.each<[string, unknown, unknown, string]>([
    ['no amount', undefined, 'CENTS', 'BAD_REQUEST'],
    ['one too many', 101, 'CENTS', 'INVALD_REWARD_REDEMPTION'],
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

describe('redeeming from the account', () => {});

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

  test('are the same before and after a job has recorded due dates', async () => {
    const person = await owner();
    const end = Date.now() + 1_500;
    await give(person, credit('CENTS', 10, { dateScheduledFor: end - 500, dateExpires: end }));
    await give(person, { type: 'PCT_DISCOUNT', discountPercent: 7, dateExpires: end });
    await eventually(async () => Date.now() >= end);
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
