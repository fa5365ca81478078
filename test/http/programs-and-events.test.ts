import { isDeepStrictEqual } from 'node:util';
import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { path, type ApiClient, type Answer, type Json } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { aPerson, type Person } from '../support/people.js';
import { useSharedService, type TestTenant, expectRefusal } from '../support/running-service.js';

const running = useSharedService();

const person = (api: ApiClient): Promise<Person> => aPerson(api);

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
});

test('a refund takes the reward of an earlier event back, from the user and from the referrer', async () => {
  const reward = { type: 'CREDIT', unit: 'POINTS', assignedCredit: 50 };
  const rule = { key: 'purchase', refund: { key: 'refund', field: 'order' }, reward };
  const { live } = await tenantWith({
    id: 'default',
    eventRewards: [
      { ...rule, to: 'USER' },
      { ...rule, to: 'REFERRER' },
    ],
  });
  const ann = await person(live);
  const bob = await aPerson(live, { referable: true }, { referral: { code: ann.code } });
  const points = async ({ accountId, id }: Person): Promise<unknown> => {
    const { body } = await live.get<readonly Json[]>(
      `/reward/balance?accountId=${accountId}&userId=${id}`,
    );
    const found = body.find(({ unit }) => unit === 'POINTS');
    return found && [found['totalAvailableCredit'], found['totalCancelledCredit']];
  };
  await happened(live, bob, [{ key: 'purchase', fields: { order: 'A-1' } }]);
  await eventually(async () => isDeepStrictEqual(await points(ann), [50, 0]));
  expect(await points(bob)).toEqual([50, 0]);
  await happened(live, bob, [{ key: 'refund', fields: { order: 'A-1' } }]);
  expect(await points(bob)).toEqual([0, 50]);
  await eventually(async () => isDeepStrictEqual(await points(ann), [0, 50]));
});
