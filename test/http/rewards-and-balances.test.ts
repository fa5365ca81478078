import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import { creditBalance } from '../support/expected-answers.js';
import { aPerson, type Person } from '../support/people.js';
import { personal, useSharedService, expectRefusal } from '../support/running-service.js';

const running = useSharedService();
let api: ApiClient;
beforeAll(async () => {
  api = (await running.service.createTenant()).live;
});

const owner = () => aPerson(api);

async function give(
  { at }: Pick<Person, 'at'>,
  reward: Json,
): Promise<Json & { readonly id: string }> {
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
const redeem = (id: string, amount: unknown, unit: unknown) =>
  api.post(`/credit${path(id)}/redeem`, { amount, unit });
const bulk = (accountId: string, amount: unknown, unit: unknown) =>
  api.post('/credit/bulkredeem', { accountId, amount, unit });
const cancel = (id: string) => api.post(`/reward${path(id)}/cancel`);

test('a reward whose end is in the past is refused, before the question whose reward it would be', async () => {
  const person = await owner();
  const reward = credit('CENTS', 1, { dateExpires: Date.now() - 1 });
  for (const at of [person.at, '/account/nowhere/user/nobody'])
    expectRefusal(await api.post(`/rewards${at}`, reward), 400, 'BAD_REQUEST');
  expect((await api.get(`/reward${query({ accountId: person.accountId })}`)).body).toStrictEqual(
    [],
  );
});

describe('redeeming one', () => {
  test.each<[string, unknown, unknown, string]>([
    ['no amount', undefined, 'CENTS', 'BAD_REQUEST'],
    ['one too many', 101, 'CENTS', 'INVALD_REWARD_REDEMPTION'],
    ['another unit', 5, 'POINTS', 'INVALD_REWARD_REDEMPTION'],
  ])('%s is refused, in bulk too', async (_what, amount, unit, code) => {
    const person = await owner();
    const { id } = await give(person, credit('CENTS', 100));
    expectRefusal(await redeem(id, amount, unit), 400, code);
    expectRefusal(await bulk(person.accountId, amount, unit), 400, code);
    expect(await balance(person.accountId)).toStrictEqual([creditBalance('CENTS', 1, 100)]);
  });

  test('finds no unknown reward or account, for any request', async () => {
    const { at } = await owner();
    const { id } = await give({ at }, credit('CENTS', 5));
    for (const unknown of ['x', '0'.repeat(48), id.toUpperCase(), 'a/b', 'x'.repeat(2000)]) {
      const answers = [
        await redeem(unknown, 0, 'CENTS'),
        await cancel(unknown),
        await api.get(`/reward${path(unknown)}`),
      ];
      for (const answer of answers) expectRefusal(answer, 404, 'REWARD_NOT_FOUND');
    }
    expectRefusal(await bulk(personal(), 0, 'CENTS'), 404, 'ACCOUNT_NOT_FOUND', 'RS041');
  });
});

describe('cancelling', () => {
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
      expectRefusal(await cancel(id), 400, 'REWARD_NOT_CANCELLABLE');
  });
});

describe('balances', () => {
  test.each(['?userId=a', '?accountId=a&accountId=b', '?accountId=a&rewardTypeFilter=credit'])(
    'GET /reward%s and its balance are refused',
    async (parameters) => {
      expectRefusal(await api.get(`/reward${parameters}`), 400, 'BAD_REQUEST');
      expectRefusal(await api.get(`/reward/balance${parameters}`), 400, 'BAD_REQUEST');
    },
  );
});
