import { EventLogUnavailable } from '../../src/event-log/event-log.js';
import { path, query, type Answer, type Json } from '../support/api-client.js';
import { expectedUser } from '../support/expected-answers.js';
import { aPerson, give, PAID, referralOf, TRIAL, type Person } from '../support/people.js';
import {
  expectAnswer,
  expectRefusal,
  outcome,
  personal,
  refusal,
  useSharedService,
  useTenant,
} from '../support/running-service.js';
import { openForEach } from '../support/opened.js';

const running = useSharedService();
const tenant = useTenant(running, { each: true });
const api = openForEach(() => tenant.live);

async function account(more: Json = {}): Promise<string> {
  const id = personal('acc');
  expect((await api.post('/accountsync', { id, subscription: TRIAL, ...more })).status).toBe(200);
  return id;
}

const user = (more: Json = {}, inAccount: Json = {}): Promise<Person> =>
  aPerson(api, more, inAccount);

const apply = (code: string, { accountId, id }: Pick<Person, 'accountId' | 'id'>) =>
  api.post(`/open/code${path(code)}/account${path(accountId)}/user${path(id)}`);

test('codes are the same with white space around them, wherever they are sent', async () => {
  const code = `B${String(Date.now()).slice(-9)}`;
  const pasted = `\u00A0${code}\t`;
  const owner = await user({ referralCode: pasted });
  expect(owner.code).toBe(code);
  const encoded = encodeURIComponent(pasted);
  for (const found of [`/code/${encoded}`, `/user?referralCode=${encoded}`, `/discount/${encoded}`])
    expect((await api.get(found)).status).toBe(200);
  const [friend, other, last] = [await user(), await user(), await user()];
  expect((await apply(pasted, friend)).body).toMatchObject({ code });
  const updated = await api.post('/user', { ...other, referredBy: { code: pasted } });
  expect(updated.body['referredByCodes']).toStrictEqual([code]);
  const coupon = { accountId: last.accountId, paymentProviderId: personal(), couponCode: pasted };
  expect((await api.post('/discount', coupon)).status).toBe(200);
  const referral = await account({ referral: { code: pasted } });
  expect((await api.get(`/account/${referral}`)).body['referral']).toStrictEqual({ code });
});

test('codes in the cookies of a visitor attribute the user, unless they have expired', async () => {
  const [owner, other] = [await user(), await user()];
  const cookies = (codes: Json, codesExp?: Json): string => {
    const content = { [`${tenant.alias}_CODE`]: { codes, codesExp } };
    const json = JSON.stringify({ 'app.referralsaasquatch.com': content });
    return Buffer.from(json).toString('base64url');
  };
  const soon = Date.now() + 60_000;
  const referredWith = async (more: Json) =>
    (await api.get((await user(more)).at)).body['referredByCodes'];
  const both = { other: other.code, default: owner.code };
  expect(await referredWith({ cookies: cookies(both) })).toStrictEqual([owner.code]);
  expect(
    await referredWith({ cookies: cookies(both, { [owner.code]: 1, [other.code]: soon }) }),
  ).toStrictEqual([other.code]);
  expect(
    await referredWith({ cookies: cookies(both), referredByCodes: [other.code] }),
  ).toStrictEqual([other.code]);
  for (const wrong of [cookies({ default: 7 }), cookies({}), 'x', 7, null, 'bnVsbA'])
    expect(await referredWith({ cookies: wrong })).toStrictEqual([]);
  const accountId = personal();
  const open = `/open/account/${accountId}/user/${accountId}`;
  const created = await api.post(open, { cookies: cookies(both) });
  expect(created.body['referredByCodes']).toStrictEqual([owner.code]);
});

test('tenants and modes have nothing in common', async () => {
  const other = await running.service.createTenant();
  const [id, accountId, code] = [personal(), personal(), personal('sh')];
  for (const client of [api, tenant.test, other.live]) {
    await client.post('/accountsync', { id: accountId, subscription: TRIAL });
    const { body } = await client.post('/user', {
      id,
      accountId,
      referralCode: code,
      paymentProviderId: code,
    });
    const mode = client === tenant.test ? 'test' : 'live';
    expect(body).toStrictEqual(
      expectedUser(
        { tenant: client.tenant, mode, id, accountId, code },
        { paymentProviderId: code },
      ),
    );
  }
  const person = `/account${path(accountId)}/user${path(id)}`;
  const reward = await api.post(`/rewards${person}`, {
    type: 'CREDIT',
    unit: 'CENTS',
    assignedCredit: 5,
  });
  const friend = await user({ referredBy: { code } });
  const referralId = String((await referralOf(api, friend.accountId))['id']);
  const rewardId = String(reward.body['id']);
  const moderation = { actions: [{ referralId, action: 'DENIED' }] };
  const redemption = { amount: 1, unit: 'CENTS' };
  const bulk = { accountId: friend.accountId, ...redemption };
  for (const client of [tenant.test, other.live, other.test]) {
    const asked: readonly (readonly [Promise<Answer>, ReturnType<typeof refusal>])[] = [
      [client.get(friend.at), refusal(404, 'USER_NOT_FOUND', 'RS042')],
      [client.get(`/account/${friend.accountId}`), refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041')],
      [
        client.get(`/account/${friend.accountId}/reward`),
        refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'),
      ],
      [client.get(`/code/${friend.code}`), refusal(404, 'REFERRAL_CODE_NOT_FOUND')],
      [client.get(`/referrals/${referralId}`), refusal(404, 'REFERRAL_NOT_FOUND')],
      [client.get(`/reward/${rewardId}`), refusal(404, 'REWARD_NOT_FOUND')],
      [client.post(`/reward/${rewardId}/cancel`), refusal(404, 'REWARD_NOT_FOUND')],
      [client.post(`/credit/${rewardId}/redeem`, redemption), refusal(404, 'REWARD_NOT_FOUND')],
      [client.post('/referrals/moderate', moderation), refusal(400, 'MODERATION_NOT_POSSIBLE')],
      [client.post('/credit/bulkredeem', bulk), refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041')],
    ];
    for (const [answer, expected] of asked) expect(outcome(await answer)).toStrictEqual(expected);
    expect((await client.get('/referrals')).body['totalCount']).toBe(0);
    for (const list of ['/reward', '/reward/balance'])
      expect((await client.get(`${list}${query({ accountId })}`)).body).toStrictEqual([]);
  }
  expect((await api.get(`/reward/${rewardId}`)).body).toStrictEqual(reward.body);
});

test.each(['101', '9007199254740993'])('a redemption of %s of 100 is refused', async (amount) => {
  const bob = await user();
  const id = await give(api, bob, { assignedCredit: 100 });
  const redemption = `"amount":${amount},"unit":"CENTS"`;
  for (const [to, raw] of [
    [`/credit${path(id)}/redeem`, `{${redemption}}`],
    ['/credit/bulkredeem', `{"accountId":${JSON.stringify(bob.accountId)},${redemption}}`],
  ] as const)
    expectRefusal(await api.post(to, undefined, { raw }), 400, 'INVALD_REWARD_REDEMPTION');
});

test.each(['?userId=a', '?accountId=a&accountId=b', '?accountId=a&rewardTypeFilter=credit'])(
  'GET /reward%s and its balance are refused',
  async (parameters) => {
    for (const to of ['/reward', '/reward/balance'])
      expectRefusal(await api.get(`${to}${parameters}`), 400, 'BAD_REQUEST');
  },
);

const happened = ({ accountId, id: userId }: Person, events: readonly unknown[], over = {}) =>
  api.post(`/open/account${path(accountId)}/user${path(userId)}/events`, {
    userId,
    accountId,
    events,
    ...over,
  });

test('events of a user are answered with their contents and times', async () => {
  const bob = await user();
  const before = Date.now();
  const products = [{ sku: 'shoes', sizes: [1, 2] }];
  const fields = { total: 9.5, products, note: null, gift: true };
  const { status, body } = await happened(bob, [
    { key: 'purchase', fields, id: 'order-1', dateTriggered: 1_600_000_000_123 },
    { key: 'visit', fields: null, id: 7 },
    { key: 'visit' },
  ]);
  const now = expect.any(Number) as number;
  const received = { dateReceived: now, dateProcessed: now };
  const visit = { key: 'visit', fields: {}, dateTriggered: now, ...received };
  const purchase = { key: 'purchase', fields, dateTriggered: 1_600_000_000_123, ...received };
  expect([status, body]).toStrictEqual([
    200,
    {
      userId: bob.id,
      accountId: bob.accountId,
      events: [
        { id: 'order-1', ...purchase },
        { id: '7', ...visit },
        { id: expect.stringMatching(/\S/) as string, ...visit },
      ],
    },
  ]);
  const [, , last] = body['events'] as readonly Json[];
  expect(Number(last?.['dateTriggered'])).toBeGreaterThanOrEqual(before);
  expect(last?.['dateTriggered']).toBe(last?.['dateReceived']);
});

test('events of a user about another user or account than the path, or without a key, are refused', async () => {
  const bob = await user();
  for (const over of [{ userId: 'another' }, { accountId: 'another' }, { events: [{}] }])
    expectRefusal(await happened(bob, [{ key: 'k' }], over), 400, 'BAD_REQUEST');
});

type Friend = Person & { readonly referralId: string };

async function friendOf({ code }: Person): Promise<Friend> {
  const friend = await user({}, { referral: { code } });
  return { ...friend, referralId: String((await referralOf(api, friend.accountId))['id']) };
}

const subscribe = ({ accountId: id }: Person, subscription: Json) =>
  api.post('/accountsync', { id, subscription });

const moderate = (...actions: readonly (readonly [Friend, string])[]) =>
  api.post('/referrals/moderate', {
    actions: actions.map(([{ referralId }, action]) => ({ referralId, action })),
  });

async function listed(filter: Readonly<Record<string, string | number>>) {
  const { body } = await api.get<{ count: number; totalCount: number; referrals: Json[] }>(
    `/referrals${query(filter)}`,
  );
  expect(body.count).toBe(body.referrals.length);
  return { ids: body.referrals.map(({ id }) => String(id)), totalCount: body.totalCount };
}

test('a list of referrals is filtered and in pages', async () => {
  const [ann, eve] = [await user(), await user()];
  const [first, second, third] = [await friendOf(ann), await friendOf(eve), await friendOf(ann)];
  await subscribe(second, PAID);
  await subscribe(third, { status: 'CANCELLED' });
  await moderate([first, 'REFERRED_DENIED'], [second, 'REFERRER_DENIED']);
  const { ids } = await listed({});
  const { dateReferralPaid } = await referralOf(api, second.accountId);
  const { dateReferralEnded, dateReferralStarted } = await referralOf(api, third.accountId);
  const found: readonly (readonly [string, string, readonly Friend[]])[] = [
    ['referringAccountId', ann.accountId, [first, third]],
    ['referringUserId', eve.id, [second]],
    ['referredAccountId', first.accountId, [first]],
    ['referredUserId', third.id, [third]],
    ['referredModerationStatus', 'DENIED', [first]],
    ['referrerModerationStatus', 'DENIED', [second]],
    ['dateReferralStarted', `${Number(dateReferralStarted) + 1},`, []],
    ['dateReferralPaid', String(dateReferralPaid), [second]],
    ['dateReferralEnded', `,${String(dateReferralEnded)}`, [third]],
  ];
  for (const [name, value, friends] of found) {
    const referralIds = friends.map(({ referralId }) => referralId).sort();
    const { ids: shown, totalCount } = await listed({ [name]: value });
    expect([name, shown.sort(), totalCount]).toStrictEqual([name, referralIds, friends.length]);
  }
  const page = { ids: ids.slice(1, 2), totalCount: 3 };
  expect(await listed({ limit: 1, offset: 1 })).toStrictEqual(page);
  for (const wrong of [
    'dateReferralPaid=1,2,3',
    'limit=1001',
    'limit=1&limit=2',
    'referredModerationStatus=approved',
    `referringUserId=${'x'.repeat(256)}`,
  ])
    expectRefusal(await api.get(`/referrals?${wrong}`), 400, 'BAD_REQUEST');
  for (const id of ['x', '0'.repeat(48), 'a%2Fb', '%00'])
    expectRefusal(await api.get(`/referrals/${id}`), 404, 'REFERRAL_NOT_FOUND');
});

test('a moderation is answered as done when the log becomes unreachable right after it', async () => {
  const friend = await friendOf(await user());
  const { log } = running.service.service.core;
  const head = jest.spyOn(log, 'head').mockRejectedValue(new EventLogUnavailable('away'));
  try {
    expectAnswer(await moderate([friend, 'DENIED']), 200, {});
  } finally {
    head.mockRestore();
  }
  expect(await referralOf(api, friend.accountId)).toMatchObject({
    referredModerationStatus: 'DENIED',
  });
});
