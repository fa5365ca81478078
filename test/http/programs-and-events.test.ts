import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { path, type ApiClient, type Answer, type Json } from '../support/api-client.js';
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
