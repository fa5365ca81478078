import { path, type ApiClient } from '../support/api-client.js';
import { errorBody, personal, useSharedService, useTenant } from '../support/running-service.js';

const running = useSharedService();
const tenant = useTenant(running);
interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function get(
  target: string,
  init: RequestInit = {},
  origin = running.service.origin,
): Promise<Received> {
  const response = await fetch(`${origin}${target}`, { redirect: 'manual', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const at = (code: string, of = tenant, mode = '') => `/r/${of.alias}/${mode}${code}`;
const headingOf = ({ text }: Received) => /<h1 dir="auto">(.*)<\/h1>/.exec(text)?.[1];
const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

async function ann(of: ApiClient = tenant.live, firstName = personal('Ann')) {
  const accountId = personal('acc');
  const userId = personal('user');
  const user = `/open/account${path(accountId)}/user${path(userId)}`;
  const { status, body } = await of.put<{
    referralCode: string;
    shareLinks: { shareLink: string };
  }>(user, { firstName, lastName: 'Lee' });
  expect(status).toBe(200);
  const { referralCode: code, shareLinks } = body;
  return { code, firstName, user, blocked: user.replace('/open', ''), ...shareLinks };
}

const nothing = (init: RequestInit = {}) => get(at('NOBODYHASIT'), init);
async function isNothing(received: Received, init: RequestInit = {}): Promise<void> {
  const { status, text, headers } = received;
  const unknown = await nothing(init);
  expect([status, text]).toStrictEqual([404, unknown.text]);
  const compared = ['content-type', 'content-security-policy', 'cache-control', 'vary'];
  for (const name of compared) expect(headers.get(name)).toBe(unknown.headers.get(name));
}

test('a short link leads to the page where the program has no landing page, in both modes', async () => {
  for (const [client, mode] of [
    [tenant.live, ''],
    [tenant.test, 'test/'],
  ] as const) {
    const { code, firstName, shareLink } = await ann(client);
    const { pathname } = new URL(shareLink);
    const { status, headers } = await get(`${pathname.toLowerCase()}?m=SMS`);
    const location = new URL(headers.get('location') ?? '');
    expect([status, location.origin, location.pathname, location.search]).toStrictEqual([
      302,
      'https://share.example',
      at(code, tenant, mode),
      `?rsCode=${code}&rsShareMedium=SMS&rsEngagementMedium=UNKNOWN`,
    ]);
    const page = await get(location.pathname + location.search);
    expect([page.status, headingOf(page)]).toStrictEqual([
      200,
      `${firstName} L gives you 10 % off`,
    ]);
    expect(page.text).toContain(`>${code}</code>`);
    expect(page.text).toContain(
      `<meta property="og:url" content="https://share.example${at(code, tenant, mode)}">`,
    );
    // A code of the other mode.
    await isNothing(await get(at(code, tenant, mode === '' ? 'test/' : '')));
  }
});

test('the page is not cached, has no script, and has no body for HEAD', async () => {
  const { code } = await ann();
  const page = await get(at(code));
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'Accept-Language',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; style-src 'sha256-/,
    ) as unknown,
  });
  expect(page.headers.get('ratelimit')).toBeNull();
  expect(page.headers.get('set-cookie')).toBeNull();
  expect(page.text).not.toMatch(/<script| on\w+=|style="|javascript:/i);
  expect(page.text).toContain('<meta name="robots" content="noindex">');
  const head = await get(at(code), { method: 'HEAD' });
  expect([head.status, head.text, head.headers.get('content-length')]).toStrictEqual([
    200,
    '',
    String(Buffer.byteLength(page.text)),
  ]);
});

test('no visit of the page is counted: the short link counts', async () => {
  const { code } = await ann();
  const head = await running.service.eventsOf(tenant);
  for (const method of ['GET', 'HEAD']) expect((await get(at(code), { method })).status).toBe(200);
  expect(await running.service.eventsOf(tenant)).toBe(head);
});

test('a code may be spelled test', async () => {
  const [live, tested] = [personal('Tess'), personal('Tess')];
  await tenant.live.put('/open/account/t/user/t', { firstName: live, referralCode: 'test' });
  await tenant.test.put('/open/account/t/user/t', { firstName: tested, referralCode: 'test' });
  expect(headingOf(await get(at('test')))).toBe(`${live} gives you 10 % off`);
  expect(headingOf(await get(at('test/')))).toBe(`${live} gives you 10 % off`);
  expect(headingOf(await get(at('test', tenant, 'test/')))).toBe(`${tested} gives you 10 % off`);
});

test('nothing is shown, in the same bytes, for unknown and impossible codes, and for tenants that do not exist', async () => {
  for (const code of ['x', 'a%2Fb', 'a%0d%0aSet-Cookie:x=1', '%00', '%E2%80%AE', 'x'.repeat(9000)])
    await isNothing(await get(at(code)));
  await isNothing(await get('/r/missing/X'));
  const { status, headers } = await nothing();
  expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('ratelimit')).toBeNull();
  expect((await get(at('NOBODYHASIT'), { method: 'HEAD' })).status).toBe(404);
  expect((await get(at('a/b/c'))).headers.get('content-type')).toMatch('json');
  expect((await get(at('X'), { method: 'POST' })).status).toBe(405);
});

test('nothing is shown, in the same bytes, for a code whose owner is blocked, as long as the block lasts', async () => {
  const { code, blocked } = await ann();
  expect((await get(at(code))).status).toBe(200);
  await tenant.live.post(`${blocked}/block`);
  await isNothing(await get(at(code)));
  await tenant.live.post(`${blocked}/unblock`);
  expect((await get(at(code))).status).toBe(200);
});

test('nothing is shown of a suspended tenant: 403, a page to browsers and JSON to programs', async () => {
  const shop = await running.service.createTenant();
  const { code } = await ann(shop.live);
  const by = { subject: '0a000000-0000-4000-8000-000000000006', value: 'Staff' };
  await running.service.change(shop.alias, { type: 'SuspendTenant', reason: by, by });
  const page = await get(at(code, shop), BROWSER);
  expect([page.status, page.text]).toStrictEqual([403, (await nothing()).text]);
  expect(page.headers.get('cache-control')).toBe('no-store');
  const { status, text } = await get(at(code, shop));
  expect([status, JSON.parse(text)]).toStrictEqual([403, errorBody(403, 'FORBIDDEN')]);
});

test('pages and short links are counted together, per address', async () => {
  const shop = await running.service.createTenant();
  const { code, shareLink } = await ann(shop.live);
  const changes = { rateLimits: { 'short-link': 3 } };
  await running.service.change(shop.alias, { type: 'ChangeOpenRules', changes });
  const { pathname } = new URL(shareLink);
  const statuses = [];
  for (const target of [pathname, at(code, shop), at('NOBODYHASIT', shop), pathname])
    statuses.push((await get(target)).status);
  expect(statuses).toEqual([302, 200, 404, 429]);
  const page = await get(at(code, shop), BROWSER);
  expect([page.status, page.text]).toStrictEqual([429, (await nothing()).text]);
  expect(page.headers.get('retry-after')).toMatch(/^\d+$/);
});
