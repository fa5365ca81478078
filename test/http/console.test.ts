import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import {
  makeOperatorKey,
  NO_OPERATORS,
  type OperatorEntry,
  type OperatorRole,
} from '../../src/config/operators.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { eventually } from '../support/embedded.js';
import { OperatorSessions } from '../../src/operations/sessions/operator-sessions.js';
import { basic } from '../support/api-client.js';
import { consoleRoutes } from '../support/known-routes.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { personal, startWithStores, type TestTenant } from '../support/running-service.js';

type Name = 'fay' | 'flo' | 'sam' | 'vic';
const ROLES: Readonly<Record<Name, readonly OperatorRole[]>> = {
  fay: ['finance'],
  flo: ['finance'],
  sam: ['support'],
  vic: ['viewer'],
};
const NAMES = Object.keys(ROLES) as Name[];

let running: Awaited<ReturnType<typeof startWithStores>>;
let folder: string;
let tenant: TestTenant;
const keys = new Map<string, string>();
const entries: OperatorEntry[] = [];
const cookies = new Map<Name, string>();
const writeOperators = (list: readonly OperatorEntry[]): Promise<void> =>
  writeFile(join(folder, 'operators.json'), JSON.stringify(list));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-console-'));
  for (const name of [...NAMES, 'gone']) {
    const { key, entry } = makeOperatorKey(name, ROLES[name as Name] ?? ['support']);
    keys.set(name, key);
    entries.push(entry);
  }
  await writeOperators(entries);
  running = await startWithStores({
    OPERATORS_FILE: join(folder, 'operators.json'),
    CONSOLE_PATTERNS: 'on',
  });
  tenant = await running.service.createTenant();
  for (const name of NAMES) cookies.set(name, await signedIn(name));
});
afterAll(async () => {
  await running.end();
  await rm(folder, { recursive: true, force: true });
});

interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly location: string | null;
}

async function open(path: string, init: RequestInit = {}, cookie?: string): Promise<Page> {
  const response = await fetch(`${running.service.origin}${path}`, {
    redirect: 'manual',
    ...init,
    headers: new Headers([...new Headers(init.headers), ...(cookie ? [['cookie', cookie]] : [])]),
  });
  const { status, headers } = response;
  return { status, headers, text: await response.text(), location: headers.get('location') };
}

const get = (who: Name, path: string): Promise<Page> => open(path, {}, cookies.get(who));

async function signedIn(name: string): Promise<string> {
  const page = await open('/console/session', {
    method: 'POST',
    body: new URLSearchParams({ key: keys.get(name) ?? '' }),
  });
  expect(page).toMatchObject({ status: 303, location: '/console' });
  const [cookie = ''] = (page.headers.get('set-cookie') ?? '').split(';');
  return cookie;
}

const csrfIn = ({ text }: Page): string => /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';

/** Sends a form as a browser does that has opened the page. */
async function post(
  who: Name,
  path: string,
  fields: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const csrf = csrfIn(await get(who, '/console'));
  const form = new FormData();
  for (const [name, value] of Object.entries({ csrf, ...fields })) form.append(name, value);
  for (const [name, value] of Object.entries(files)) form.append(name, new Blob([value]), 'file');
  return open(path, { method: 'POST', body: form }, cookies.get(who));
}

/** The value of a hidden field. */
const hiddenIn = ({ text }: Page, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';

/** The exact values of a figure on a page, in order. */
const figures = ({ text }: Page, name: string): string[] =>
  [...text.matchAll(/data-figure="([^"]*)" data-value="([^"]*)"/g)]
    .filter(([, figure]) => figure === name)
    .map(([, , value = '']) => value);

/** Events that a page shows with their data. */
const shownEvents = ({ text }: Page): number => text.split('<summary>').length - 1;

const ofTenant = (path = ''): string => `/console/tenants/${tenant.alias}/live${path}`;

/** Opens the page of a run until it is over. */
async function ended(who: Name, path: string): Promise<Page> {
  for (;;) {
    const page = await get(who, path);
    expect(page.status).toBe(200);
    if (!page.text.includes('data-run=')) return page;
  }
}

interface Person {
  readonly accountId: string;
  readonly userId: string;
  readonly firstName: string;
}

async function sent(path: string, body: object): Promise<void> {
  const { status } = await tenant.live.post(path, body);
  expect({ path, ok: status < 300 }).toEqual({ path, ok: true });
}

const onTrial = (id: string): Promise<void> =>
  sent('/accountsync', { id, subscription: { status: 'TRIAL' } });

async function rewarded(amount: number): Promise<Person> {
  const person = { accountId: personal('a'), userId: personal('u'), firstName: personal('F') };
  await onTrial(person.accountId);
  await sent('/user', {
    id: person.userId,
    accountId: person.accountId,
    firstName: person.firstName,
    email: `${person.userId}@example.com`,
  });
  const path = `/rewards/account/${person.accountId}/user/${person.userId}`;
  await sent(path, { type: 'CREDIT', unit: 'CENTS', assignedCredit: amount });
  return person;
}

/** Whom each page is for. */
const PAGES: Readonly<Record<string, readonly Name[]>> = {
  '/console': ['fay', 'flo', 'sam', 'vic'],
  '/console/projections': ['sam'],
  '/console/runs': ['fay', 'flo', 'sam'],
  '/console/patterns': ['fay', 'flo', 'sam', 'vic'],
  '': ['fay', 'flo', 'sam', 'vic'],
  '/statement': ['fay', 'flo', 'vic'],
  '/replay': ['fay', 'flo'],
  '/reconcile': ['fay', 'flo'],
  '/periods': ['fay', 'flo'],
  '/verify': ['fay', 'flo'],
  '/corrections': ['fay', 'flo'],
  '/events': ['fay', 'flo'],
  '/moderation': ['sam'],
  '/webhooks': ['sam'],
  '/exports': ['sam'],
  '/mails': ['sam'],
  '/payments': ['fay', 'flo', 'sam'],
  '/settings': ['sam'],
  '/program': ['sam'],
  '/theme': ['sam'],
};
const pathOf = (page: string): string => (page.startsWith('/console') ? page : ofTenant(page));

describe('who may see a page', () => {
  test.each(Object.keys(PAGES))(
    '%s: its roles, nobody else, and nobody without a session',
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

  /** Whom the forms of a page are for. */
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
    '/mails': 'sam',
    '/payments': 'sam',
    '/settings': 'sam',
    '/program': 'sam',
    '/theme': 'sam',
    '/theme/preview': 'sam',
  };
  test.each(Object.entries(FORMS))(
    'the forms of %s: with the token of the own session only',
    async (page, who) => {
      const path = pathOf(page);
      const own = cookies.get(who);
      const [own1, foreign] = [await get(who, '/console'), await get('vic', '/console')];
      const send = (csrf: string, cookie = own, headers: Record<string, string> = {}) =>
        open(
          path,
          { method: 'POST', body: new URLSearchParams({ csrf, action: '-' }), headers },
          cookie,
        );
      expect((await send('')).status).toBe(403);
      expect((await send(csrfIn(foreign))).status).toBe(403);
      expect((await send(csrfIn(foreign), cookies.get('vic'))).status).toBe(403);
      expect((await send(csrfIn(own1), own, { origin: 'https://elsewhere.example' })).status).toBe(
        403,
      );
      expect(await send(csrfIn(own1), 'ledger_console=x')).toMatchObject({ status: 303 });
      expect((await open(path, { method: 'POST', body: '{}' }, own)).status).toBe(403);
    },
  );

  test('no route is left out', () => {
    const ofPage = (page: string): string =>
      page.startsWith('/console') ? page : `/console/tenants/{tenant}/{mode}${page}`;
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
        `GET ${ofPage('/accounts/{account}')}`,
        `GET ${ofPage('/exports/{export}/file')}`,
        `GET ${ofPage('/projections')}`,
      ].sort(),
    );
  });

  test('a browser of another site is refused', async () => {
    const sent = await open(
      ofTenant('/periods'),
      {
        method: 'POST',
        headers: { 'sec-fetch-site': 'cross-site' },
        body: new URLSearchParams({ csrf: csrfIn(await get('fay', '/console')) }),
      },
      cookies.get('fay'),
    );
    expect(sent.status).toBe(403);
  });

  test('a tenant or mode that is none is a page that says so', async () => {
    expect((await get('fay', '/console/tenants/nobody/live')).status).toBe(404);
    expect((await get('fay', `/console/tenants/${tenant.alias}/both`)).status).toBe(404);
  });
});

describe('refused visits', () => {
  const scope = () => ({ tenant: tenant.alias, mode: 'live' }) as const;
  const recordsOf = async (name: string): Promise<readonly string[]> =>
    (await recordedOperations(running.service.service.core, scope()))
      .map((record) => JSON.stringify(record))
      .filter((record) => record.includes('"console refused"') && record.includes(`"${name}"`));
  const recorded = async (name: string, count: number): Promise<readonly string[]> => {
    for (;;) {
      const found = await recordsOf(name);
      if (found.length >= count) return found;
    }
  };
  const visitor = async (name: string, roles: readonly OperatorRole[]): Promise<string> => {
    const { key, entry } = makeOperatorKey(name, roles);
    keys.set(name, key);
    entries.push(entry);
    await writeOperators(entries);
    return signedIn(name);
  };
  const sendForm = (path: string, cookie: string, fields: Record<string, string>, headers = {}) =>
    open(path, { method: 'POST', body: new URLSearchParams(fields), headers }, cookie);

  test('are on record with the operator’s name, whatever the reason', async () => {
    const [name, path] = ['ivo', ofTenant('/webhooks')];
    const cookie = await visitor(name, ['support']);
    const csrf = csrfIn(await open('/console', {}, cookie));
    const delivery = { csrf, action: 'resend', delivery: randomUUID() };
    const reasons: Readonly<Record<string, () => Promise<Page>>> = {
      role: () => open(ofTenant('/periods'), {}, cookie),
      token: () => sendForm(path, cookie, { csrf: 'old' }),
      origin: () => sendForm(path, cookie, { csrf }, { origin: 'https://elsewhere.example' }),
      'id of another tenant': () => sendForm(path, cookie, delivery),
      'id in an address': () => open(`${path}?delivery=${randomUUID()}`, {}, cookie),
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

  test('are recorded ten times a minute for a session', async () => {
    const cookie = await visitor('ida', ['viewer']);
    const again = await signedIn('ida');
    for (let visits = 0; visits < 14; visits += 1)
      expect((await open(ofTenant('/periods'), {}, cookie)).status).toBe(403);
    expect((await open(ofTenant('/periods'), {}, again)).status).toBe(403);
    expect(await recorded('ida', 11)).toHaveLength(11);
  });
});

describe('sessions', () => {
  test('the cookie belongs to the console alone, and scripts cannot read it', async () => {
    const body = new URLSearchParams({ key: keys.get('fay') ?? '' });
    const { headers } = await open('/console/session', { method: 'POST', body });
    expect(headers.get('set-cookie')).toMatch(
      /^ledger_console=[A-Za-z0-9_-]{43}; Path=\/console; Max-Age=28800; HttpOnly; SameSite=Strict$/,
    );
  });

  test('a session ends when its operator signs out', async () => {
    const cookie = await signedIn('fay');
    const csrf = csrfIn(await open('/console', {}, cookie));
    const end = { method: 'POST', body: new URLSearchParams({ csrf }) };
    expect(await open('/console/session/end', end, cookie)).toMatchObject({
      status: 303,
      location: '/console/sign-in',
    });
    expect((await open('/console', {}, cookie)).status).toBe(303);
  });

  test('a session ends with its key', async () => {
    const cookie = await signedIn('gone');
    expect((await open('/console', {}, cookie)).status).toBe(200);
    await writeOperators(entries.filter(({ name }) => name !== 'gone'));
    const refused = await open('/console', {}, cookie);
    expect(refused).toMatchObject({ status: 403, location: null });
    expect(refused.text).toContain('Your key no longer counts');
    expect(refused.headers.get('set-cookie')).toMatch(/^ledger_console=; .*Max-Age=0;/);
    await writeOperators(entries);
  });

  test('a session that this service did not make is none without asking the database', async () => {
    const away = new Pool({ connectionString: 'postgres://127.0.0.1:1/none' });
    const sessions = new OperatorSessions(away, NO_OPERATORS, running.service.service.core.names);
    const [, token = ''] = (await signedIn('fay')).split('=');
    await expect(sessions.find(token)).rejects.toThrow();
    const madeUp = [
      token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
      'x'.repeat(43),
      '',
    ];
    for (const one of madeUp) expect(await sessions.find(one)).toBeUndefined();
    await away.end();
  });

  test('a further session of an operator ends the oldest of twenty', async () => {
    const first = await signedIn('flo');
    for (let more = 0; more < 20; more += 1) cookies.set('flo', await signedIn('flo'));
    expect((await open('/console', {}, first)).status).toBe(303);
    expect((await get('flo', '/console')).status).toBe(200);
  });

  test('sign-ins at the same moment do not stand in each other’s way', async () => {
    const together = Array.from({ length: 60 }, () => signedIn('gone'));
    const begun = await Promise.all(together);
    const pages = await Promise.all(begun.map((cookie) => open('/console', {}, cookie)));
    expect(pages.some(({ status }) => status === 200)).toBe(true);
  });

  test('the sixth wrong key of an address within a minute waits; a good one passes', async () => {
    const wrong = () =>
      open('/console/session', {
        method: 'POST',
        body: new URLSearchParams({ key: 'operator_0' }),
      });
    const statuses: number[] = [];
    for (let tries = 0; tries < 6; tries += 1) statuses.push((await wrong()).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    await signedIn('vic');
  });
});

describe('what no browser sends', () => {
  const cutOff = '--b\r\nContent-Disposition: form-data; name="key"; filename="f"\r\n\r\nhalf';
  const multipart = { 'content-type': 'multipart/form-data; boundary=b' };

  test('a form whose file is cut off is refused, and the service goes on', async () => {
    const init = { method: 'POST', headers: multipart, body: cutOff };
    expect((await open('/console/session', init)).status).toBe(400);
    expect((await get('fay', '/console')).status).toBe(200);
  });

  test('a form of somebody who is not signed in is short', async () => {
    const body = new URLSearchParams({ key: 'k'.repeat(5_000) });
    expect((await open('/console/session', { method: 'POST', body })).status).toBe(413);
  });

  test('a NUL in a search, a filter or a field is left out', async () => {
    expect((await get('vic', ofTenant('?search=nobody%00'))).text).toContain('called “nobody”');
    expect((await get('sam', ofTenant('/webhooks?type=%00&endpoint=%00'))).status).toBe(200);
    const mail = await post('sam', ofTenant('/mails'), { mail: 'a\0b' });
    expect(mail.status).toBe(403);
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

  test('a theme that is nested without end is refused', async () => {
    const values = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const fields = { action: 'put', locale: 'fr', version: '0', values };
    const page = await post('sam', ofTenant('/theme'), fields);
    expect(page.status).toBe(400);
    expect(page.text).toContain('nested too deep');
  });

  test('changes of a nested document, or of a long one, are no longer than the document', async () => {
    const nested = (levels: number): string =>
      `${'['.repeat(levels)}${'0,'.repeat(10_000)}0${']'.repeat(levels)}`;
    const fields = { action: 'check', locale: 'fr', version: '0' };
    const theme = (values: string): ReturnType<typeof post> =>
      post('sam', ofTenant('/theme'), { ...fields, values });
    const program = await post('sam', ofTenant('/program'), { document: nested(1_000) });
    const pages = [await theme(nested(1_000)), program, await theme(nested(1))];
    expect(pages.map(({ status }) => status)).toEqual([400, 400, 200]);
    for (const { text } of pages) expect(text.length).toBeLessThan(150_000);
    expect(pages[2]?.text).toContain('… (the first 5000 lines)');
  });
});

describe('finance', () => {
  test('the statement of a page is that of the operation, and viewers see it', async () => {
    const { accountId } = await rewarded(1_500);
    const asked = new URLSearchParams({ account: accountId }).toString();
    const page = await get('fay', `${ofTenant('/statement')}?${asked}`);
    const answer = await fetch(
      `${running.service.origin}/operations/ledger/${tenant.alias}/statement?${asked}`,
      { headers: { authorization: basic(`:${keys.get('fay')}`) } },
    );
    const statement = (await answer.json()) as { digest: string; position: string };
    expect(figures(page, 'digest')).toEqual([statement.digest]);
    expect(figures(page, 'position')).toEqual([statement.position]);
    expect(figures(page, 'opening:CENTS')).toEqual(['0']);
    expect(figures(page, 'line.amount')).toEqual(['1500']);
    expect(figures(page, 'closing:CENTS')).toEqual(['1500']);
    expect(figures(await get('vic', `${ofTenant('/statement')}?${asked}`), 'digest')).toEqual([
      statement.digest,
    ]);
    const csv = await get('fay', `${ofTenant('/statement')}?${asked}&format=csv`);
    expect(csv.headers.get('content-type')).toContain('text/csv');
    expect(csv.text.split('\r\n')[2]).toMatch(/,1500,1500$/);
  });

  test('without an account the statement is of the whole tenant, by days', async () => {
    const own = await running.service.createTenant();
    const accountId = personal('a');
    const person = { accountId, id: personal('u'), firstName: 'T' };
    await own.live.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } });
    await own.live.post('/user', person);
    const path = `/rewards/account/${accountId}/user/${person.id}`;
    for (const assignedCredit of [700, 50])
      await own.live.post(path, { type: 'CREDIT', unit: 'Cents', assignedCredit });
    await own.live.post('/credit/bulkredeem', { amount: 120, unit: 'CENTS', accountId });
    const statement = `/console/tenants/${own.alias}/live/statement`;
    await eventually(async () => {
      const page = await get('vic', statement);
      return figures(page, 'closing:Cents')[0] === '630';
    });
    const page = await get('vic', statement);
    expect(figures(page, 'opening:Cents')).toEqual(['0']);
    expect(figures(page, 'line.issued')).toEqual(['750']);
    expect(figures(page, 'line.redeemed')).toEqual(['120']);
    expect(figures(page, 'line.balance')).toEqual(['630']);
    const today = new Date().toISOString().slice(0, 10);
    const answer = await fetch(
      `${running.service.origin}/operations/ledger/${own.alias}/tenant-statement?to=${today}`,
      { headers: { authorization: basic(`:${keys.get('fay')}`) } },
    );
    const { digest } = (await answer.json()) as { digest: string };
    expect(figures(page, 'digest')).toEqual([digest]);
    const before = await get('fay', `${statement}?to=2020-01-31&unit=cents`);
    expect(before.text).toContain('Nobody had credit');
    const csv = await get('fay', `${statement}?unit=cents&format=csv`);
    expect(csv.text.split('\r\n')).toEqual([
      'unit,day,issued,redeemed,expired,cancelled,restored,balance',
      'Cents,opening,,,,,,0',
      `Cents,${today},750,120,0,0,0,630`,
      'Cents,closing,,,,,,630',
      '',
    ]);
    const [typed, span] = [
      await get('fay', `${statement}?from=2026-10-01T12:00Z`),
      await get('fay', `${statement}?asOf=2020-01-31`),
    ];
    expect(typed.status).toBe(400);
    expect(typed.text).toContain('From takes a day');
    expect(typed.text).toContain('value="2026-10-01T12:00Z"');
    expect(span.status).toBe(400);
    expect(span.text).toContain('As of and Position need an account');
  });

  test('the events of the ledger are a file, as the command line writes it, on record', async () => {
    const { firstName, accountId } = await rewarded(10);
    const refused = await get('fay', ofTenant('/events?format=jsonl&from=soon'));
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('From takes a time');
    const file = await get('fay', ofTenant('/events?format=jsonl'));
    expect(file.headers.get('content-disposition')).toContain(`events-${tenant.alias}-live.jsonl`);
    const events = file.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; data: unknown });
    expect(JSON.stringify(events)).toContain(firstName);
    const granted = events.filter(({ data }) => JSON.stringify(data).includes(accountId));
    expect(granted.map(({ type }) => type)).toContain('RewardGranted');
    const scope = { tenant: tenant.alias, mode: 'live' } as const;
    const records = JSON.stringify(await recordedOperations(running.service.service.core, scope));
    expect(records).toContain('"operation":"ledger export begun"');
    expect(records).toContain('"operation":"ledger export"');
  });

  test('a statement that cannot be made says why beside the form, and keeps what was typed', async () => {
    const page = await get('fay', `${ofTenant('/statement')}?account=%3Cb%3Enobody&from=yesterday`);
    expect(page.status).toBe(400);
    expect(page.text).toContain('From takes a time');
    expect(page.text).toContain('value="&lt;b&gt;nobody"');
  });

  test('a replay runs, and its page shows its progress and its figures', async () => {
    await rewarded(100);
    const { status, location } = await post('fay', ofTenant('/replay'), {});
    expect(status).toBe(303);
    const page = await ended('fay', location ?? '');
    expect(figures(page, 'progress')).toEqual(['done']);
    expect(figures(page, 'differences')).toEqual(['0']);
    expect(Number(figures(page, 'events')[0])).toBeGreaterThan(3);
    // Another operator's run is not shown.
    expect((await get('flo', location ?? '')).text).toContain('not known');
  });

  test('a run is shown on the pages of its own tenant and mode alone', async () => {
    const other = await running.service.createTenant();
    for (const page of ['/replay', '/reconcile', '/verify']) {
      const { location } = await post('fay', ofTenant(page), {});
      const { search } = new URL(location ?? '', 'http://localhost');
      await ended('fay', location ?? '');
      for (const elsewhere of [`${other.alias}/live`, `${tenant.alias}/test`]) {
        const shown = await get('fay', `/console/tenants/${elsewhere}${page}${search}`);
        expect({ page, status: shown.status, figures: figures(shown, 'ok') }).toEqual({
          page,
          status: 403,
          figures: [],
        });
      }
    }
  });

  test('what another operation found is no verification', async () => {
    const { location } = await post('fay', ofTenant('/replay'), {});
    await ended('fay', location ?? '');
    const { search } = new URL(location ?? '', 'http://localhost');
    for (const page of ['/verify', '/replay', '/reconcile']) {
      const { status, text } = await get('fay', `${ofTenant(page)}${search}`);
      expect({ page, status }).toEqual({ page, status: 200 });
      expect(text).not.toMatch(/Nobody has changed the ledger|is not what was sealed/);
    }
  });

  test('a run has a page that shows how it ended and leads to its result, for its operator alone', async () => {
    const { location } = await post('fay', ofTenant('/replay'), {});
    await ended('fay', location ?? '');
    const path = `/console/runs/${new URLSearchParams(location?.split('?')[1]).get('run')}`;
    const page = await get('fay', path);
    expect(figures(page, 'progress')).toEqual(['done']);
    const links = page.text.replaceAll('&#x3D;', '=');
    expect(links).toContain(`<a href="${location}">See the result</a>`);
    expect((await get('fay', '/console/runs')).text).toContain(`<a href="${path}">`);
    expect(JSON.parse((await get('fay', `${path}/progress`)).text)).toMatchObject({
      state: 'done',
      text: 'done',
      pace: '',
    });
    for (const one of [path, `${path}/progress`])
      expect((await get('flo', one)).text).toContain('There is no such run');
    expect((await get('flo', '/console/runs')).text).not.toContain(path);
  });

  test('a reconciliation finds what a file of balances says otherwise', async () => {
    const { accountId } = await rewarded(700);
    const balances = `account,unit,balance\n${accountId},CENTS,650\n`;
    const started = await post('fay', ofTenant('/reconcile'), {}, { balances });
    const page = await ended('fay', started.location ?? '');
    expect(figures(page, 'ok')).toEqual(['false']);
    const row = page.text.split('<tr>').find((text) => text.includes(accountId)) ?? '';
    expect(row).toContain('data-figure="difference.ledger" data-value="700"');
    expect(row).toContain('data-figure="difference.against" data-value="650"');
    const faulty = await post('fay', ofTenant('/reconcile'), {}, { balances: 'a,b\n' });
    expect(faulty.status).toBe(400);
    expect(faulty.text).toContain('must begin with the line account,unit,balance');
  });

  test('a correction is proposed by one and appended by another, once', async () => {
    const { accountId, userId } = await rewarded(1_000);
    const fields = { account: accountId, user: userId, unit: 'CENTS', amount: '-300', reason: 'x' };
    const asked = { action: 'propose', key: personal('k'), ...fields };
    expect((await post('fay', ofTenant('/corrections'), asked)).status).toBe(303);
    // The form is sent again, as a browser does after going back.
    expect((await post('fay', ofTenant('/corrections'), asked)).status).toBe(303);
    const own = await get('fay', ofTenant('/corrections'));
    expect(own.text.split(accountId)).toHaveLength(2);
    expect(own.text).toContain('another person approves it');
    const others = await get('flo', ofTenant('/corrections'));
    const proposal = /name="proposal" value="([^"]+)"/.exec(others.text)?.[1] ?? '';
    const approval = { action: 'approve', proposal };
    expect((await post('fay', ofTenant('/corrections'), approval)).status).toBe(403);
    const test = `/console/tenants/${tenant.alias}/test/corrections`;
    expect((await post('flo', test, approval)).status).toBe(403);
    expect((await post('flo', ofTenant('/corrections'), approval)).status).toBe(303);
    const statement = await get('fay', `${ofTenant('/statement')}?account=${accountId}`);
    expect(figures(statement, 'closing:CENTS')).toEqual(['700']);
    const wrong = await post('fay', ofTenant('/corrections'), { ...asked, amount: '1.5', key: '' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('value="1.5"');
  });

  test('a month is closed and opened again with a reason', async () => {
    const close = { action: 'close', period: '2024-02', comment: 'looked at' };
    expect((await post('fay', ofTenant('/periods'), close)).status).toBe(303);
    expect((await get('fay', ofTenant('/periods'))).text).toContain('Reopen 2024-02');
    expect((await post('fay', ofTenant('/periods'), close)).status).toBe(400);
    const reopen = { action: 'reopen', period: '2024-02', comment: 'too early' };
    expect((await post('fay', ofTenant('/periods'), reopen)).status).toBe(303);
    expect((await get('fay', ofTenant('/periods'))).text).not.toContain('Reopen 2024-02');
    expect((await post('fay', ofTenant('/periods'), { ...close, comment: '' })).status).toBe(400);
  });

  test('the chain verifies with the file of a digest', async () => {
    await rewarded(10);
    const made = await post('fay', ofTenant('/verify'), { action: 'digest' });
    const page = await ended('fay', made.location ?? '');
    const digest = (await get('fay', `${made.location}&format=json`)).text;
    expect(figures(page, 'digest')).toEqual([(JSON.parse(digest) as { digest: string }).digest]);
    const started = await post('fay', ofTenant('/verify'), { action: 'verify' }, { digest });
    expect(figures(await ended('fay', started.location ?? ''), 'ok')).toEqual(['true']);
    const other = digest.replace('"live"', '"test"');
    expect((await post('fay', ofTenant('/verify'), {}, { digest: other })).status).toBe(400);
  });
});

describe('tables are in the order of their address', () => {
  const shownIn = ({ text }: Page, texts: readonly string[]): readonly string[] =>
    [...texts].sort((one, other) => text.indexOf(one) - text.indexOf(other));

  test('the lines of a statement, between its opening and its closing', async () => {
    const { accountId, userId } = await rewarded(300);
    for (const assignedCredit of [20, 1_000])
      await sent(`/rewards/account/${accountId}/user/${userId}`, {
        type: 'CREDIT',
        unit: 'CENTS',
        assignedCredit,
      });
    const path = `${ofTenant('/statement')}?account=${accountId}`;
    const amounts = async (order: string) => figures(await get('fay', path + order), 'line.amount');
    expect(await amounts('')).toEqual(['300', '20', '1000']);
    expect(await amounts('&sort=amount&dir=asc')).toEqual(['20', '300', '1000']);
    expect(await amounts('&sort=amount&dir=desc')).toEqual(['1000', '300', '20']);
    const sorted = await get('fay', `${path}&sort=amount&dir=desc`);
    expect(figures(sorted, 'closing:CENTS')).toEqual(['1320']);
    expect(sorted.text).toContain('aria-sort="descending"');
  });

  test('people of an account', async () => {
    const accountId = personal('a');
    await onTrial(accountId);
    for (const firstName of ['Qmia', 'Qada', 'Qzoe'])
      await sent('/user', { id: personal('u'), accountId, firstName });
    const path = ofTenant(`/accounts/${accountId}`);
    const names = ['Qada', 'Qmia', 'Qzoe'];
    const cells = names.map((name) => `<td>${name}</td>`);
    const order = async (query: string): Promise<string> =>
      shownIn(await get('sam', path + query), cells).join();
    expect(await order('')).toBe([cells[1], cells[0], cells[2]].join());
    expect(await order('?sort=people.name&dir=asc')).toBe(cells.join());
    expect(await order('?sort=people.name&dir=desc')).toBe([...cells].reverse().join());
  });

  test('proposals and closed months', async () => {
    const { accountId: account, userId: user } = await rewarded(1_000);
    for (const amount of ['-31', '-33', '-32'])
      await post('fay', ofTenant('/corrections'), {
        action: 'propose',
        key: personal('k'),
        account,
        user,
        unit: 'CENTS',
        amount,
        reason: `by ${amount}`,
      });
    const reasons = ['by -33', 'by -32', 'by -31'];
    const waiting = (query: string) => get('flo', ofTenant(`/corrections${query}`));
    expect(shownIn(await waiting('?sort=amount&dir=asc'), reasons)).toEqual(reasons);
    expect(shownIn(await waiting('?sort=amount&dir=desc'), reasons)).toEqual(reasons.toReversed());
    const months = ['2023-01', '2023-02'].map((period) => `Reopen ${period}`);
    for (const period of ['2023-01', '2023-02'])
      await post('fay', ofTenant('/periods'), { action: 'close', period, comment: 'looked at' });
    const closed = (query: string) => get('fay', ofTenant(`/periods${query}`));
    expect(shownIn(await closed(''), months)).toEqual(months.toReversed());
    expect(shownIn(await closed('?sort=month&dir=asc'), months)).toEqual(months);
  });

  test.each<[string, Name, string]>([
    ['/moderation?waiting=referrer', 'sam', 'Nothing waits'],
    ['/webhooks', 'sam', 'No endpoint is subscribed'],
  ])('%s says so when it has none to sort', async (page, who, empty) => {
    const sorted = await get(who, `${ofTenant(page)}${page.includes('?') ? '&' : '?'}sort=state`);
    expect(sorted).toMatchObject({ status: 200 });
    expect(sorted.text).toContain(empty);
  });
});

describe('an account', () => {
  test('its page shows people, credit and history to staff, and nobody to viewers', async () => {
    const { accountId, userId, firstName } = await rewarded(900);
    const path = ofTenant(`/accounts/${accountId}`);
    const staff = await get('sam', path);
    expect(figures(staff, 'available:CENTS')).toEqual(['900']);
    expect(figures(staff, 'assigned:CENTS')).toEqual(['900']);
    expect(staff.text).toContain(`900 CENTS granted to ${firstName}, by hand`);
    expect(staff.text).toContain(`${userId}@example.com`);
    const viewer = await get('vic', path);
    expect(figures(viewer, 'available:CENTS')).toEqual(['900']);
    for (const secret of [userId, firstName]) expect(viewer.text).not.toContain(secret);
  });

  test('its page shows an earlier moment', async () => {
    const { accountId, userId } = await rewarded(900);
    const path = ofTenant(`/accounts/${accountId}`);
    const [position = ''] = figures(await get('fay', path), 'position');
    const more = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 50 };
    await sent(`/rewards/account/${accountId}/user/${userId}`, more);
    expect(figures(await get('fay', path), 'available:CENTS')).toEqual(['950']);
    const earlier = await get('fay', `${path}?position=${position}`);
    expect(figures(earlier, 'available:CENTS')).toEqual(['900']);
    expect((await get('fay', ofTenant('/accounts/nobody'))).status).toBe(404);
  });

  test('the history of a long account is read in pages, and its credit from where it was read before', async () => {
    const { accountId, userId } = await rewarded(900);
    const grant = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1 };
    for (let granted = 0; granted < 120; granted++)
      await sent(`/rewards/account/${accountId}/user/${userId}`, grant);
    const path = ofTenant(`/accounts/${accountId}`);
    const first = await get('fay', path);
    expect(figures(first, 'available:CENTS')).toEqual(['1020']);
    const count = Number(figures(first, 'events')[0]);
    await sent(`/rewards/account/${accountId}/user/${userId}`, grant);
    const { log } = running.service.service.core;
    const read = jest.spyOn(log, 'readStream');
    const again = await get('fay', path);
    const limits = read.mock.calls.map(([, options = {}]) => options);
    read.mockRestore();
    expect(figures(again, 'available:CENTS')).toEqual(['1021']);
    expect(figures(again, 'events')).toEqual([String(count + 1)]);
    for (const { limit, from = 0n, end } of limits)
      expect(limit ?? (end === undefined && from === 0n ? Infinity : 0)).toBeLessThanOrEqual(100);
    expect(shownEvents(again)).toBe(100);
    const [, older = ''] = /<a href="([^"]*)">Older events/.exec(again.text) ?? [];
    const last = await get('fay', older.replaceAll('&amp;', '&').replaceAll('&#x3D;', '='));
    expect(shownEvents(last)).toBe(count + 1 - 100);
    expect(last.text).not.toContain('Older events');
    const statement = await get('fay', `${ofTenant('/statement')}?account=${accountId}`);
    expect(figures(statement, 'closing:CENTS')).toEqual(['1021']);
  });

  test('its page lists the newest 200 people, and says how many there are', async () => {
    const accountId = personal('a');
    await onTrial(accountId);
    const join = (): Promise<void> =>
      sent('/user', { id: personal('u'), accountId, firstName: 'Crowd' });
    const oldest = { id: personal('u'), accountId, firstName: 'Oldest' };
    await sent('/user', oldest);
    for (let joined = 0; joined < 200; joined += 50)
      await Promise.all(Array.from({ length: 50 }, join));
    const { text } = await get('sam', ofTenant(`/accounts/${accountId}`));
    expect(text.split('<td>Crowd</td>')).toHaveLength(201);
    expect(text).not.toContain('<td>Oldest</td>');
    expect(text).toContain('The newest of 201.');
  });

  test('values of people are text', async () => {
    const accountId = personal('a');
    const [id, firstName] = [personal('u'), '<script>alert(1)</script>{{7*7}}'];
    await onTrial(accountId);
    await sent('/user', { id, accountId, firstName });
    const { text } = await get('fay', ofTenant(`/accounts/${accountId}`));
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;{{7*7}}');
    expect(text).not.toContain('<script>alert');
  });

  test('a search leads to the only account that it finds', async () => {
    const { accountId, userId } = await rewarded(5);
    const search = (who: Name, text: string) =>
      get(who, `${ofTenant()}?${new URLSearchParams({ search: text }).toString()}`);
    const account = { status: 303, location: ofTenant(`/accounts/${accountId}`) };
    expect(await search('vic', accountId)).toMatchObject(account);
    expect(await search('sam', `${userId}@exam`)).toMatchObject(account);
    expect((await search('vic', `${userId}@exam`)).text).toContain('Nothing is called');
    const [rewardId = ''] =
      /[0-9a-f]{40,}/.exec((await get('fay', ofTenant(`/accounts/${accountId}`))).text) ?? [];
    expect(await search('fay', rewardId)).toMatchObject(account);
  });

  test('each look is on record, without the name that was looked for', async () => {
    const { accountId } = await rewarded(5);
    await get('sam', ofTenant(`/accounts/${accountId}`));
    const scope = { tenant: tenant.alias, mode: 'live' } as const;
    const records = await recordedOperations(running.service.service.core, scope);
    const looks = records
      .map((record) => JSON.stringify(record))
      .filter((record) => record.includes('console account'));
    expect(looks.length).toBeGreaterThan(0);
    expect(looks.join()).not.toContain(accountId);
  });
});

describe('the overview', () => {
  test('counts conversions, outstanding credit, and what waits for a decision on either side', async () => {
    const shop = await running.service.createTenant({
      program: { ...DEFAULT_PROGRAM, moderation: { referred: 'APPROVED', referrer: 'PENDING' } },
    });
    const path = `/console/tenants/${shop.alias}/live`;
    const person = async (id: string, account: object): Promise<void> => {
      await shop.live.post('/accountsync', { id, subscription: { status: 'TRIAL' }, ...account });
      await shop.live.post('/user', { id, accountId: id, referralCode: id });
    };
    const [ann, bob, cid] = [personal('a'), personal('b'), personal('c')].map((id) =>
      id.replace(/[^0-9A-Za-z]/g, '').slice(-15),
    ) as [string, string, string];
    await person(ann, {});
    await person(bob, { referral: { code: ann } });
    const paid = {
      status: 'PAID',
      value: 1,
      billingIntervalType: 'MONTH',
      billingIntervalValue: 1,
    };
    await person(cid, { referral: { code: ann } });
    await shop.live.post('/accountsync', { id: cid, subscription: paid });
    const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 250 };
    await shop.live.post(`/rewards/account/${bob}/user/${bob}`, reward);
    await shop.live.get('/referrals');
    // No read of a client waits for this read model.
    await eventually(async () => figures(await get('vic', path), 'outstanding:CENTS')[0] === '250');
    await eventually(async () => figures(await get('vic', path), 'conversions')[0] === '1');
    const page = await get('vic', path);
    expect(figures(page, 'referrals')).toEqual(['2']);
    expect(figures(page, 'conversions')).toEqual(['1']);
    expect(figures(page, 'referrals.pending')).toEqual(['2']);
    expect(figures(page, 'outstanding:CENTS')).toEqual(['250']);
    expect(figures(page, 'redeemed:CENTS')).toEqual(['0']);
    expect(page.text).toContain('aria-label="Outstanding CENTS over time"');
    expect(page.text).toContain(`data-live="${path}"`);
    const waiting = `${path}/moderation?waiting=referrer`;
    expect((await get('sam', `${path}/moderation`)).text).toContain('on the other side: 2</a>');
    const queue = await get('sam', waiting);
    expect(figures(queue, 'referrals.pending')).toEqual(['2']);
    const byStart = (dir: string): Promise<Page> =>
      get('sam', `${waiting}&sort=started&dir=${dir}`);
    const startedAt = ({ text }: Page): string[] =>
      [...text.matchAll(/datetime="([^"]*)"/g)].map(([, at = '']) => at);
    const oldestFirst = startedAt(await byStart('asc'));
    expect(oldestFirst).toEqual([...oldestFirst].sort());
    expect(startedAt(await byStart('desc'))).toEqual(oldestFirst.toReversed());
    const [, referral = ''] = /name="referral" value="([^"]*)"/.exec(queue.text) ?? [];
    const decided = { referral, side: 'REFERRER', action: 'APPROVED' };
    const sent = { ...decided, waiting: hiddenIn(queue, 'waiting') };
    expect(await post('sam', `${path}/moderation`, sent)).toMatchObject({
      status: 303,
      location: waiting,
    });
    expect(figures(await get('sam', waiting), 'referrals.pending')).toEqual(['1']);
  });
});

describe('the work behind a ledger, on its overview', () => {
  test('says since when a webhook waits, how many are dead, what is sealed, and how far read models are', async () => {
    const { pool } = running.service.service.core;
    const shop = await running.service.createTenant();
    const path = `/console/tenants/${shop.alias}/live`;
    const idle = await get('vic', path);
    expect(figures(idle, 'webhooks.oldest')).toEqual(['none']);
    expect(figures(idle, 'webhooks.dead')).toEqual(['0']);
    const insert = `insert into ledger.webhook_deliveries
      (id, tenant, mode, endpoint_id, webhook_id, type, subject, created, state, next_attempt_at, ended_at)
      values ($1, $2, $3, 'none', $1, 'test', '{}', $4, $5, '2100-01-01', null)`;
    const made = (mode: string, created: string, state: string): Promise<unknown> =>
      pool.query(insert, [randomUUID(), shop.alias, mode, created, state]);
    await made('live', '2026-03-02T00:00:00Z', 'PENDING');
    await made('live', '2026-03-01T00:00:00Z', 'PENDING');
    await made('live', '2026-02-01T00:00:00Z', 'DEAD');
    await made('live', '2026-02-01T00:00:00Z', 'DELIVERED');
    await made('test', '2026-01-01T00:00:00Z', 'PENDING');
    await made('test', '2026-01-01T00:00:00Z', 'DEAD');
    const page = await get('vic', path);
    expect(figures(page, 'webhooks.oldest')).toEqual(['2026-03-01T00:00:00.000Z']);
    expect(figures(page, 'webhooks.dead')).toEqual(['1']);
    await pool.query('delete from ledger.webhook_deliveries where tenant = $1', [shop.alias]);
    const before = Date.now();
    const sealed = async (): Promise<string> => figures(await get('vic', path), 'sealed')[0] ?? '';
    await eventually(async () => Date.parse(await sealed()) >= before);
    const caughtUp = async (): Promise<boolean> =>
      figures(await get('vic', path), 'lag.events')[0] === '0';
    await eventually(caughtUp);
    expect(figures(await get('vic', path), 'lag.seconds')).toEqual(['0']);
  });
});

/** The text that a page offers to be edited. */
const documentIn = ({ text }: Page): string =>
  (/<textarea[^>]*>([^<]*)</.exec(text)?.[1] ?? '')
    .replace(/&quot;/g, '"')
    .replace(/&#x27;/g, "'")
    .replace(/&#x3D;/g, '=')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');

describe('support', () => {
  test('a table is in the order of its address, and its heads lead to the other ones', async () => {
    const namesOn = ({ text }: Page): string[] =>
      [...text.matchAll(/data-figure="generation:([^"]*)"/g)].map(([, name = '']) => name);
    const plain = await get('sam', '/console/projections');
    expect(plain.text).toContain('<th scope="col"><a href="?sort&#x3D;name&amp;dir&#x3D;asc">');
    const up = await get('sam', '/console/projections?sort=name&dir=asc');
    expect(namesOn(up)).toEqual([...namesOn(plain)].sort());
    expect(up.text).toContain('aria-sort="ascending"><a href="?sort&#x3D;name&amp;dir&#x3D;desc">');
    const down = await get('sam', '/console/projections?sort=name&dir=desc');
    expect(namesOn(down)).toEqual([...namesOn(up)].reverse());
    const none = await get('sam', '/console/projections?sort=nothing&dir=desc');
    expect(namesOn(none)).toEqual(namesOn(plain));
  });

  test('a projection is rebuilt, compared, swapped in after a typed confirmation, and rolled back', async () => {
    let compared = '';
    const act = async (action: string, confirmed = ''): Promise<Page> => {
      const fields = { action, projection: 'rewards', confirmed };
      const { status, location, text } = await post('sam', '/console/projections', fields);
      if (status !== 303) throw new Error(text);
      if (action === 'diff') compared = location ?? '';
      return ended('sam', location ?? '');
    };
    expect(figures(await act('rebuild'), 'progress')).toEqual(['done']);
    const diff = await act('diff');
    expect(figures(diff, 'differences')).toEqual(['0']);
    const [, run = ''] = /[?&]run=([0-9a-f-]+)/.exec(compared) ?? [];
    const csv = await get('sam', `/console/projections?run=${run}&format=csv`);
    expect(csv.headers.get('content-type')).toContain('text/csv');
    expect(csv.text).toBe('table,kind,row,column,live,new\r\n');
    expect((await get('fay', `/console/projections?run=${run}&format=csv`)).status).toBe(403);
    await expect(act('swap', 'reward')).rejects.toThrow('type its name to confirm');
    expect(figures(await act('swap', 'rewards'), 'generation:rewards')).toEqual(['2']);
    expect(figures(await act('rollback', 'rewards'), 'generation:rewards')).toEqual(['1']);
    const repaired = await post('sam', '/console/projections', {
      action: 'rebuild',
      projection: 'rewards',
      tenant: tenant.alias,
      mode: 'live',
    });
    expect(figures(await ended('sam', repaired.location ?? ''), 'progress')).toEqual(['done']);
    expect(figures(await get('sam', '/console/projections'), 'parked:rewards')).toEqual(['0']);
  });

  test('a tenant leads to the read models with its name filled in, and a part needs a tenant', async () => {
    expect(await get('fay', ofTenant('/projections'))).toMatchObject({ status: 403 });
    const { status, location } = await get('sam', ofTenant('/projections'));
    expect({ status, location }).toEqual({
      status: 303,
      location: `/console/projections?tenant=${tenant.alias}&mode=live`,
    });
    expect((await get('sam', location ?? '')).text).toContain(`value="${tenant.alias}"`);
    const part = { action: 'rebuild', projection: 'rewards', account: 'some-account' };
    const refused = await post('sam', '/console/projections', part);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('Account: name its tenant as well.');
    expect(refused.text).toContain('value="some-account"');
  });

  test('a program is compared with the live one, applied, and not over somebody else', async () => {
    const path = ofTenant('/program');
    const page = await get('sam', path);
    const live = documentIn(page);
    const changed = live.replace('"discountPercent": 10', '"discountPercent": 12');
    expect(changed).not.toBe(live);
    const asked = { document: changed, version: '1' };
    const compared = await post('sam', path, { ...asked, action: 'check' });
    expect(compared.text).toMatch(
      /− +&quot;discountPercent&quot;: 10[^]*\+ +&quot;discountPercent&quot;: 12/,
    );
    expect(figures(await get('sam', path), 'version')).toEqual(['1']);
    expect((await post('sam', path, { ...asked, action: 'apply' })).text).toContain(
      'Look at the changes first',
    );
    const seen = { ...asked, compared: hiddenIn(compared, 'compared'), action: 'apply' };
    expect((await post('sam', path, seen)).status).toBe(303);
    expect(figures(await get('sam', path), 'version')).toEqual(['2']);
    const late = await post('sam', path, seen);
    expect(late.status).toBe(400);
    expect(late.text).toContain('is at version 2 by now');
    const faulty = await post('sam', path, { ...asked, document: '{"id": 7}', action: 'apply' });
    expect(faulty.status).toBe(400);
    expect(faulty.text).toContain('/id');
    expect(JSON.parse(documentIn(faulty))).toEqual({ id: 7 });
    const broken = await post('sam', path, { ...asked, document: '{"id": ', action: 'check' });
    expect(broken.status).toBe(400);
    expect(documentIn(broken)).toBe('{"id":');
  });

  test('the fields of a program change its JSON, and say what is wrong with them', async () => {
    const path = ofTenant('/program');
    const page = await get('sam', path);
    const asked = {
      action: 'check',
      fields: 'shown',
      was: hiddenIn(page, 'was'),
      document: documentIn(page),
      referredReward: 'PCT_DISCOUNT',
      'referredReward.discountPercent': '15',
      'referredReward.monthsDiscountIsValid': '6',
      referrerReward: 'NONE',
    };
    const changed = await post('sam', path, asked);
    expect(JSON.parse(documentIn(changed))).toEqual({
      id: 'default',
      referredReward: { type: 'PCT_DISCOUNT', discountPercent: 15, monthsDiscountIsValid: 6 },
      referrerReward: null,
    });
    const wrong = { ...asked, 'referredReward.discountPercent': '150' };
    const refused = await post('sam', path, wrong);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(
      /value="150" inputmode="numeric" aria-invalid="true"[^]*?must be &lt;&#x3D; 100/,
    );
    // A changed text counts, whatever the fields say.
    const typed = await post('sam', path, { ...asked, document: '{"id":"default"}' });
    expect(JSON.parse(documentIn(typed))).toEqual({ id: 'default' });
  });

  test('three choices make a program that is applied as it is', async () => {
    const shop = await running.service.createTenant();
    const path = `/console/tenants/${shop.alias}/live/program`;
    const made = await get('sam', `${path}?friend=credit&referrer=nothing&when=started`);
    const asked = { document: documentIn(made), compared: hiddenIn(made, 'compared') };
    const sent = { ...asked, version: '1', action: 'apply' };
    expect((await post('sam', path, sent)).status).toBe(303);
    expect(JSON.parse(documentIn(await get('sam', path)))).toEqual({
      id: 'default',
      referredReward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1000 },
      referrerReward: null,
    });
  });

  test('a theme is shown before it is published, in a frame that fetches nothing', async () => {
    const path = ofTenant('/theme');
    const values = documentIn(await get('sam', path)).replace(
      /"heading": "[^"]*"(?=[^}]*"siteUrl")/,
      '"heading": "Hello, {{friend.name}}"',
    );
    const preview = await post('sam', `${path}/preview`, { locale: '', values });
    expect(preview).toMatchObject({ status: 200 });
    expect(preview.text).toContain('Hello, Bob R');
    const policy = preview.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/frame-ancestors 'self'; sandbox$/);
    expect(preview.headers.get('x-frame-options')).toBeNull();
    const faulty = await post('sam', `${path}/preview`, { values: '{"page":{"x":"<b>"}}' });
    expect(faulty.text).toContain('No preview');
    const compared = await post('sam', path, { action: 'check', locale: '', values });
    expect(compared.text).toMatch(/\+ .*Hello, /);
    expect((await get('sam', path)).text).not.toContain('Hello, ');
  });

  test('a theme is published, and not over somebody else', async () => {
    const path = ofTenant('/theme');
    const shown = JSON.parse(documentIn(await get('sam', path))) as { page: object };
    const heading = 'Welcome from {{friend.name}}';
    const values = JSON.stringify({ ...shown, page: { ...shown.page, heading } });
    const asked = { action: 'put', locale: '', version: '0', values };
    expect((await post('sam', path, asked)).status).toBe(303);
    expect((await get('sam', path)).text).toContain('Welcome from');
    expect((await post('sam', path, asked)).text).toContain('meanwhile');
    const faulty = await post('sam', path, { ...asked, version: '1', values: '{"page":{"x":1}}' });
    expect(faulty.status).toBe(400);
    expect(faulty.text).toContain('page');
  });

  test('an export is asked for, appears at once, and its file is downloaded, on record', async () => {
    const { accountId } = await rewarded(70);
    const name = personal('export');
    const fields = { action: 'ask', type: 'REWARD_BALANCE', format: 'CSV', name };
    const wrong = await post('sam', ofTenant('/exports'), { ...fields, createdSince: 'soon' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('params.createdSince must be a time');
    expect(wrong.text).toContain(`value="${name}"`);
    expect(wrong.text).toContain('value="soon"');
    const asked = await post('sam', ofTenant('/exports'), fields);
    expect(asked).toMatchObject({ status: 303 });
    const first = await get('sam', asked.location ?? '');
    expect(first.text).toContain(`<td>${name}</td>`);
    let path = '';
    await eventually(async () => {
      const page = await get('sam', asked.location ?? '');
      const row = page.text.split('<tr>').find((text) => text.includes(name)) ?? '';
      path = /href="([^"]*\/file)" download/.exec(row)?.[1] ?? '';
      return path !== '';
    });
    const file = await get('sam', path);
    expect(file).toMatchObject({ status: 200 });
    expect(file.headers.get('content-disposition')).toContain(`filename="${name}.csv"`);
    expect(file.text).toContain(accountId);
    expect((await get('fay', path)).status).toBe(403);
    const other = await running.service.createTenant();
    const elsewhere = path.replace(tenant.alias, other.alias);
    expect((await get('sam', elsewhere)).status).toBe(403);
    const scope = { tenant: tenant.alias, mode: 'live' } as const;
    const records = JSON.stringify(await recordedOperations(running.service.service.core, scope));
    expect(records).toContain('"operation":"export run"');
    expect(records).toContain('"operation":"export download"');
  });

  test('an endpoint is added, tested, given a new secret and removed', async () => {
    const path = ofTenant('/webhooks');
    const endpoint = 'https://shop.invalid/hooks';
    const act = (action: string, more: object = {}) =>
      post('sam', path, { action, endpoint, ...more });
    const added = await act('add', { name: 'shop' });
    const [secret = ''] = figures(added, 'secret');
    expect(secret).toMatch(/^whsec_/);
    expect((await get('sam', path)).text).not.toContain(secret);
    const twice = await act('add');
    expect(twice).toMatchObject({ status: 400 });
    expect(twice.text).toContain('is subscribed already');
    expect((await act('test')).status).toBe(303);
    expect((await get('sam', `${path}?type=test`)).text).toContain('?delivery=');
    const [newer = ''] = figures(await act('rotate', { grace: '1h' }), 'secret');
    expect(newer).toMatch(/^whsec_/);
    expect(newer).not.toBe(secret);
    expect((await act('remove')).status).toBe(303);
    expect((await act('remove')).status).toBe(400);
    expect((await get('sam', path)).text).toContain('No endpoint is subscribed');
    for (const wrong of ['no address', 'ftp://shop.invalid', 'http://127.0.0.1/hooks']) {
      const refused = await act('add', { endpoint: wrong });
      expect({ wrong, status: refused.status }).toEqual({ wrong, status: 400 });
      expect(refused.text).toContain(`value="${wrong}"`);
    }
  });
});

describe('the settings of a tenant', () => {
  let shop: TestTenant;
  let path: string;
  const seenIn = (page: Page, action: string): string =>
    new RegExp(`name="seen" value="([^"]*)"(?:(?!</form>)[^])*value="${action}"`).exec(
      page.text,
    )?.[1] ?? '';
  const saved = async (fields: Readonly<Record<string, string>>): Promise<Page> => {
    const seen = seenIn(await get('sam', path), 'settings');
    return post('sam', path, { action: 'settings', seen, ...fields });
  };

  beforeAll(async () => {
    shop = await running.service.createTenant();
    path = `/console/tenants/${shop.alias}/live/settings`;
  });

  test('a new API key is shown once, works at once, and a form sent twice makes one', async () => {
    const seen = seenIn(await get('sam', path), 'rotate-key');
    const asked = { action: 'rotate-key', grace: '0', seen };
    const [key = ''] = figures(await post('sam', path, asked), 'secret');
    const users = async (one: string): Promise<number> => {
      const headers = { authorization: basic(`:${one}`) };
      const url = `${running.service.origin}/api/v1/${shop.alias}/users`;
      return (await fetch(url, { headers })).status;
    };
    expect(await users(key)).toBe(200);
    const again = await post('sam', path, asked);
    expect(again.status).toBe(400);
    expect(again.text).toContain('has changed the API key meanwhile');
    expect(await users(key)).toBe(200);
    expect((await get('sam', path)).text).not.toContain(key);
    const scope = { tenant: shop.alias, mode: 'live' } as const;
    const records = JSON.stringify(await recordedOperations(running.service.service.core, scope));
    expect(records).toContain('tenant rotate-key');
    expect(records).not.toContain(key);
  });

  test('a signing secret is rotated, and the one before is listed until its grace is over', async () => {
    const seen = seenIn(await get('sam', path), 'rotate-secret');
    const rotated = await post('sam', path, { action: 'rotate-secret', grace: '7d', seen });
    expect(figures(rotated, 'secret')[0]).toMatch(/^live_secret_/);
    expect((await get('sam', path)).text).toMatch(/signing-live<\/td><td><time/);
    const grace = await post('sam', path, { action: 'rotate-key', grace: 'ever', seen });
    expect(grace.status).toBe(400);
  });

  test('switches are saved, and not over somebody else’s change', async () => {
    const before = seenIn(await get('sam', path), 'settings');
    const on = { openEndpoints: 'on', minimal: 'on', mail: 'WELCOME' };
    const lists = { addresses: 'ann@shop.example', origins: 'https://shop.example' };
    expect((await saved({ ...on, ...lists })).status).toBe(303);
    const { text } = await get('sam', path);
    for (const name of ['openEndpoints', 'minimal'])
      expect(text).toMatch(new RegExp(`name="${name}" checked`));
    expect(text).toContain('value="WELCOME" checked');
    expect(text).toContain('>ann@shop.example</textarea>');
    expect(text).toContain('>https://shop.example</textarea>');
    const late = await post('sam', path, { action: 'settings', seen: before });
    expect(late.status).toBe(400);
    expect(late.text).toContain('somebody has changed the settings meanwhile');
    expect(late.text).toContain('Open endpoints: on by now');
    expect((await get('sam', path)).text).toContain('name="openEndpoints" checked');
    const faulty = await saved({ origins: 'shop.example', addresses: 'ann' });
    expect(faulty.status).toBe(400);
    expect(faulty.text).toContain('allowed origins: up to 100');
    expect(faulty.text).toContain('>shop.example</textarea>');
  });

  test('limits of calls and the age of user tokens are saved, and say what is wrong with them', async () => {
    const tokensNotBefore = '2026-02-01T08:00:00Z';
    expect((await saved({ 'limit-code': '7', tokensNotBefore })).status).toBe(303);
    const { tenants } = running.service.service.core;
    expect(await tenants.read(shop.alias)).toMatchObject({
      openRules: { rateLimits: { code: 7 } },
      tokensNotBefore: Date.parse(tokensNotBefore),
    });
    const { text } = await get('sam', path);
    expect(text).toContain('name="limit-code" value="7"');
    expect(text).toContain('name="tokensNotBefore" value="2026-02-01T08:00:00.000Z"');
    const wrong = await saved({ 'limit-code': 'many', tokensNotBefore: '2999-01-01' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('calls of a client, code: a whole number');
    expect(wrong.text).toContain('user tokens not before: ');
    expect(wrong.text).toContain('name="limit-code" value="many"');
    expect(wrong.text).toContain('name="tokensNotBefore" value="2999-01-01"');
    // Empty fields are the defaults.
    expect((await saved({ 'limit-code': '', tokensNotBefore: '' })).status).toBe(303);
    expect(await tenants.read(shop.alias)).toMatchObject({ tokensNotBefore: null });
    expect((await get('sam', path)).text).toContain('name="limit-code" value="100"');
  });

  test('nobody is let in while the tenant is suspended', async () => {
    expect((await post('sam', path, { action: 'suspend', reason: ' ' })).status).toBe(400);
    expect((await post('sam', path, { action: 'suspend', reason: 'unpaid' })).status).toBe(303);
    expect((await get('sam', path)).text).toContain('unpaid');
    expect((await post('sam', path, { action: 'resume' })).status).toBe(303);
    expect((await get('sam', path)).text).not.toContain('unpaid');
  });
});

test('the page of patterns has each component, and its table is sorted by its heads', async () => {
  const page = await get('vic', '/console/patterns?sort=amount');
  expect(figures(page, 'progress')).toEqual(['replaying: 1200 of 4800', 'done']);
  expect(page.text).toContain('40 a second, 90 s left');
  // Its sample of a run is asked nobody about: the answer would load the page again and again.
  expect(page.text).not.toContain('data-run=');
  expect(page.text).toContain('aria-sort="ascending"');
  expect(page.text.indexOf('&lt;b&gt;Bob')).toBeLessThan(page.text.indexOf('Ann Lee'));
  for (const part of ['problem', 'done', 'empty', 'figures', 'plot', 'scroll', 'fields', 'history'])
    expect(page.text).toContain(`class="${part}"`);
});
