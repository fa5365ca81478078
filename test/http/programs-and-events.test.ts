import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { path, type ApiClient, type Answer, type Json } from '../support/api-client.js';
import { aPerson, PAID, type Person } from '../support/people.js';
import {
  personal,
  useSharedService,
  type TestTenant,
  expectRefusal,
} from '../support/running-service.js';

const running = useSharedService();

const CENTS = (assignedCredit: number) => ({ type: 'CREDIT', unit: 'CENTS', assignedCredit });

const person = (api: ApiClient): Promise<Person> => aPerson(api);
const referred = (api: ApiClient, by: Person): Promise<Person> =>
  aPerson(api, { referredByCodes: [by.code] });

const eventsPath = ({ accountId, id }: Person): string =>
  `/open${path('account', accountId, 'user', id)}/events`;

function happened(
  api: ApiClient,
  who: Person,
  events: readonly unknown[],
  over: Json = {},
): Promise<Answer> {
  const body = { userId: who.id, accountId: who.accountId, events, ...over };
  return api.post(eventsPath(who), body);
}

const pay = (api: ApiClient, { accountId }: Person) =>
  api.post('/accountsync', { id: accountId, subscription: PAID });

async function referralOf(api: ApiClient, { id }: Person): Promise<Json> {
  const { body } = await api.get<{ referrals: readonly Json[] }>(
    `/referrals?referredUserId=${encodeURIComponent(id)}`,
  );
  const [referral] = body.referrals;
  if (!referral) throw new Error('there is no referral');
  return referral;
}

const tenantWith = (program: ProgramDocument): Promise<TestTenant> =>
  running.service.createTenant({ program });

describe('events of a user', () => {
  let tenant: TestTenant;
  let bob: Person;
  beforeAll(async () => {
    tenant = await tenantWith({ id: 'default' });
    bob = await person(tenant.live);
  });

  test('are answered with their contents and times', async () => {
    const before = Date.now();
    const fields = {
      total: 9.5,
      products: [{ sku: 'shoes', sizes: [1, 2] }],
      note: null,
      gift: true,
    };
    const { status, body } = await happened(tenant.live, bob, [
      { key: 'purchase', fields, id: 'order-1', dateTriggered: 1_600_000_000_123 },
      { key: 'visit', fields: null, id: 7 },
      { key: 'visit' },
    ]);
    const now = expect.any(Number) as number;
    const received = { dateReceived: now, dateProcessed: now };
    expect({ status, body }).toStrictEqual({
      status: 200,
      body: {
        userId: bob.id,
        accountId: bob.accountId,
        events: [
          { id: 'order-1', key: 'purchase', fields, dateTriggered: 1_600_000_000_123, ...received },
          { id: '7', key: 'visit', fields: {}, dateTriggered: now, ...received },
          {
            id: expect.stringMatching(/\S/) as string,
            key: 'visit',
            fields: {},
            dateTriggered: now,
            ...received,
          },
        ],
      },
    });
    const [, , last] = body['events'] as readonly Json[];
    expect(Number(last?.['dateTriggered'])).toBeGreaterThanOrEqual(before);
    expect(last?.['dateTriggered']).toBe(last?.['dateReceived']);
  });

  test('about another user or account than the path, or without a key, are refused', async () => {
    for (const over of [{ userId: 'another' }, { accountId: 'another' }, { events: [{}] }])
      expectRefusal(await happened(tenant.live, bob, [{ key: 'k' }], over), 400, 'BAD_REQUEST');
  });

  test('of an unknown user are answered with 404', async () => {
    const nobody = { ...bob, id: personal('nobody') };
    expectRefusal(
      await happened(tenant.live, nobody, [{ key: 'k' }]),
      404,
      'USER_NOT_FOUND',
      'RS042',
    );
    expectRefusal(await happened(tenant.test, bob, [{ key: 'k' }]), 404, 'USER_NOT_FOUND', 'RS042');
  });

  test('with their own idempotency key are recorded once per user', async () => {
    const again = { idempotencyKey: 'batch-of.today_1' };
    const first = await happened(tenant.live, bob, [{ key: 'k' }], again);
    expect(first.status).toBe(200);
    expectRefusal(
      await happened(tenant.live, bob, [{ key: 'other' }], again),
      409,
      'EVENTS_ALREADY_RECEIVED',
    );
    expect(
      (await happened(tenant.live, await person(tenant.live), [{ key: 'k' }], again)).status,
    ).toBe(200);
  });
});

test('each of several programs has its code, its terms and its conversion, and the default can change', async () => {
  const tenant = await tenantWith({ id: 'one', referredReward: CENTS(1) });
  const { live } = tenant;
  const ann = await person(live);
  await running.service.applyProgram(tenant.alias, {
    id: 'two',
    referredReward: CENTS(2),
    conversion: { on: 'EVENT', key: 'go' },
  });
  const { body } = await live.post('/user', { id: ann.id, accountId: ann.accountId });
  const codes = body['referralCodes'] as Readonly<Record<string, string>>;
  expect([Object.keys(codes).sort(), body['referralCode']]).toStrictEqual([
    ['one', 'two'],
    codes['one'],
  ]);
  const [bob, cat] = [
    await referred(live, { ...ann, code: codes['one'] ?? '' }),
    await referred(live, { ...ann, code: codes['two'] ?? '' }),
  ];
  for (const friend of [bob, cat]) {
    await happened(live, friend, [{ key: 'go' }]);
    await pay(live, friend);
  }
  expect(await referralOf(live, bob)).toMatchObject({
    programId: 'one',
    referredReward: { assignedCredit: 1 },
  });
  expect(await referralOf(live, cat)).toMatchObject({
    programId: 'two',
    referredReward: { assignedCredit: 2 },
  });
  await running.service.applyProgram(tenant.alias, { id: 'two', default: true });
  const after = await live.get(path('account', ann.accountId, 'user', ann.id));
  expect(after.body['referralCode']).toBe(codes['two']);
});
