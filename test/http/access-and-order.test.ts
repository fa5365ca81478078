import { personal as about } from '../../src/domain/personal.js';
import { type Answer, type ApiClient } from '../support/api-client.js';
import { knownRoutes } from '../support/known-routes.js';
import {
  errorBody,
  outcome,
  refusal,
  shareService,
  type TestTenant,
} from '../support/running-service.js';
import { token, userClient } from '../support/user-tokens.js';

let running: Awaited<ReturnType<typeof shareService>>;
let tenant: TestTenant;
let closed: TestTenant;
let payments: TestTenant;
beforeAll(async () => {
  running = await shareService();
  tenant = await running.service.createTenant();
  closed = await running.service.createTenant({ openEndpoints: false });
  payments = await running.service.createTenant({ programType: 'PAYMENT_PROVIDER' });
});
afterAll(() => running.end());

const APPLY = '/open/code/c/account/a/user/u';
const THEME = '/theme/variables/instance';
/** For callers without credentials, as long as the open endpoints are on. */
const FOR_ALL = ['/open/user', '/open/code/c'];
/** Of each kind of route; all of them: `route-credentials.test.ts`. */
const ROUTES: readonly (readonly [string, string])[] = [
  ['POST', '/accountsync'],
  ['GET', '/account/a'],
  ['POST', '/reward/x/cancel'],
  ['PATCH', THEME],
  ['POST', APPLY],
  ['PUT', '/open/account/n/user/n'],
  ['DELETE', '/open/account/a'],
  ['GET', '/open/code/c'],
];

const TOO_LARGE = `"${'x'.repeat(1024 * 1024)}"`;
const TEXT = { 'content-type': 'text/plain' };

describe('the description of the interface', () => {
  const ITSELF = [
    '/',
    '/openapi.json',
    '/docs',
    '/docs/start.js',
    '/docs/errors',
    '/docs/reference.css',
    '/docs/viewer.js',
  ];

  function described(): readonly string[] {
    return Object.entries(running.service.description.paths).flatMap(([template, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${template}`),
    );
  }

  test('has every route of the router, and no other', () => {
    const known = knownRoutes(running.service).filter(
      (route) => !ITSELF.includes(route.split(' ')[1] ?? ''),
    );
    expect(known.length).toBeGreaterThan(20);
    expect([...described()].sort()).toStrictEqual([...known].sort());
  });

  test('states for each route who may call it, as it is enforced', async () => {
    for (const route of described()) {
      const [method = '', template = ''] = route.split(' ');
      const operation: unknown = Reflect.get(
        running.service.description.paths[template] ?? {},
        method.toLowerCase(),
      );
      const isOfTenant = template.startsWith('/api/v1/{tenantAlias}/');
      const isAnybodys = FOR_ALL.includes(
        template.replace('/api/v1/{tenantAlias}', '').replace(/\{\w+\}/g, 'c'),
      );
      const security = [
        ...(isAnybodys ? [{}] : []),

        { apiKey: [] },
        ...(template.includes('/open/') && method !== 'DELETE'
          ? [{ userToken: [] }, { bearerToken: [] }]
          : []),
      ];
      const isOfOperators = template.startsWith('/operations');
      expect([route, operation]).toStrictEqual([
        route,
        isOfTenant || isOfOperators
          ? expect.objectContaining({ security: isOfOperators ? [{ operatorKey: [] }] : security })
          : expect.objectContaining({ security: [] }),
      ]);
      const response = await fetch(
        `${running.service.origin}${template.replace('{tenantAlias}', tenant.alias).replace(/\{\w+\}/g, 'x')}`,
        {
          method,
        },
      );
      await response.arrayBuffer();
      const status = isOfOperators
        ? 401
        : isOfTenant
          ? isAnybodys
            ? expect.any(Number)
            : 401
          : /^\/(s|r|integrations|mail)\//.test(template)
            ? 404
            : 200;
      expect([route, response.status]).toStrictEqual([route, status]);
    }
  });

  test('names the checks that every route shares', () => {
    for (const [template, item] of Object.entries(running.service.description.paths)) {
      if (!template.startsWith('/api/v1/{tenantAlias}/')) continue;
      for (const [method, operation] of Object.entries(
        item as Record<string, { responses: Record<string, unknown> }>,
      )) {
        const statuses = Object.keys(operation.responses);
        const expected =
          method === 'get'
            ? ['400', '401', '404', '500', '503']
            : ['400', '401', '404', '409', '413', '415', '422', '500', '503'];
        expect([
          template,
          method,
          expected.filter((status) => !statuses.includes(status)),
        ]).toStrictEqual([template, method, []]);
      }
    }
  });
});

describe.each(ROUTES)('%s %s', (method, to) => {
  const call = (
    client: ApiClient,
    options: { headers?: Record<string, string>; raw?: string } = {},
  ) => {
    // The client of this platform sends no body with GET.
    const { raw, ...rest } = options;
    return client.call(
      method,
      to,
      undefined,
      method === 'GET' || raw === undefined ? rest : { ...rest, raw },
    );
  };
  const worst = { headers: TEXT, raw: TOO_LARGE };
  const challenge = ({ headers }: Answer<unknown>) => headers.get('www-authenticate');

  test('is checked in order: method, tenant, credentials, switches, type, size, body', async () => {
    const nobody = running.service.client('nobody', undefined);
    const wrong = to === THEME ? 'POST' : 'PATCH';
    const wrongMethod = await nobody.call(wrong, to, undefined, worst);
    expect(outcome(wrongMethod)).toStrictEqual(refusal(405, 'METHOD_NOT_ALLOWED'));
    expect(wrongMethod.headers.get('allow')?.split(', ')).toContain(method);
    expect(outcome(await call(nobody, worst))).toStrictEqual(
      refusal(404, 'TENANT_NOT_FOUND', 'RS015'),
    );

    const isAnybodys = FOR_ALL.includes(to);
    for (const client of isAnybodys
      ? []
      : [tenant.live, closed.live, payments.live].map((known) => known.as(undefined))) {
      const missing = await call(client, worst);
      expect([outcome(missing), challenge(missing)]).toStrictEqual([
        refusal(401, 'UNAUTHORIZED', 'RS045'),
        expect.stringMatching(/^Basic /),
      ]);
    }
    const foreign = await call(tenant.live.as(`:${closed.liveKey}`), worst);
    expect([outcome(foreign), challenge(foreign)]).toStrictEqual([
      refusal(401, 'UNAUTHORIZED'),
      expect.stringMatching(/^Basic /),
    ]);
    const isOpen = to.startsWith('/open/') && method !== 'DELETE';
    const refusedToken = refusal(401, 'UNAUTHORIZED', isOpen ? 'RS032' : 'RS045');
    const token = await call(tenant.live.as(undefined), {
      ...worst,
      headers: { ...TEXT, authorization: 'Bearer x.y.z' },
    });
    expect(outcome(token)).toStrictEqual(refusedToken);
    expect(
      outcome(
        await call(tenant.live, {
          ...worst,
          headers: { ...TEXT, 'x-saasquatch-user-token': 'x.y.z' },
        }),
      ),
    ).toStrictEqual(refusedToken);

    if (to.startsWith('/open/'))
      expect(outcome(await call(closed.live, worst))).toStrictEqual(
        refusal(403, 'OPEN_ENDPOINTS_DISABLED'),
      );
    const apiOnly = to === '/accountsync' || to === '/account/a';
    const onPayments = await call(payments.live, worst);
    if (apiOnly)
      expect(outcome(onPayments)).toStrictEqual(refusal(403, 'API_REQUEST_NOT_SUPPORTED'));
    else expect(onPayments.body['apiErrorCode']).not.toBe('API_REQUEST_NOT_SUPPORTED');

    if (method === 'GET') return;
    expect(outcome(await call(tenant.live, worst))).toStrictEqual(
      refusal(415, 'UNSUPPORTED_MEDIA_TYPE', 'RS046'),
    );
    expect(outcome(await call(tenant.live, { raw: TOO_LARGE }))).toStrictEqual(
      refusal(413, 'PAYLOAD_TOO_LARGE'),
    );
    expect(outcome(await call(tenant.live, { raw: '{' }))).toStrictEqual(
      refusal(400, 'BAD_REQUEST'),
    );
  });
});

describe('keys', () => {
  test('that were replaced are valid until their time is over', async () => {
    const made = await running.service.createTenant();
    const { tenantCommands } = running.service.service.core;
    const rotate = async (graceMs: number) => {
      const rotated = await tenantCommands.rotateKeys(made.alias, ['live'], graceMs);
      if ('refused' in rotated) throw new Error(rotated.refused);
      return made.live.as(`:${rotated.live}`);
    };
    const second = await rotate(3_600_000);
    expect([
      (await made.live.get('/users')).status,
      (await second.get('/users')).status,
    ]).toStrictEqual([200, 200]);
    const third = await rotate(0);
    for (const old of [made.live, second])
      expect(outcome(await old.get('/users'))).toStrictEqual(refusal(401, 'UNAUTHORIZED'));
    expect([
      (await third.get('/users')).status,
      (await made.test.get('/users')).status,
    ]).toStrictEqual([200, 200]);
  });
});

describe('switches', () => {
  test('open endpoints are on or off from the next request, and bad credentials are 401 either way', async () => {
    const switchTo = (openEndpoints: boolean) =>
      running.service.service.core.tenantCommands.execute(closed.alias, {
        type: 'SwitchOpenEndpoints',
        openEndpoints,
        now: Date.now(),
      });
    expect(outcome(await closed.test.post(APPLY))).toStrictEqual(
      refusal(403, 'OPEN_ENDPOINTS_DISABLED'),
    );
    expect(outcome(await closed.live.as(':nope').post(APPLY))).toStrictEqual(
      refusal(401, 'UNAUTHORIZED'),
    );
    await switchTo(true);
    expect(outcome(await closed.live.post(APPLY))).toStrictEqual(
      refusal(404, 'REFERRAL_CODE_NOT_FOUND'),
    );
    await switchTo(false);
    expect(outcome(await closed.live.post(APPLY))).toStrictEqual(
      refusal(403, 'OPEN_ENDPOINTS_DISABLED'),
    );
    expect((await closed.live.get('/users')).status).toBe(200);
  });

  test('a tenant with a payment provider has neither accountsync nor account reads, and all other routes', async () => {
    const api = payments.live;
    const notSupported = refusal(403, 'API_REQUEST_NOT_SUPPORTED');
    expect(
      outcome(await api.post('/accountsync', { id: 'a', subscription: { status: 'TRIAL' } })),
    ).toStrictEqual(notSupported);
    expect(outcome(await api.get('/account/a'))).toStrictEqual(notSupported);
    expect(outcome(await api.get('/account/a/reward'))).toStrictEqual(
      refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'),
    );
    expect(outcome(await api.post('/user', { id: 'u', accountId: 'a' }))).toStrictEqual(
      refusal(404, 'ACCOUNT_NOT_FOUND', 'RS041'),
    );
    expect((await api.get('/users')).status).toBe(200);
    expect((await api.get('/reward/balance?accountId=a')).body).toStrictEqual([]);
  });
});

describe('user tokens', () => {
  const at = '/open/account/a/user/u';
  const commands = () => running.service.service.core.tenantCommands;

  test('of a replaced signing secret are valid until its time is over', async () => {
    const made = await running.service.createTenant();
    const claims = { user: { id: 'u', accountId: 'a' } };
    const by = (secret: string) => made.live.as({ token: token(secret, claims) });
    const rotate = async (graceMs: number) => {
      const rotated = await commands().rotateSigningSecrets(made.alias, ['live'], graceMs);
      if ('refused' in rotated) throw new Error(rotated.refused);
      return by(rotated.live ?? '');
    };
    const first = by(made.liveSecret);
    const second = await rotate(3_600_000);
    expect([(await first.get(at)).status, (await second.get(at)).status]).toStrictEqual([404, 404]);
    const third = await rotate(0);
    for (const old of [first, second])
      expect(outcome(await old.get(at))).toStrictEqual(refusal(401, 'UNAUTHORIZED', 'RS032'));
    for (const good of [third, by(made.liveKey), by(made.testSecret)])
      expect((await good.get(at)).status).toBe(404);
  });

  test('from before the moment that the tenant names are refused like any bad one', async () => {
    const made = await running.service.createTenant();
    const now = Math.floor(Date.now() / 1000);
    const issued = (iat: number | undefined) =>
      made.live.as({
        token: token(made.liveSecret, {
          user: { id: 'u', accountId: 'a' },
          ...(iat === undefined ? {} : { iat }),
        }),
      });
    const change = (tokensNotBefore: number | null) =>
      commands().execute(made.alias, {
        type: 'ChangeTokensNotBefore',
        tokensNotBefore,
        now: Date.now(),
      });
    expect((await issued(undefined).get(at)).status).toBe(404);
    await change(now * 1000);
    for (const bad of [issued(undefined), issued(now - 1)])
      expect(outcome(await bad.get(at))).toStrictEqual(refusal(401, 'UNAUTHORIZED', 'RS032'));
    expect((await issued(now).get(at)).status).toBe(404);
    await change(null);
    expect((await issued(undefined).get(at)).status).toBe(404);
  });
});

test('a suspended tenant lets nobody in, after the credentials, on any route; resumed, all is there', async () => {
  const made = await running.service.createTenant();
  const who = '/open/account/a/user/u';
  const { body } = await made.live.put<{ referralCode: string; shareLinks: { shareLink: string } }>(
    who,
    {},
  );
  const follow = async () => {
    const { pathname, search } = new URL(body.shareLinks.shareLink);
    const response = await fetch(`${running.service.origin}${pathname}${search}`, {
      redirect: 'manual',
    });
    return { status: response.status, body: (await response.text()).slice(0, 400) };
  };
  const nobody = made.live.as(undefined);
  const routes: readonly (readonly [string, () => Promise<Answer>])[] = [
    ['a read with a key', () => made.live.get('/users')],
    ['in test mode', () => made.test.get('/users')],
    ['a write', () => made.live.put(who, { firstName: 'Ann' })],
    ['with a token', () => userClient(made, 'a', 'u').get(who)],
    ['a visitor', () => made.live.put('/open/user/cookie_user', {})],
    ['without credentials', () => nobody.get(`/open/code/${body.referralCode}`)],
    ['the public user', () => nobody.get(`/open/user?referralCode=${body.referralCode}`)],
  ];
  const { tenantCommands } = running.service.service.core;
  const staff = '0a000000-0000-4000-8000-000000000006';
  await tenantCommands.execute(made.alias, {
    type: 'SuspendTenant',
    reason: about(staff, 'a leaked key'),
    by: about(staff, 'Staff'),
    now: Date.now(),
  });
  for (const [name, call] of routes)
    expect([name, outcome(await call())]).toStrictEqual([name, refusal(403, 'FORBIDDEN')]);
  expect(await follow()).toMatchObject({ status: 403 });
  expect(outcome(await made.live.as(':nope').get('/users'))).toStrictEqual(
    refusal(401, 'UNAUTHORIZED'),
  );
  expect(outcome(await made.live.get('/nowhere'))).toStrictEqual(refusal(404, 'NOT_FOUND'));
  expect((await tenant.live.get('/users')).status).toBe(200);

  await tenantCommands.execute(made.alias, { type: 'ResumeTenant', now: Date.now() });
  for (const [name, call] of routes)
    expect([name, (await call()).status]).toStrictEqual([name, 200]);
  expect(await follow()).toMatchObject({ status: 302 });
});

test('a malformed percent-encoding: 400', async () => {
  for (const broken of ['%', '%zz', '%ff', '%ed%a0%80']) {
    const { status, body } = await tenant.live.get(`/account/${broken}`);
    expect([broken, status, body]).toStrictEqual([broken, 400, errorBody(400, 'BAD_REQUEST')]);
  }
});
