import { isDeepStrictEqual } from 'node:util';
import type { ApiClient, Json } from '../support/api-client.js';
import {
  personal,
  useSharedService,
  expectRefusal,
  useTenant,
} from '../support/running-service.js';
import { eventually } from '../support/embedded.js';
import { token, userClient } from '../support/user-tokens.js';

const running = useSharedService();
const tenant = useTenant(running);
const ids = () => ({ accountId: personal('acc'), userId: personal('user') });
const at = ({ accountId, userId }: { accountId: string; userId: string }): string =>
  `/open/account/${encodeURIComponent(accountId)}/user/${encodeURIComponent(userId)}`;

test('PUT with the key creates account and user, POST only new users', async () => {
  const who = ids();
  const made = await tenant.live.put(at(who), {
    id: who.userId,
    email: 'Ann@Example.com',
    customFields: { plan: 'x' },
    segments: ['a', 'b', '~a'],
  });
  expect(made.status).toBe(200);
  expect(made.body).toMatchObject({
    id: who.userId,
    accountId: who.accountId,
    email: 'Ann@Example.com',
    customFields: { plan: 'x' },
    segments: ['b'],
    firstSeenIP: null,
    lastSeenIP: null,
    referralSource: null,
  });
  expect((await tenant.live.get(`/account/${who.accountId}`)).body).toMatchObject({
    subscription: { status: 'TRIAL' },
    currency: 'USD',
  });
  expect((await tenant.live.get(at(who))).body).toStrictEqual(made.body);

  const again = await tenant.live.post(at(who), {});
  expectRefusal(again, 400, 'USER_EXISTS', 'RS048');
  expect(again.body['message']).toBe('User already exists');
  expect((await tenant.live.post(at(ids()))).status).toBe(201);
  expect((await tenant.test.get(at(who))).status).toBe(404);
});

test('a write with the key refuses another user in the body than in the path', async () => {
  const who = ids();
  for (const body of [{ id: 'other' }, { accountId: 'other' }]) {
    expectRefusal(await tenant.live.put(at(who), body), 400, 'BAD_REQUEST');
  }
  expect((await tenant.live.get(at(who))).status).toBe(404);
});

test('a user is written with the fields of the token', async () => {
  const who = ids();
  const client = userClient(tenant, who.accountId, who.userId, {
    email: 'ann@example.com',
    firstName: 'Ann',
    customFields: { a: 1, b: 2 },
  });
  const made = await client.put(at(who), { email: 'ann@example.com', customFields: { a: 1 } });
  expect(made.status).toBe(200);
  expect(made.body).toMatchObject({
    email: 'ann@example.com',
    firstName: null,
    customFields: { a: 1 },
  });

  expectRefusal(await client.put(at(who), { lastName: 'Eve' }), 403, 'FORBIDDEN');
  // What is wrong with a body comes before what the token may write.
  expect((await client.put(at(who), { email: 'eve', lastName: 'Eve' })).status).toBe(400);
});

test('claims that no body could have allow nothing', async () => {
  const who = ids();
  const claims = { segments: 'vip,gold', customFields: 'x', email: 'a@b.cc' };
  const client = userClient(tenant, who.accountId, who.userId, claims);
  expect((await client.put(at(who), { segments: ['vip'] })).status).toBe(403);
  expect((await client.put(at(who), { email: 'a@b.cc' })).status).toBe(200);
});

test("the public view of a code's owner is as wide as the tenant says, for everyone", async () => {
  const narrow = await running.service.createTenant();
  const see = (publicUser: 'full' | 'minimal') =>
    running.service.change(narrow.alias, { type: 'ChangeOpenRules', changes: { publicUser } });
  const who = ids();
  const person = { firstName: 'Ann', lastName: personal('last'), email: 'ann@example.com' };
  const { body } = await narrow.live.put(at(who), person);
  const code = String(body['referralCode']);
  const views = async () =>
    Promise.all(
      [undefined, `:${narrow.liveKey}`].map(
        async (credentials) =>
          (await narrow.live.as(credentials).get(`/open/user?referralCode=${code}`)).body,
      ),
    );
  const full = {
    id: who.userId,
    accountId: who.accountId,
    referralCode: code,
    imageUrl: '',
    lastInitial: person.lastName[0],
    ...person,
  };
  const minimal = { ...full, email: null, lastName: null };
  expect(await views()).toStrictEqual([full, full]);
  await see('minimal');
  // Another process reads the change once it is announced to it.
  await eventually(async () => isDeepStrictEqual(await views(), [minimal, minimal]));
  expect((await narrow.live.get(`/user?referralCode=${code}`)).body).toMatchObject(person);
  await see('full');
  await eventually(async () => isDeepStrictEqual(await views(), [full, full]));
});

test('the address and client of its use are kept', async () => {
  const who = ids();
  const client = userClient(tenant, who.accountId, who.userId, { firstName: 'Ann' });
  const from = (ip: string, agent: string) => ({
    headers: {
      'x-forwarded-for': `9.9.9.9, ${ip}`,
      'user-agent': agent,
      'x-saasquatch-referrer': 'https://blog.example/post?secret=1',
    },
  });
  const first = await client.put(at(who), {}, from('192.0.2.7', 'One'));
  expect(first.body).toMatchObject({
    firstSeenIP: '192.0.2.7',
    lastSeenIP: '192.0.2.7',
    referralSource: 'blog.example',
  });
  const second = await client.put(at(who), { firstName: 'Ann' }, from('2001:db8::7', 'Two'));
  expect(second.body).toMatchObject({ firstSeenIP: '192.0.2.7', lastSeenIP: '2001:db8::7' });
  expect((await tenant.live.put(at(who), {}, from('192.0.2.9', 'Server'))).body).toMatchObject({
    lastSeenIP: '2001:db8::7',
  });
});

test('the other party of a referral is shown without address and location; the key shows all', async () => {
  const [referrer, friend] = [ids(), ids()];
  const described = { customFields: { tier: 'gold' }, segments: ['vip'] };
  const whole = (one: typeof referrer, name: string) => ({
    ...described,
    paymentProviderId: personal('cus'),
    email: `${one.userId}@example.com`,
    firstName: name,
  });
  const seen = { headers: { 'x-forwarded-for': '192.0.2.7' } };
  const written = async (one: typeof referrer, body: object) =>
    expect(
      (await userClient(tenant, one.accountId, one.userId, body).put(at(one), body, seen)).status,
    ).toBe(200);
  await written(referrer, whole(referrer, 'Ann'));
  const { body } = await tenant.live.get<{ referralCode: string }>(at(referrer));
  await written(friend, { ...whole(friend, 'Bob'), referredByCodes: [body.referralCode] });

  const query = `/open/referrals?referredAccountId=${friend.accountId}&referredUserId=${friend.userId}`;
  const asking = async (client: ApiClient) =>
    (await client.get<{ referrals: { referrerUser: Json; referredUser: Json }[] }>(query)).body
      .referrals[0]!;
  const byKey = await asking(tenant.live);
  const byFriend = await asking(userClient(tenant, friend.accountId, friend.userId));
  expect(byKey.referrerUser).toMatchObject({
    email: `${referrer.userId}@example.com`,
    firstSeenIP: '192.0.2.7',
    segments: ['vip'],
  });
  const hidden = {
    email: null,
    emailHash: null,
    firstSeenIP: null,
    lastSeenIP: null,
    cookieId: null,
    paymentProviderId: null,
  };
  expect(byFriend.referrerUser).toStrictEqual({
    ...byKey.referrerUser,
    ...hidden,
    customFields: {},
    segments: [],
  });
  expect(byFriend.referredUser).toStrictEqual(byKey.referredUser);
});

test('a tank code of a referral is shown to its owner and to the key, not to the other party', async () => {
  const tank = { type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 5, when: 'STARTED' } as const;
  await running.service.applyProgram(tenant.alias, {
    id: 'gifts',
    default: false,
    referredReward: { ...tank, fuelTankCodes: ['OF-FRIEND'] },
    referrerReward: { ...tank, fuelTankCodes: ['OF-REFERRER'] },
  });
  const [referrer, friend] = [ids(), ids()];
  const made = await tenant.live.put<{ referralCodes: Json }>(at(referrer), {});
  await tenant.live.put(at(friend), { referredByCodes: [made.body.referralCodes['gifts']] });
  const query = `/open/referrals?referredAccountId=${friend.accountId}&referredUserId=${friend.userId}`;
  const codesFor = async (client: ApiClient) => {
    const { body } = await client.get<{ referrals: Record<string, Json>[] }>(query);
    return [body.referrals[0]?.['referredReward'], body.referrals[0]?.['referrerReward']].map(
      (reward) => reward?.['fuelTankCode'],
    );
  };
  expect(await codesFor(tenant.live)).toEqual(['OF-FRIEND', 'OF-REFERRER']);
  const own = userClient(tenant, friend.accountId, friend.userId);
  expect(await codesFor(own)).toEqual(['OF-FRIEND', null]);
});

test('a list of referrals needs both ids of one side', async () => {
  const { accountId, userId } = ids();
  for (const client of [tenant.live, userClient(tenant, accountId, userId)])
    expect((await client.get(`/open/referrals?referredAccountId=${accountId}`)).status).toBe(400);
});

const to = '/open/user/cookie_user';

test('a cookie user gets a generated id, and is found again by the cookie', async () => {
  const anonymous = tenant.live.as({
    token: token(tenant.liveSecret, { authentication: 'unauthenticated' }),
  });
  const made = await anonymous.put<{ id: string; accountId: string; cookieId: string }>(to, {});
  expect(made.status).toBe(200);
  for (const id of [made.body.id, made.body.accountId, made.body.cookieId])
    expect(id).toMatch(/\S{8}/);
  const again = await anonymous.put(to, { cookieId: made.body.cookieId });
  expect(again.body).toMatchObject({
    id: made.body.id,
    accountId: made.body.accountId,
    cookieId: made.body.cookieId,
  });
  expect((await anonymous.put<{ id: string }>(to)).body.id).not.toBe(made.body.id);
  expect(
    (await tenant.live.put(to, { cookieId: made.body.cookieId, firstName: 'Ann' })).body,
  ).toMatchObject({
    id: made.body.id,
    firstName: 'Ann',
  });
  expect((await anonymous.put(to, { cookieId: made.body.cookieId, firstName: 'Eve' })).status).toBe(
    403,
  );
  expect((await userClient(tenant, 'a', 'u').put(to, {})).status).toBe(200);
  expect(
    (await anonymous.get(at({ accountId: made.body.accountId, userId: made.body.id }))).status,
  ).toBe(403);
  expect((await tenant.live.as(undefined).put(to, {})).status).toBe(401);
});

test('a code and its owner are unknown to visitors while the owner is blocked', async () => {
  const who = ids();
  const { body } = await tenant.live.put<{ referralCode: string }>(at(who), {});
  const code = body.referralCode;
  await tenant.live.post(`/account/${who.accountId}/user/${who.userId}/block`);
  const visitor = tenant.live.as(undefined);
  for (const route of [`/open/code/${code}`, `/open/user?referralCode=${code}`])
    expect((await visitor.get(route)).status).toBe(404);
});

test('a share link leads to the landing page', async () => {
  const landingPage = 'https://shop.example/hello?x=1';
  const shop = await running.service.createTenant({ program: { id: 'default', landingPage } });
  const { body } = await shop.live.put<{
    referralCode: string;
    shareLinks: { facebookShareLink: string };
  }>(at(ids()), {});
  const link = body.shareLinks.facebookShareLink;
  const here = link.replace('https://share.example', running.service.origin);
  const { status, headers } = await fetch(here, { redirect: 'manual' });
  expect([status, headers.get('location')]).toEqual([
    302,
    `${landingPage}&rsCode=${body.referralCode}&rsShareMedium=FACEBOOK&rsEngagementMedium=UNKNOWN`,
  ]);
});
