import { personal as about } from '../../src/domain/personal.js';
import { type Answer } from '../support/api-client.js';
import {
  outcome,
  refusal,
  useSharedService,
  type TestTenant,
  expectRefusal,
} from '../support/running-service.js';
import { token, userClient } from '../support/user-tokens.js';

const running = useSharedService();
let tenant: TestTenant;
let closed: TestTenant;
let payments: TestTenant;
beforeAll(async () => {
  tenant = await running.service.createTenant();
  closed = await running.service.createTenant({ openEndpoints: false });
  payments = await running.service.createTenant({ programType: 'PAYMENT_PROVIDER' });
});

const APPLY = '/open/code/c/account/a/user/u';
test('the description names the checks that every route shares', () => {
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

describe('switches', () => {
  test('open endpoints are on or off from the next request, and bad credentials are 401 either way', async () => {
    const switchTo = (openEndpoints: boolean) =>
      running.service.service.core.tenantCommands.execute(closed.alias, {
        type: 'SwitchOpenEndpoints',
        openEndpoints,
        now: Date.now(),
      });
    expectRefusal(await closed.test.post(APPLY), 403, 'OPEN_ENDPOINTS_DISABLED');
    expectRefusal(await closed.live.as(':nope').post(APPLY), 401, 'UNAUTHORIZED');
    await switchTo(true);
    expectRefusal(await closed.live.post(APPLY), 404, 'REFERRAL_CODE_NOT_FOUND');
    await switchTo(false);
    expectRefusal(await closed.live.post(APPLY), 403, 'OPEN_ENDPOINTS_DISABLED');
    expect((await closed.live.get('/users')).status).toBe(200);
  });

  test('a tenant with a payment provider has neither accountsync nor account reads, and all other routes', async () => {
    const api = payments.live;
    const notSupported = refusal(403, 'API_REQUEST_NOT_SUPPORTED');
    expect(
      outcome(await api.post('/accountsync', { id: 'a', subscription: { status: 'TRIAL' } })),
    ).toStrictEqual(notSupported);
    expect(outcome(await api.get('/account/a'))).toStrictEqual(notSupported);
    expectRefusal(await api.get('/account/a/reward'), 404, 'ACCOUNT_NOT_FOUND', 'RS041');
    expectRefusal(
      await api.post('/user', { id: 'u', accountId: 'a' }),
      404,
      'ACCOUNT_NOT_FOUND',
      'RS041',
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
      expectRefusal(await old.get(at), 401, 'UNAUTHORIZED', 'RS032');
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
      expectRefusal(await bad.get(at), 401, 'UNAUTHORIZED', 'RS032');
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
  expectRefusal(await made.live.as(':nope').get('/users'), 401, 'UNAUTHORIZED');
  expectRefusal(await made.live.get('/nowhere'), 404, 'NOT_FOUND');
  expect((await tenant.live.get('/users')).status).toBe(200);

  await tenantCommands.execute(made.alias, { type: 'ResumeTenant', now: Date.now() });
  for (const [name, call] of routes)
    expect([name, (await call()).status]).toStrictEqual([name, 200]);
  expect(await follow()).toMatchObject({ status: 302 });
});
