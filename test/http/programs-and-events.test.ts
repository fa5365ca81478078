import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { path, type ApiClient, type Answer, type Json } from '../support/api-client.js';
import {
  outcome,
  personal,
  refusal,
  shareService,
  type TestTenant,
} from '../support/running-service.js';

let running: Awaited<ReturnType<typeof shareService>>;
beforeAll(async () => {
  running = await shareService();
});
afterAll(() => running.end());

interface Person {
  readonly accountId: string;
  readonly id: string;
  readonly code: string;
}

const CENTS = (assignedCredit: number) => ({ type: 'CREDIT', unit: 'CENTS', assignedCredit });

async function person(
  api: ApiClient,
  over: Json = {},
  codes: readonly string[] = [],
): Promise<Person> {
  const [accountId, id] = [personal('acc'), personal('user')];
  await api.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } });
  const { body } = await api.post('/user', { id, accountId, referredByCodes: codes, ...over });
  return { accountId, id, code: String(body['referralCode']) };
}

const referred = (api: ApiClient, by: Person, over: Json = {}): Promise<Person> =>
  person(api, over, [by.code]);

const eventsPath = ({ accountId, id }: Person): string =>
  `/open${path('account', accountId, 'user', id)}/events`;

function happened(
  api: ApiClient,
  who: Person,
  events: readonly unknown[],
  over: Json = {},
  key?: string,
): Promise<Answer> {
  const body = { userId: who.id, accountId: who.accountId, events, ...over };
  return api.post(eventsPath(who), body, key === undefined ? {} : { key });
}

const pay = (api: ApiClient, { accountId }: Person) =>
  api.post('/accountsync', {
    id: accountId,
    subscription: {
      status: 'PAID',
      value: 9,
      billingIntervalType: 'MONTH',
      billingIntervalValue: 1,
    },
  });

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

  const members = (count: number): Json =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`field${n}`, n]));
  /** An event of so many bytes as JSON. */
  const ofBytes = (bytes: number) => {
    const event = {
      key: 'k',
      fields: { texts: ['', ...Array<string>(43).fill('x'.repeat(1_500))] },
    };
    event.fields.texts[0] = 'x'.repeat(bytes - JSON.stringify(event).length);
    return event;
  };
  const nested = (depth: number): unknown =>
    depth === 0 ? 'x'.repeat(1501) : { deeper: nested(depth - 1) };
  test.each<[string, Json]>([
    ['no events', { events: [] }],
    ['too many events', { events: Array.from({ length: 101 }, () => ({ key: 'k' })) }],
    ['events that are none', { events: { key: 'k' } }],
    ['an event that is none', { events: ['k'] }],
    ['no key', { events: [{ fields: {} }] }],
    ['a key that is no text', { events: [{ key: 5 }] }],
    ['an empty key', { events: [{ key: '' }] }],
    ['a long key', { events: [{ key: 'k'.repeat(1501) }] }],
    ['fields that are a list', { events: [{ key: 'k', fields: [] }] }],
    ['a long text', { events: [{ key: 'k', fields: { a: 'é'.repeat(751) } }] }],
    ['a long text inside', { events: [{ key: 'k', fields: nested(3) as Json }] }],
    ['a list of lists', { events: [{ key: 'k', fields: { a: [[1]] } }] }],
    ['a list of lists inside', { events: [{ key: 'k', fields: { a: [{ b: [[]] }] } }] }],
    ['too many members', { events: [{ key: 'k' }, { key: 'k', fields: members(501) }] }],
    ['a large event', { events: [ofBytes(64 * 1024 + 1)] }],
    ['a time that is none', { events: [{ key: 'k', dateTriggered: 'now' }] }],
    ['a time with decimals', { events: [{ key: 'k', dateTriggered: 1.5 }] }],
    ['a short idempotency key', { idempotencyKey: '1234567' }],
    ['an idempotency key with blanks', { idempotencyKey: 'with blanks' }],
    ['another user', { userId: 'another' }],
    ['another account', { accountId: 'another' }],
    ['no user', { userId: null }],
    ['no account', { accountId: null }],
  ])('%s: 400, and nothing is stored', async (_what, over) => {
    const before = await running.service.eventsOf(tenant);
    expect(outcome(await happened(tenant.live, bob, [{ key: 'k' }], over))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    expect(await running.service.eventsOf(tenant)).toBe(before);
  });

  test('are accepted up to the largest size', async () => {
    const text = 'é'.repeat(750);
    const events = Array.from({ length: 100 }, () => ({
      key: 'k'.repeat(1500),
      fields: { [text]: text, list: [{ list: [text] }] },
    }));
    expect((await happened(tenant.live, bob, events)).status).toBe(200);
    const large = [{ key: 'k', fields: members(500) }, ofBytes(64 * 1024)];
    expect((await happened(tenant.live, bob, large)).status).toBe(200);
    const { body } = await happened(tenant.live, bob, [{ key: 'k', fields: members(501) }]);
    expect(body['validationErrors']).toStrictEqual([
      'events[0].fields must have at most 500 members',
    ]);
  });

  test('of an unknown user are answered with 404', async () => {
    const nobody = { ...bob, id: personal('nobody') };
    expect(outcome(await happened(tenant.live, nobody, [{ key: 'k' }]))).toStrictEqual(
      refusal(404, 'USER_NOT_FOUND', 'RS042'),
    );
    expect(outcome(await happened(tenant.test, bob, [{ key: 'k' }]))).toStrictEqual(
      refusal(404, 'USER_NOT_FOUND', 'RS042'),
    );
  });

  test('with their own idempotency key are recorded once per user; the header repeats the answer', async () => {
    const again = { idempotencyKey: 'batch-of.today_1' };
    const first = await happened(tenant.live, bob, [{ key: 'k' }], again, personal('key'));
    expect(first.status).toBe(200);
    expect(outcome(await happened(tenant.live, bob, [{ key: 'other' }], again))).toStrictEqual(
      refusal(409, 'EVENTS_ALREADY_RECEIVED'),
    );
    expect(
      (await happened(tenant.live, await person(tenant.live), [{ key: 'k' }], again)).status,
    ).toBe(200);
    const key = personal('key');
    const one = await happened(
      tenant.live,
      bob,
      [{ key: 'k' }],
      { idempotencyKey: 'another-batch' },
      key,
    );
    const two = await happened(
      tenant.live,
      bob,
      [{ key: 'k' }],
      { idempotencyKey: 'another-batch' },
      key,
    );
    expect([two.status, two.body, two.headers.get('idempotency-replayed')]).toStrictEqual([
      200,
      one.body,
      'true',
    ]);
  });
});

describe('fraud', () => {
  test('the fourth referral in half an hour flags all four, and is held alone', async () => {
    const { live } = await tenantWith({ id: 'careful', fraud: { rate: 'pending' } });
    const ann = await person(live);
    const friends: Person[] = [];
    for (let number = 1; number <= 4; number++) {
      friends.push(await referred(live, ann));
      if (number === 3)
        for (const friend of friends)
          expect(await referralOf(live, friend)).toMatchObject({ fraudSignals: {} });
    }
    const referrals = await Promise.all(friends.map((friend) => referralOf(live, friend)));
    const rate = { message: expect.stringMatching(/\S/) as unknown, score: 50 };
    expect(referrals.map(({ fraudSignals }) => fraudSignals)).toStrictEqual([
      { rate },
      { rate },
      { rate },
      { rate },
    ]);
    expect(referrals.map(({ moderationStatus }) => moderationStatus)).toStrictEqual([
      'ACTIONED',
      'ACTIONED',
      'ACTIONED',
      'PENDING',
    ]);
    expect(referrals.map(({ referredReward }) => referredReward !== null)).toStrictEqual([
      true,
      true,
      true,
      false,
    ]);
    await live.post('/referrals/moderate', {
      actions: [{ referralId: referrals[3]?.['id'], action: 'APPROVED' }],
    });
    expect(await referralOf(live, friends[3] ?? ann)).toMatchObject({
      moderationStatus: 'ACTIONED',
      referredReward: { discountPercent: 10 },
    });
  });

  test('four at once are all flagged, and one of them is held', async () => {
    const { live } = await tenantWith({ id: 'careful', fraud: { rate: 'deny' } });
    const ann = await person(live);
    const friends = await Promise.all([1, 2, 3, 4].map(() => referred(live, ann)));
    const referrals = await Promise.all(friends.map((friend) => referralOf(live, friend)));
    expect(referrals.map(({ fraudSignals }) => Object.keys(fraudSignals as object))).toStrictEqual([
      ['rate'],
      ['rate'],
      ['rate'],
      ['rate'],
    ]);
    expect(referrals.map(({ referrerModerationStatus: status }) => status).sort()).toStrictEqual([
      'APPROVED',
      'APPROVED',
      'APPROVED',
      'DENIED',
    ]);
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
