import { randomUUID } from 'node:crypto';
import { newOperatorKey, type OperatorRole } from '../../src/config/operators.js';
import { consoleRoutes } from '../support/known-routes.js';
import { pollPause } from '../support/poll-pause.js';
import { recordedOperations } from '../support/recorded-operations.js';
import {
  setUpConsole,
  cookies,
  csrfIn,
  csrfOf,
  entries,
  get,
  keys,
  type Name,
  NAMES,
  ofTenant,
  open,
  type Page,
  post,
  running,
  signedIn,
  tenant,
  writeOperators,
} from '../support/console-staff.js';

/**
 * Who may do what in the console: roles, sessions, and what no browser sends. Over 5 s: each page
 * is opened in four roles.
 */

setUpConsole();

/** With one tenant `/console` leads to its overview. */
const TENANTS = '/console?test=no';

const PAGES: Readonly<Record<string, readonly Name[]>> = {
  '/console?test=no': ['fay', 'flo', 'sam', 'vic'],
  '/console/projections': ['sam'],
  '/console/runs': ['fay', 'flo', 'sam'],
  '/console/activity': ['fay', 'flo', 'sam'],
  '': ['fay', 'flo', 'sam', 'vic'],
  '/users': ['fay', 'flo', 'sam'],
  '/accounts': ['fay', 'flo', 'sam', 'vic'],
  '/referrals': ['fay', 'flo', 'sam'],
  '/rewards': ['fay', 'flo', 'sam'],
  '/balances': ['fay', 'flo', 'sam'],
  '/statement': ['fay', 'flo', 'vic'],
  '/replay': ['fay', 'flo'],
  '/reconcile': ['fay', 'flo'],
  '/periods': ['fay', 'flo'],
  '/verify': ['fay', 'flo'],
  '/corrections': ['fay', 'flo', 'sam'],
  '/moderation': ['sam'],
  '/webhooks': ['sam'],
  '/exports': ['fay', 'flo', 'sam'],
  '/imports': ['fay', 'flo', 'sam'],
  '/mails': ['sam'],
  '/payments': ['fay', 'flo', 'sam'],
  '/settings': ['sam'],
  '/program': ['sam'],
  '/theme': ['sam'],
};
const pathOf = (page: string): string => (page.startsWith('/console') ? page : ofTenant(page));

test.each(Object.keys(PAGES))(
  '%s opens for its roles only, and with a session only',
  async (page) => {
    const path = pathOf(page);
    expect(await open(path)).toMatchObject({ status: 303, location: '/console/sign-in' });
    for (const who of NAMES) {
      const { status, text, headers } = await get(who, path);
      expect({ who, status }).toEqual({ who, status: PAGES[page]?.includes(who) ? 200 : 403 });
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).toContain("default-src 'self'");
      expect(headers.get('cache-control')).toBe('no-store');
      expect(text).not.toMatch(/<script(?! src="\/console\/assets)|\son[a-z]+=|style="/);
    }
  },
);

const FORMS: Readonly<Record<string, Name>> = {
  '/console/projections': 'sam',
  '/replay': 'fay',
  '/reconcile': 'fay',
  '/periods': 'fay',
  '/verify': 'fay',
  '/corrections': 'fay',
  '/moderation': 'sam',
  '/webhooks': 'sam',
  '/exports': 'sam',
  '/imports': 'sam',
  '/imports/file': 'sam',
  '/mails': 'sam',
  '/payments': 'sam',
  '/settings': 'sam',
  '/program': 'sam',
  '/theme': 'sam',
  '/theme/preview': 'sam',
};
test.each(Object.entries(FORMS))(
  'the forms of %s: with its role, and the token of the session',
  async (page, who) => {
    const send = (csrf: string, cookie: string | undefined): Promise<Page> => {
      const body = new URLSearchParams({ csrf, action: '-' });
      return open(pathOf(page), { method: 'POST', body }, cookie);
    };
    expect((await send('', cookies.get(who))).status).toBe(403);
    expect((await send(await csrfOf('vic'), cookies.get('vic'))).status).toBe(403);
  },
);

test('the token of another session, another origin, an old cookie and JSON are refused', async () => {
  const csrf = await csrfOf('fay');
  const send = (fields: Record<string, string>, headers = {}, cookie = cookies.get('fay')) =>
    open(
      ofTenant('/periods'),
      { method: 'POST', body: new URLSearchParams({ action: '-', ...fields }), headers },
      cookie,
    );
  expect((await send({ csrf: await csrfOf('vic') })).status).toBe(403);
  for (const headers of [
    { origin: 'https://elsewhere.example' },
    { 'sec-fetch-site': 'cross-site' },
  ])
    expect((await send({ csrf }, headers)).status).toBe(403);
  expect(await send({ csrf }, {}, 'ledger_console=x')).toMatchObject({ status: 303 });
  const json = { method: 'POST', body: '{}' };
  expect((await open(ofTenant('/periods'), json, cookies.get('fay'))).status).toBe(403);
});

test('no route is left out', () => {
  const ofPage = (page: string): string =>
    page.startsWith('/console')
      ? page.replace(/\?.*/, '')
      : `/console/tenants/{tenant}/{mode}${page}`;
  expect([...consoleRoutes(running.service)].sort()).toEqual(
    [
      ...Object.keys(PAGES).map((page) => `GET ${ofPage(page)}`),
      ...Object.keys(FORMS).map((page) => `POST ${ofPage(page)}`),
      'GET /console/assets/{name}',
      'GET /console/sign-in',
      'POST /console/session',
      'POST /console/session/end',
      'GET /console/runs/{run}',
      'GET /console/runs/{run}/progress',
      'POST /console/runs/{run}/cancel',
      'POST /console/runs/{run}/again',
      ...['GET', 'POST'].map((method) => `${method} ${ofPage('/accounts/{account}')}`),
      `GET ${ofPage('/exports/{export}/file')}`,
      `GET ${ofPage('/projections')}`,
      `GET ${ofPage('/webhooks/{delivery}')}`,
      `GET ${ofPage('/mails/preview')}`,
      `GET ${ofPage('/imports/{import}')}`,
      `GET ${ofPage('/imports/{import}/{result}')}`,
    ].sort(),
  );
});

test('an unknown tenant or mode is answered with a page', async () => {
  expect((await get('fay', '/console/tenants/missing/live')).status).toBe(404);
  expect((await get('fay', `/console/tenants/${tenant.alias}/both`)).status).toBe(404);
});

const scope = () => ({ tenant: tenant.alias, mode: 'live' }) as const;
const recordsOf = async (name: string): Promise<readonly string[]> =>
  (await recordedOperations(running.service.service.core, scope()))
    .map((record) => JSON.stringify(record))
    .filter((record) => record.includes('"console refused"') && record.includes(`"${name}"`));
const recorded = async (name: string, count: number): Promise<readonly string[]> => {
  for (let looks = 0; ; looks += 1) {
    const found = await recordsOf(name);
    if (found.length >= count) return found;
    await pollPause(looks);
  }
};
const visitor = async (name: string, roles: readonly OperatorRole[]): Promise<string> => {
  const { key, entry } = newOperatorKey(name, roles);
  keys.set(name, key);
  entries.push(entry);
  await writeOperators(entries);
  return signedIn(name);
};
const sendForm = (path: string, cookie: string, fields: Record<string, string>, headers = {}) =>
  open(path, { method: 'POST', body: new URLSearchParams(fields), headers }, cookie);

test('refused visits are on record with the operator’s name, whatever the reason', async () => {
  const [name, path] = ['ivo', ofTenant('/webhooks')];
  const cookie = await visitor(name, ['support']);
  const csrf = csrfIn(await open(TENANTS, {}, cookie));
  const delivery = { csrf, action: 'resend', delivery: randomUUID() };
  const reasons: Readonly<Record<string, () => Promise<Page>>> = {
    role: () => open(ofTenant('/periods'), {}, cookie),
    token: () => sendForm(path, cookie, { csrf: 'old' }),
    origin: () => sendForm(path, cookie, { csrf }, { origin: 'https://elsewhere.example' }),
    'id of another tenant': () => sendForm(path, cookie, delivery),
    'id in an address': () => open(`${path}/${randomUUID()}`, {}, cookie),
  };
  for (const [reason, visit] of Object.entries(reasons)) {
    const before = (await recordsOf(name)).length;
    const { status, headers } = await visit();
    expect({ reason, status }).toEqual({ reason, status: 403 });
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    await recorded(name, before + 1);
  }
  await writeOperators(entries.filter((entry) => entry.name !== name));
  expect((await open(path, {}, cookie)).status).toBe(403);
  const all = await recorded(name, 6);
  expect(all[0]).toContain('/console/tenants/:tenant/:mode/periods');
  expect(all.join()).not.toContain(delivery.delivery);
});

test('refused visits are recorded ten times a minute for a session', async () => {
  const cookie = await visitor('ida', ['viewer']);
  const again = await signedIn('ida');
  for (let visits = 0; visits < 14; visits += 1)
    expect((await open(ofTenant('/periods'), {}, cookie)).status).toBe(403);
  expect((await open(ofTenant('/periods'), {}, again)).status).toBe(403);
  expect(await recorded('ida', 11)).toHaveLength(11);
});

test('the cookie belongs to the console alone, and scripts cannot read it', async () => {
  const body = new URLSearchParams({ key: keys.get('fay') ?? '' });
  const { headers } = await open('/console/session', { method: 'POST', body });
  expect(headers.get('set-cookie')).toMatch(
    /^ledger_console=[A-Za-z0-9_-]{43}; Path=\/console; Max-Age=28800; HttpOnly; SameSite=Lax$/,
  );
});

test('after a proxy that ends TLS, the cookie is sent over TLS only', async () => {
  const proxied = (origin: string): Record<string, string> => ({
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'ledger.example',
    origin,
  });
  const signIn = (headers: Record<string, string>): Promise<Page> => {
    const body = new URLSearchParams({ key: keys.get('fay') ?? '' });
    return open('/console/session', { method: 'POST', body, headers });
  };
  const { status, headers } = await signIn(proxied('https://ledger.example'));
  expect(status).toBe(303);
  expect(headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax; Secure$/);
  expect((await signIn(proxied('https://elsewhere.example'))).status).toBe(403);
  const plain = await signIn({ 'x-forwarded-proto': 'http' });
  expect(plain.headers.get('set-cookie')).not.toContain('Secure');
});

test('signing in leads to the page that was opened before, with its query', async () => {
  const path = ofTenant('/statement?account=a&from=2026-10-01');
  const opened = await open(path);
  expect(opened).toMatchObject({ status: 303, location: '/console/sign-in' });
  const set = opened.headers.get('set-cookie') ?? '';
  expect(set).toMatch(/; HttpOnly; SameSite=Lax$/);
  const signIn = (cookie: string): Promise<Page> => {
    const body = new URLSearchParams({ key: keys.get('fay') ?? '' });
    return open('/console/session', { method: 'POST', body }, cookie);
  };
  const [wanted = ''] = set.split(';');
  expect(await signIn(wanted)).toMatchObject({ status: 303, location: path });
  // What a page's script requests, and addresses that are none of the console, are not kept.
  const asIn = (kind: string, of: string): Promise<Page> =>
    open(of, { headers: { 'sec-fetch-dest': kind } });
  expect((await asIn('empty', path)).headers.get('set-cookie')).toBeNull();
  expect((await asIn('document', '/console')).headers.get('set-cookie')).toBeNull();
  for (const other of ['https%3A%2F%2Fevil.example', '%2F%2Fevil.example', '%', ''])
    expect((await signIn(`ledger_console_wanted=${other}`)).location).toBe('/console');
});

test('a session ends when its operator signs out', async () => {
  const cookie = await signedIn('fay');
  const csrf = csrfIn(await open(TENANTS, {}, cookie));
  const end = { method: 'POST', body: new URLSearchParams({ csrf }) };
  expect(await open('/console/session/end', end, cookie)).toMatchObject({
    status: 303,
    location: '/console/sign-in',
  });
  expect((await open(TENANTS, {}, cookie)).status).toBe(303);
});

test('a session ends with its key', async () => {
  const cookie = await signedIn('gone');
  expect((await open(TENANTS, {}, cookie)).status).toBe(200);
  await writeOperators(entries.filter(({ name }) => name !== 'gone'));
  const refused = await open(TENANTS, {}, cookie);
  expect(refused).toMatchObject({ status: 403, location: null });
  expect(refused.text).toContain('Your key no longer counts');
  expect(refused.headers.get('set-cookie')).toMatch(/^ledger_console=; .*Max-Age=0;/);
  await writeOperators(entries);
  // It stays over when the key counts again.
  expect((await open(TENANTS, {}, cookie)).location).toBe('/console/sign-in');
});

test('a further session of an operator ends the oldest of twenty', async () => {
  const first = await signedIn('flo');
  for (let more = 0; more < 20; more += 1) cookies.set('flo', await signedIn('flo'));
  expect((await open('/console', {}, first)).status).toBe(303);
  expect((await get('flo', TENANTS)).status).toBe(200);
});

test('the sixth wrong key of an address within a minute waits; a good one passes', async () => {
  const statusOf = async (key: string): Promise<number> => {
    const body = new URLSearchParams({ key });
    // An address of its own: other files of the shared service send wrong keys, too.
    const headers = { 'x-forwarded-for': '203.0.113.42' };
    return (await open('/console/session', { method: 'POST', body, headers })).status;
  };
  const statuses: number[] = [];
  for (let tries = 0; tries < 6; tries += 1) statuses.push(await statusOf('operator_0'));
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  expect(await statusOf(keys.get('vic') ?? '')).toBe(303);
});

const cutOff = '--b\r\nContent-Disposition: form-data; name="key"; filename="f"\r\n\r\nhalf';
const multipart = { 'content-type': 'multipart/form-data; boundary=b' };

test('a form whose file is cut off is refused, and the service continues', async () => {
  const init = { method: 'POST', headers: multipart, body: cutOff };
  expect((await open('/console/session', init)).status).toBe(400);
  expect((await get('fay', TENANTS)).status).toBe(200);
});

test('a form of a visitor who is not signed in is limited in size', async () => {
  const body = new URLSearchParams({ key: 'k'.repeat(5_000) });
  expect((await open('/console/session', { method: 'POST', body })).status).toBe(413);
});

test('a NUL in a search or a filter is left out, and in a field refused', async () => {
  expect((await get('vic', ofTenant('?search=missing%00'))).text).toContain(
    'has the id &quot;missing&quot;',
  );
  expect((await get('sam', ofTenant('/webhooks?type=%00&endpoint=%00'))).status).toBe(200);
  const mail = await post('sam', ofTenant('/mails'), { mail: 'a\0b' });
  expect(mail.status).toBe(400);
});

test('a form whose text is not UTF-8 is refused', async () => {
  const csrf = csrfIn(await get('sam', TENANTS));
  const send = (reason: string) =>
    open(
      ofTenant('/settings'),
      {
        method: 'POST',
        body: `csrf=${csrf}&action=no-such-action&reason=${reason}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
      cookies.get('sam'),
    );
  expect(await send('caf%E9')).toMatchObject({ status: 400 });
  expect((await send('caf%C3%A9')).text).not.toContain('not UTF-8');
  expect((await send('caf%E9')).text).toContain('not UTF-8');
});

test('a run is cancelled, and the way back leads into the console', async () => {
  const ways: Readonly<Record<string, string>> = {
    '/console/projections?run=a': '/console/projections?run=a',
    '//example.com': '/console',
    '/console/\r\nx-other: 1': '/console',
    '/console/€': '/console',
  };
  for (const [back, location] of Object.entries(ways))
    expect(await post('fay', '/console/runs/none/cancel', { back })).toMatchObject({
      status: 303,
      location,
    });
});
