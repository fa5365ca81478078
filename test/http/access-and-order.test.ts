import { personal as about } from '../../src/domain/personal.js';
import { type Answer } from '../support/api-client.js';
import {
  outcome,
  refusal,
  useSharedService,
  expectRefusal,
  useTenant,
} from '../support/running-service.js';
import { userClient } from '../support/user-tokens.js';

const running = useSharedService();
const tenant = useTenant(running);
const payments = useTenant(running, { programType: 'PAYMENT_PROVIDER' });

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

test('a route whose description requires a body refuses a request without one', async () => {
  for (const [template, item] of Object.entries(running.service.description.paths)) {
    const path = /^\/api\/v1\/\{tenantAlias\}(.*)$/.exec(template)?.[1];
    if (path === undefined) continue;
    for (const [method, operation] of Object.entries(
      item as Record<string, { requestBody?: { required?: boolean } }>,
    )) {
      if (operation.requestBody?.required !== true) continue;
      const asked = [method.toUpperCase(), path.replace(/\{\w+\}/g, 'en')] as const;
      const { status } = await tenant.live.call(...asked);
      expect([...asked, status]).toEqual([...asked, 400]);
    }
  }
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

test('a suspended tenant refuses every route after the credentials, and answers again when resumed', async () => {
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
  const visitor = made.live.as(undefined);
  const routes: readonly (readonly [string, () => Promise<Answer>])[] = [
    ['a read with a key', () => made.live.get('/users')],
    ['in test mode', () => made.test.get('/users')],
    ['a write', () => made.live.put(who, { firstName: 'Ann' })],
    ['with a token', () => userClient(made, 'a', 'u').get(who)],
    ['a visitor', () => made.live.put('/open/user/cookie_user', {})],
    ['without credentials', () => visitor.get(`/open/code/${body.referralCode}`)],
    ['the public user', () => visitor.get(`/open/user?referralCode=${body.referralCode}`)],
  ];
  const by = about('0a000000-0000-4000-8000-000000000006', 'Staff');
  await running.service.change(made.alias, { type: 'SuspendTenant', reason: by, by });
  for (const [name, call] of routes)
    expect([name, outcome(await call())]).toStrictEqual([name, refusal(403, 'FORBIDDEN')]);
  expect(await follow()).toMatchObject({ status: 403 });
  expectRefusal(await made.live.as(':nope').get('/users'), 401, 'UNAUTHORIZED');
  expectRefusal(await made.live.get('/nowhere'), 404, 'NOT_FOUND');
  expect((await tenant.live.get('/users')).status).toBe(200);

  await running.service.change(made.alias, { type: 'ResumeTenant' });
  for (const [name, call] of routes)
    expect([name, (await call()).status]).toStrictEqual([name, 200]);
  expect(await follow()).toMatchObject({ status: 302 });
});
