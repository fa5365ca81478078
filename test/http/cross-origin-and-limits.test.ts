import { eventually } from '../support/embedded.js';
import { sendRaw } from '../support/raw-http.js';
import {
  errorBody,
  personal,
  RunningService,
  startWithStores,
  type TestTenant,
} from '../support/running-service.js';
import { token, userClient } from '../support/user-tokens.js';

let running: Awaited<ReturnType<typeof startWithStores>>;
let second: RunningService;
beforeAll(async () => {
  running = await startWithStores({ TRUSTED_PROXIES: '127.0.0.0/8' });
  // The read models stand before the second process looks for them.
  await isReady(running.service);
  second = await RunningService.start(running.stores, { TRUSTED_PROXIES: '127.0.0.0/8' });
  await isReady(second);
});
afterAll(async () => {
  await second.stop();
  await running.end();
});

async function isReady(service: RunningService): Promise<void> {
  await eventually(async () => {
    const response = await fetch(`${service.origin}/health/ready`);
    await response.arrayBuffer();
    return response.status === 200;
  });
}

const origin = (): string => running.service.origin;
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
const set = (tenant: TestTenant, changes: object) =>
  running.service.service.core.tenantCommands.execute(tenant.alias, {
    type: 'ChangeOpenRules',
    changes,
    now: Date.now(),
  });

describe('pages of other origins', () => {
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

  test('get answers to preflight requests', async () => {
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
        'content-type, authorization, x-saasquatch-user-token, x-saasquatch-referrer, idempotency-key',
      );
      expect(headers.get('access-control-allow-credentials')).toBeNull();
    }
    const nowhere = await call(`/api/v1/${closed.alias}/open/nowhere`, {
      method: 'OPTIONS',
      headers: page,
    });
    expect(nowhere.status).toBe(404);
    expect(
      (await call('/api/v1/nobody/open/user', { method: 'OPTIONS', headers: page })).status,
    ).toBe(404);
    expect(
      await call(`/api/v1/${closed.alias}/users`, { method: 'OPTIONS', headers: page }),
    ).toMatchObject({ status: 405, allowed: null });
  });

  test('may read every answer to their calls, errors too, and no other', async () => {
    const tenant = await running.service.createTenant();
    const closed = await running.service.createTenant({ openEndpoints: false });
    for (const [status, path, method = 'GET', init = {}] of [
      [404, `/api/v1/${tenant.alias}/open/code/NOBODYHASIT`],
      [403, `/api/v1/${closed.alias}/open/code/NOBODYHASIT`],
      [401, `/api/v1/${tenant.alias}/open/account/a/user/u`],
      [404, '/api/v1/nobody/open/code/x'],
      [404, `/api/v1/${tenant.alias}/open/nowhere`],
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
        'Retry-After, Ledger-Position, Ledger-Stale, Request-Id, Idempotency-Replayed, RateLimit, RateLimit-Policy',
      );
    }
    expect((await call(`/api/v1/${tenant.alias}/users`)).allowed).toBeNull();
  });

  test("are those of the tenant's list", async () => {
    const tenant = await running.service.createTenant();
    await set(tenant, { allowedOrigins: ['https://shop.example'] });
    const path = `/api/v1/${tenant.alias}/open/code/NOBODYHASIT`;
    const mine = await call(path, { headers: page });
    expect([mine.allowed, mine.headers.get('vary')]).toStrictEqual([
      'https://shop.example',
      'Origin',
    ]);
    expect((await call(path, { headers: { origin: 'https://evil.example' } })).allowed).toBeNull();
    expect((await call(path)).allowed).toBeNull();
    expect((await call(path, { method: 'OPTIONS', headers: page })).allowed).toBe(
      'https://shop.example',
    );
  });
});

describe('calls of clients', () => {
  const code = '/open/code/NOBODYHASIT';

  test('are counted by all processes together, per address and tenant; then 429', async () => {
    const tenant = await running.service.createTenant();
    await set(tenant, { rateLimits: { code: 3 } });
    const nobody = tenant.live.as(undefined);
    const elsewhere = second.client(tenant.alias, undefined);
    const first = await nobody.get(code, from('192.0.2.1'));
    expect([first.status, first.headers.get('ratelimit-policy')]).toStrictEqual([
      404,
      '"code";q=3;w=3600',
    ]);
    expect(first.headers.get('ratelimit')).toMatch(/^"code";r=2;t=3(600|5\d\d)$/);
    const others = await Promise.all(
      [1, 2, 3, 4].map((n) => (n % 2 ? nobody : elsewhere).get(code, from('192.0.2.1'))),
    );
    expect(others.map(({ status }) => status).sort()).toStrictEqual([404, 404, 429, 429]);

    const over = await elsewhere.get(code, from('8.8.8.8, ::ffff:192.0.2.1'));
    expect([over.status, over.body]).toStrictEqual([429, errorBody(429, 'RATE_LIMITED', 'RS033')]);
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(3500);
    expect(over.headers.get('access-control-allow-origin')).toBe('*');
    // Other addresses, other calls, keys, the test mode and other tenants are counted apart or not
    // at all.
    expect((await nobody.get(code, from('192.0.2.2'))).status).toBe(404);
    expect(
      (await nobody.get('/open/user?referralCode=NOBODYHASIT', from('192.0.2.1'))).status,
    ).toBe(404);
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

  test('that update users are not counted, those that create users are', async () => {
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
    expect((await visitor.put('/open/user/cookie_user', {}, from('192.0.2.3'))).status).toBe(429);
    expect(
      (await visitor.put('/open/user/cookie_user', { cookieId: 'c' }, from('192.0.2.4'))).status,
    ).toBe(200);
    expect(
      (await visitor.put('/open/user/cookie_user', { cookieId: 'c' }, from('192.0.2.4'))).status,
    ).toBe(200);
  });

  test('begin a new window when the old one is over, and are forgotten then', async () => {
    const tenant = await running.service.createTenant();
    await set(tenant, { rateLimits: { code: 1 } });
    const nobody = tenant.live.as(undefined);
    const statuses = async () => [
      (await nobody.get(code, from('192.0.2.9'))).status,
      (await nobody.get(code, from('192.0.2.9'))).status,
    ];
    expect(await statuses()).toStrictEqual([404, 429]);
    const { pool } = running.service.service.core;
    await pool.query(
      `update ledger.call_counts set began = began - interval '1 hour' where tenant = $1`,
      [tenant.alias],
    );
    expect(await statuses()).toStrictEqual([404, 429]);
    const { rows } = await pool.query<{ client: string }>(
      'select client from ledger.call_counts where tenant = $1',
      [tenant.alias],
    );
    expect(rows).toStrictEqual([{ client: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown }]);
  });
});

test('a token of three megabytes is refused like any other bad one', async () => {
  const tenant = await running.service.createTenant();
  const head = `GET /api/v1/${tenant.alias}/open/account/a/user/u HTTP/1.1\r\nHost: x\r\n`;
  for (const field of ['X-SaaSquatch-User-Token: ', 'Authorization: Bearer ']) {
    const [answer] = await sendRaw(Number(new URL(origin()).port), [
      `${head}${field}`,
      'x'.repeat(3 * 1024 * 1024),
      '\r\n\r\n',
    ]);
    expect([answer?.status, answer?.json]).toStrictEqual([
      401,
      errorBody(401, 'UNAUTHORIZED', 'RS032'),
    ]);
    expect(answer?.headers['www-authenticate']).toMatch(/^Basic /);
  }
});
