import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import {
  aTime,
  creditBalance,
  expectedCredit,
  percentBalance,
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
