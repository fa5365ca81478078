import { eventually } from '../support/embedded.js';
import { sendRaw } from '../support/raw-http.js';
import {
  errorBody,
  personal,
  RunningService,
  useSharedService,
  type TestTenant,
} from '../support/running-service.js';
import { token, userClient } from '../support/user-tokens.js';
import { JOBS } from '../../src/work-queue/jobs.js';
import { wakeWork } from '../../src/work-queue/work-items.js';
import { openOnce } from '../support/opened.js';

const running = useSharedService();
const second = openOnce(() =>
  RunningService.start(running.stores, { TRUSTED_PROXIES: '127.0.0.0/8' }),
);

const origin = (): string => running.service.origin;
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
const set = (tenant: TestTenant, changes: object) =>
  running.service.change(tenant.alias, { type: 'ChangeOpenRules', changes });

const page = { origin: 'https://shop.example' };
const call = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(`${origin()}${path}`, init);
  await response.arrayBuffer();
  return {
    status: response.status,
    allowed: response.headers.get('access-control-allow-origin'),
    headers: response.headers,
  };
};

test('pages of other origins get answers to preflight requests', async () => {
  const closed = await running.service.createTenant({ openEndpoints: false });
  for (const [path, methods] of [
    ['/open/account/a/user/u', ['GET', 'POST', 'PUT']],
    ['/open/user/cookie_user', ['PUT']],
  ] as const) {
    const asked = {
      ...page,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'x-saasquatch-user-token',
    };
    const { status, allowed, headers } = await call(`/api/v1/${closed.alias}${path}`, {
      method: 'OPTIONS',
      headers: asked,
    });
    expect([status, allowed]).toStrictEqual([204, '*']);
    expect(headers.get('access-control-allow-methods')?.split(', ')).toStrictEqual(
      expect.arrayContaining([...methods]),
    );
    expect(headers.get('access-control-allow-headers')).toBe(
      'content-type, authorization, x-saasquatch-user-token, x-saasquatch-referrer, idempotency-key, ledger-position-at-least',
    );
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  }
  const nowhere = await call(`/api/v1/${closed.alias}/open/nowhere`, {
    method: 'OPTIONS',
    headers: page,
  });
  expect(nowhere.status).toBe(404);
  expect(
    (await call('/api/v1/missing/open/user', { method: 'OPTIONS', headers: page })).status,
  ).toBe(404);
  expect(
    await call(`/api/v1/${closed.alias}/users`, { method: 'OPTIONS', headers: page }),
  ).toMatchObject({ status: 405, allowed: null });
});

test('pages of other origins may read every answer to their calls, errors too, and no other', async () => {
  const tenant = await running.service.createTenant();
  const closed = await running.service.createTenant({ openEndpoints: false });
  for (const [status, path, method = 'GET', init = {}] of [
    [404, `/api/v1/${tenant.alias}/open/code/NOBODYHASIT`],
    [403, `/api/v1/${closed.alias}/open/code/NOBODYHASIT`],
    [401, `/api/v1/${tenant.alias}/open/account/a/user/u`],
    [405, `/api/v1/${tenant.alias}/open/user`, 'DELETE'],
    [400, `/api/v1/${tenant.alias}/open/code/%zz`],
    [
      415,
      `/api/v1/${tenant.alias}/open/user/cookie_user`,
      'PUT',
      { body: 'x', headers: { authorization: `Basic ${btoa(`:${tenant.liveKey}`)}` } },
    ],
  ] as const) {
    const answer = await call(path, { method, ...init });
    expect([path, answer.status, answer.allowed]).toStrictEqual([path, status, '*']);
    expect(answer.headers.get('access-control-expose-headers')).toBe(
      'Retry-After, Ledger-Position, Ledger-Stale, Request-Id, Idempotency-Replayed, RateLimit, RateLimit-Policy, Test-Clock',
    );
  }
  expect((await call(`/api/v1/${tenant.alias}/users`)).allowed).toBeNull();
});

test("pages of other origins are those of the tenant's list", async () => {
  const tenant = await running.service.createTenant();
  await set(tenant, { allowedOrigins: ['https://shop.example'] });
  const path = `/api/v1/${tenant.alias}/open/code/NOBODYHASIT`;
  const mine = await call(path, { headers: page });
  expect([mine.allowed, mine.headers.get('vary')]).toStrictEqual([
    'https://shop.example',
    'Origin',
  ]);
  const evil = { headers: { origin: 'https://evil.example' } };
  expect((await call(path, evil)).allowed).toBeNull();
  const initial = `%${tenant.alias.charCodeAt(0).toString(16)}`;
  const encoded = path.replace(tenant.alias, `${initial}${tenant.alias.slice(1)}`);
  expect([(await call(encoded, evil)).allowed, (await call(encoded, evil)).status]).toStrictEqual([
    null,
    (await call(path)).status,
  ]);
  expect((await call('/api/v1/%ff/open/user', evil)).status).toBe(400);
  expect((await call(path)).allowed).toBeNull();
  expect((await call(path, { method: 'OPTIONS', headers: page })).allowed).toBe(
    'https://shop.example',
  );
});

const code = '/open/code/NOBODYHASIT';

test('calls of clients are counted by all processes together, per address and tenant; then 429', async () => {
  const tenant = await running.service.createTenant();
  await set(tenant, { rateLimits: { code: 3 } });
  const visitor = tenant.live.as(undefined);
  const elsewhere = second.client(tenant.alias, undefined);
  const first = await visitor.get(code, from('192.0.2.1'));
  expect([first.status, first.headers.get('ratelimit-policy')]).toStrictEqual([
    404,
    '"code";q=3;w=3600',
  ]);
  expect(first.headers.get('ratelimit')).toMatch(/^"code";r=2;t=3(600|5\d\d)$/);
  const others = await Promise.all(
    [1, 2, 3, 4].map((n) => (n % 2 ? visitor : elsewhere).get(code, from('192.0.2.1'))),
  );
  expect(others.map(({ status }) => status).sort()).toStrictEqual([404, 404, 429, 429]);

  const over = await elsewhere.get(code, from('8.8.8.8, ::ffff:192.0.2.1'));
  expect([over.status, over.body]).toStrictEqual([429, errorBody(429, 'RATE_LIMITED', 'RS033')]);
  expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(3500);
  expect(over.headers.get('access-control-allow-origin')).toBe('*');
  // Of IPv6 the /64 counts, in which a client has every address.
  const of = async (address: string) => (await visitor.get(code, from(address))).status;
  expect([
    await of('2001:db8::1'),
    await of('2001:db8:0:0:9::2'),
    await of('2001:db8:0:0:ffff::3'),
    await of('2001:db8::4'),
    await of('2001:db8:0:1::4'),
  ]).toStrictEqual([404, 404, 404, 429, 404]);
  // Other addresses, other calls, keys, the test mode and other tenants are counted apart or not
  // at all.
  expect((await visitor.get(code, from('192.0.2.2'))).status).toBe(404);
  expect((await visitor.get('/open/user?referralCode=NOBODYHASIT', from('192.0.2.1'))).status).toBe(
    404,
  );
  expect((await tenant.live.get(code, from('192.0.2.1'))).headers.get('ratelimit')).toBeNull();
  const trying = tenant.live.as({
    token: token(tenant.testSecret, { user: { id: 'u', accountId: 'a' } }),
  });
  expect((await trying.get(code, from('192.0.2.1'))).status).toBe(404);
  const other = await running.service.createTenant();
  expect(
    (await other.live.as(undefined).get(code, from('192.0.2.1'))).headers.get('ratelimit-policy'),
  ).toBe('"code";q=100;w=3600');
});

test('calls of clients that post events are counted per user, in the test mode too, and not with a key', async () => {
  const tenant = await running.service.createTenant();
  await set(tenant, { rateLimits: { 'post-events': 2 } });
  const account = personal('acc');
  const post = (user: string, api = userClient(tenant, account, user), address = '1') =>
    api.post(
      `/open/account/${account}/user/${user}/events`,
      { accountId: account, userId: user, events: [{ key: 'visit' }] },
      from(`192.0.2.${address}`),
    );
  for (const user of ['one', 'two'])
    for (const api of [tenant.live, tenant.test])
      await api.put(`/open/account/${account}/user/${user}`, {});
  const first = await post('one');
  expect(first.headers.get('ratelimit-policy')).toBe('"post-events";q=2;w=3600');
  expect((await post('one', undefined, '2')).status).toBe(200);
  const before = await running.service.eventsOf(tenant);
  expect((await post('one', undefined, '3')).status).toBe(429);
  expect(await running.service.eventsOf(tenant)).toBe(before);
  expect((await post('two')).status).toBe(200);
  const key = await post('one', tenant.live);
  expect([key.status, key.headers.get('ratelimit')]).toStrictEqual([200, null]);
  const trying = tenant.live.as({
    token: token(tenant.testSecret, { user: { id: 'one', accountId: account } }),
  });
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await post('one', trying)).status);
  expect(statuses).toStrictEqual([200, 200, 429]);
});

test('calls of clients that update users are not counted, those that create users are', async () => {
  const tenant = await running.service.createTenant();
  await set(tenant, { rateLimits: { 'create-user': 2 } });
  const account = personal('acc');
  const put = async (user: string, body: object = {}) => {
    const client = userClient(tenant, account, user, { firstName: 'Ann' });
    return (await client.put(`/open/account/${account}/user/${user}`, body, from('192.0.2.3')))
      .status;
  };
  expect([
    await put('one'),
    await put('one', { firstName: 'Ann' }),
    await put('two'),
    await put('three'),
    await put('two'),
  ]).toStrictEqual([200, 200, 200, 429, 200]);
  const visitor = tenant.live.as({ token: token(tenant.liveSecret, { allowAnonymous: true }) });
  const visit = async (address: string) =>
    (await visitor.put('/open/user/cookie_user', { cookieId: 'c' }, from(address))).status;
  expect([
    await visit('192.0.2.3'),
    await visit('192.0.2.4'),
    await visit('192.0.2.4'),
    await visit('192.0.2.4'),
  ]).toEqual([429, 200, 200, 200]);
});

test('calls of clients are forgotten by the nightly purge once every window is over', async () => {
  const tenant = await running.service.createTenant();
  const { pool } = running.service.service.core;
  for (const [address, age] of [
    ['192.0.2.10', '24 hours'],
    ['192.0.2.11', '23 hours'],
  ] as const) {
    expect((await tenant.live.as(undefined).get(code, from(address))).status).toBe(404);
    // The newest row of the tenant becomes so old.
    await pool.query(
      `update ledger.call_counts set began = began - $1::interval
          where tenant = $2 and began > now() - interval '1 minute'`,
      [age, tenant.alias],
    );
  }
  const left = async () =>
    (await pool.query('select from ledger.call_counts where tenant = $1', [tenant.alias])).rowCount;
  expect(await left()).toBe(2);
  await wakeWork(pool, { kind: JOBS, id: 'purge-idempotency-keys' });
  await eventually(async () => (await left()) === 1);
});

test('calls of clients that follow short links are counted per address, unknown codes too, and visits are recorded as sums', async () => {
  const tenant = await running.service.createTenant();
  await set(tenant, { rateLimits: { 'short-link': 4 } });
  const { body } = await tenant.live.put<{ referralCode: string }>('/open/account/a/user/u', {});
  const before = await running.service.eventsOf(tenant);
  const follow = async (path: string, address: string, init: RequestInit = {}) => {
    const response = await fetch(`${second.origin}/s/${tenant.alias}/${path}`, {
      redirect: 'manual',
      ...init,
      ...from(address),
    });
    await response.arrayBuffer();
    return [response.status, response.headers.get('ratelimit-policy')];
  };
  const policy = '"short-link";q=4;w=60';
  const { referralCode: code } = body;
  expect([
    await follow(code, '192.0.2.1'),
    await follow(`${code.toLowerCase()}?m=EMAIL&e=MOBILE`, '192.0.2.1'),
    await follow(code, '192.0.2.1', { method: 'HEAD' }),
    await follow('NOBODYHASIT', '192.0.2.1'),
    await follow(code, '192.0.2.1'),
    await follow('test/NOBODYHASIT', '192.0.2.1'),
    await follow(code, '192.0.2.2'),
  ]).toStrictEqual([
    [302, policy],
    [302, policy],
    [302, policy],
    [404, policy],
    [429, policy],
    [429, policy],
    [302, policy],
  ]);
  expect(await running.service.eventsOf(tenant)).toBe(before);
  // What is left of the interval is recorded at the end.
  await second.stop();
  const { names, log, codec } = running.service.service.core;
  const scope = { tenant: tenant.alias, mode: 'live' as const };
  const day = new Date().toISOString().slice(0, 10);
  const counts: unknown[] = [];
  for await (const event of log.readStream(names.shareLinkStream(scope, code, day)))
    counts.push(...(await codec.decodeAll([event])).map(({ event: { type, ...own } }) => own));
  expect(counts).toMatchObject([{ visits: [{ count: 2 }, { count: 1 }] }]);
  expect(await running.service.eventsOf(tenant)).toBe(before + 1);
});

test('a token of three megabytes is refused like any other bad one', async () => {
  const tenant = await running.service.createTenant();
  const head = `GET /api/v1/${tenant.alias}/open/account/a/user/u HTTP/1.1\r\nHost: x\r\n`;
  const parts = [`${head}X-SaaSquatch-User-Token: `, 'x'.repeat(3 * 1024 * 1024), '\r\n\r\n'];
  const [answer] = await sendRaw(Number(new URL(origin()).port), parts);
  expect([answer?.status, answer?.json]).toStrictEqual([
    401,
    errorBody(401, 'UNAUTHORIZED', 'RS032'),
  ]);
});
