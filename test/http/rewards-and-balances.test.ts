import { path, query, type ApiClient, type Json } from '../support/api-client.js';
import { creditBalance } from '../support/expected-answers.js';
import { aPerson, type Person } from '../support/people.js';
import { useSharedService, expectRefusal } from '../support/running-service.js';

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
