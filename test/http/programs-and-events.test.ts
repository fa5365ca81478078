import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { arrayOf } from '../command-handling/support/processes.js';
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

const rewardsOf = async (api: ApiClient, { accountId }: Person): Promise<readonly Json[]> =>
  (await api.get<readonly Json[]>(`/reward?accountId=${encodeURIComponent(accountId)}`)).body;

const tenantWith = (program: ProgramDocument): Promise<TestTenant> =>
  running.service.createTenant({ program });

/** Why rewards of this person's account were not given, as the log says. */
async function withheldFrom(tenant: TestTenant, { accountId }: Person): Promise<readonly string[]> {
  const { names, log, codec } = running.service.service.core;
  const scope = { tenant: tenant.alias, mode: 'live' as const };
  const stream = names.accountStream(scope, names.accountRef(scope, accountId));
  const events = await codec.decodeAll(await arrayOf(log.readStream(stream)));
  return events.flatMap(({ event }) => (event.type === 'RewardWithheld' ? [event.reason] : []));
}

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
    const before = await running.service.head();
    expect(outcome(await happened(tenant.live, bob, [{ key: 'k' }], over))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
    expect(await running.service.head()).toBe(before);
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

  test('that fill what is remembered of a user leave first times exact, of rules that come later too', async () => {
    const reward = { to: 'USER', firstTimeOnly: true, reward: CENTS(1) };
    const rules = (...keys: readonly string[]): ProgramDocument => ({
      id: 'default',
      eventRewards: keys.map((key) => ({ ...reward, key, minimum: { field: 'total', value: 50 } })),
    });
    const shop = await tenantWith(rules('purchase'));
    const who = await person(shop.live);
    const earned = async (...keys: readonly string[]) => {
      const before = (await rewardsOf(shop.live, who)).length;
      const events = keys.map((key) => ({ key, fields: { total: 60 } }));
      expect((await happened(shop.live, who, events)).status).toBe(200);
      return (await rewardsOf(shop.live, who)).length - before;
    };
    await happened(shop.live, who, [{ key: 'junk', fields: members(500) }]);
    expect(await earned('visit', 'purchase', 'purchase')).toBe(1);
    expect(await earned('purchase')).toBe(0);
    const { tenantCommands } = running.service.service.core;
    await tenantCommands.execute(shop.alias, {
      type: 'ApplyProgram',
      program: rules('purchase', 'visit', 'refund'),
      now: Date.now(),
    });
    expect(await earned('visit', 'purchase')).toBe(0);
    expect(await earned('refund', 'refund')).toBe(1);
    const { names, streams } = running.service.service.core;
    const scope = { tenant: shop.alias, mode: 'live' as const };
    const stream = names.accountStream(scope, names.accountRef(scope, who.accountId));
    const { state } = await streams.accounts.load(stream);
    const [seen] = state.status === 'open' ? state.eventsSeen.values() : [];
    expect([seen?.isComplete, [...(seen?.greatest.keys() ?? [])].sort()]).toStrictEqual([
      false,
      ['junk', 'purchase', 'refund', 'visit'],
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

test('with a conversion on an event PAID does not convert, and events earn their own rewards', async () => {
  const { live } = await tenantWith({
    id: 'shop',
    conversion: { on: 'EVENT', key: 'purchase', minimum: { field: 'total', value: 50 } },
    eventRewards: [
      { key: 'purchase', to: 'REFERRER', reward: { ...CENTS(5), limit: { total: 1 } } },
      {
        key: 'visit',
        firstTimeOnly: true,
        to: 'USER',
        reward: { type: 'PCT_DISCOUNT', discountPercent: 3 },
      },
    ],
  });
  const ann = await person(live);
  const bob = await referred(live, ann);
  await pay(live, bob);
  await happened(live, bob, [{ key: 'purchase', fields: { total: 49 } }]);
  expect(await referralOf(live, bob)).toMatchObject({
    programId: 'shop',
    dateReferralPaid: null,
    referrerReward: null,
  });

  const { body } = await happened(live, bob, [
    { key: 'visit' },
    { key: 'purchase', fields: { total: 50 } },
    { key: 'visit' },
  ]);
  const [{ dateReceived } = { dateReceived: null }] = body['events'] as readonly Json[];
  expect(await referralOf(live, bob)).toMatchObject({
    dateReferralPaid: dateReceived,
    referrerReward: { assignedCredit: 1000 },
  });
  const shown = (await rewardsOf(live, ann)).map(({ rewardSource, assignedCredit }) => [
    rewardSource,
    assignedCredit,
  ]);
  expect(shown.sort()).toStrictEqual([
    ['EVENT', 5],
    ['FRIEND_SIGNUP', 1000],
  ]);
  expect(
    (await rewardsOf(live, bob)).filter(({ rewardSource }) => rewardSource === 'EVENT'),
  ).toMatchObject([{ discountPercent: 3 }]);
  // Without a referral too.
  await happened(live, ann, [{ key: 'visit' }]);
  expect((await rewardsOf(live, ann)).filter(({ type }) => type === 'PCT_DISCOUNT')).toHaveLength(
    1,
  );
});

test('codes of a pool are handed out once each per mode; an empty pool grants nothing, and the log says so', async () => {
  const codes = Array.from({ length: 3 }, () => personal('tank').toUpperCase());
  const pool = {
    type: 'FUELTANK',
    fuelTankCodes: codes,
    fuelTankType: 'CREDIT',
    amount: 20,
    unit: 'LITRES',
  };
  const tenant = await tenantWith({ id: 'tanks', referredReward: pool, referrerReward: null });
  const ann = await person(tenant.live);
  const friends = await Promise.all([1, 2, 3, 4].map(() => referred(tenant.live, ann)));
  const given = (await Promise.all(friends.map((friend) => rewardsOf(tenant.live, friend)))).flat();
  expect(given.map(({ fuelTankCode }) => fuelTankCode).sort()).toStrictEqual([...codes].sort());
  expect(given[0]).toMatchObject({
    type: 'FUELTANK',
    amount: 20,
    unit: 'LITRES',
    fueltankType: 'CREDIT',
    rewardSource: 'REFERRED',
  });
  const reasons = (await Promise.all(friends.map((friend) => withheldFrom(tenant, friend)))).flat();
  expect(reasons).toStrictEqual(['POOL_EMPTY']);

  const inTest = await referred(tenant.test, await person(tenant.test));
  expect(await rewardsOf(tenant.test, inTest)).toMatchObject([{ fuelTankCode: codes[0] }]);
  // Filled up, it goes on.
  const more = personal('tank').toUpperCase();
  await running.service.applyProgram(tenant.alias, {
    id: 'tanks',
    referredReward: { ...pool, fuelTankCodes: [...codes, more] },
    referrerReward: null,
  });
  expect(await rewardsOf(tenant.live, await referred(tenant.live, ann))).toMatchObject([
    { fuelTankCode: more },
  ]);
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

  test('similar people are flagged, and the program decides the consequence', async () => {
    const { live } = await tenantWith({ id: 'careful', fraud: { name: 'deny' } });
    const [first, last, local] = [personal('F'), personal('L'), personal('mail')];
    const ann = await person(live, {
      firstName: first,
      lastName: last,
      email: `${local}@one.example`,
    });
    const twin = await referred(live, ann, { firstName: last, lastName: first });
    expect(await referralOf(live, twin)).toMatchObject({
      fraudSignals: { name: { score: 50 } },
      referredReward: null,
      referredModerationStatus: 'DENIED',
      referrerModerationStatus: 'DENIED',
    });
    const other = await referred(live, ann, { email: `${local}@two.example` });
    expect(await referralOf(live, other)).toMatchObject({
      fraudSignals: { email: { score: 50 } },
      referredModerationStatus: 'APPROVED',
    });
  });

  test('of two accounts that refer each other at the same moment, one is referred', async () => {
    const { live } = await tenantWith({ id: 'default' });
    const [ann, bob] = [await person(live), await person(live)];
    const apply = (code: string, to: Person) =>
      live.post(`/open${path('code', code, 'account', to.accountId, 'user', to.id)}`);
    const answers = await Promise.all([apply(ann.code, bob), apply(bob.code, ann)]);
    expect(answers.map(({ status }) => status).sort()).toStrictEqual([200, 400]);
    const [refused] = answers.filter(({ status }) => status === 400);
    expect(refused?.body).toMatchObject({ apiErrorCode: 'SELF_REFERRAL' });
  });
});

test('automatically redeemed credit is redeemed when it becomes available', async () => {
  const { live } = await tenantWith({
    id: 'self',
    referrerReward: { ...CENTS(70), when: 'STARTED' },
    automaticRedemption: ['CREDIT'],
  });
  const ann = await person(live);
  await referred(live, ann);
  expect(await rewardsOf(live, ann)).toMatchObject([
    { assignedCredit: 70, redeemedCredit: 70, redemptions: [{ quantityRedeemed: 70 }] },
  ]);
  const reward = { ...CENTS(30), dateScheduledFor: Date.now() + 86_400_000 };
  const scheduled = await live.post(
    `/rewards${path('account', ann.accountId, 'user', ann.id)}`,
    reward,
  );
  expect(scheduled.body).toMatchObject({ assignedCredit: 30, redeemedCredit: 0 });
  const now = await live.post(
    `/rewards${path('account', ann.accountId, 'user', ann.id)}`,
    CENTS(5),
  );
  expect(now.body).toMatchObject({ redeemedCredit: 5, redemptions: [{ quantityRedeemed: 5 }] });
  expect(outcome(await live.post(`/reward/${String(now.body['id'])}/cancel`))).toStrictEqual(
    refusal(400, 'REWARD_NOT_CANCELLABLE'),
  );
  const { body } = await live.get(`/reward/balance?accountId=${ann.accountId}`);
  expect(body).toMatchObject([
    { totalAvailableCredit: 0, totalRedeemedCredit: 75, totalPendingCredit: 30 },
  ]);
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
