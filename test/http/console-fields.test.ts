import {
  get,
  ofTenant,
  onTrial,
  open,
  post,
  running,
  setUpConsole,
  tenant,
  type Name,
  type Page,
} from '../support/console-staff.js';
import type { TestTenant } from '../support/running-service.js';

/** What forms of the console say at the field that is wrong. */

setUpConsole();

let paid: TestTenant;
beforeAll(async () => {
  paid = await running.service.createTenant({ programType: 'PAYMENT_PROVIDER' });
  await onTrial('acme');
});

const ofPaid = (path: string): string => `/console/tenants/${paid.alias}/live${path}`;

/** The text of a note; undefined: there is no such element. */
const noteIn = (text: string, id: string): string | undefined =>
  text
    .split('<span class="wrong" id="')
    .find((part) => part.startsWith(`${id}">`))
    ?.slice(id.length + 2)
    .split('<')[0];

/** Fields that are marked, and what is read out with each. */
function marked({ text }: Page): Readonly<Record<string, string | undefined>> {
  const controls = [...text.matchAll(/<(?:input|select|textarea) [^>]*aria-invalid="true"[^>]*>/g)];
  return Object.fromEntries(
    controls.map(([control]) => {
      const [, id = ''] = /id="([^"]*)"/.exec(control) ?? [];
      const [, notes = ''] = /aria-describedby="([^"]*)"/.exec(control) ?? [];
      return [id, noteIn(text, notes.split(' ').at(-1) ?? '')];
    }),
  );
}

/** By a query: `path?fields`; by a form: fields. */
interface Case {
  readonly what: string;
  readonly who: Name;
  readonly path: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly at: Readonly<Record<string, string>>;
  readonly keeps?: string;
}

const DAY = 'From takes a day such as 2026-10-31';
const TIME = 'takes a time such as 2026-10-31T23:59:59Z';
const PERIOD = 'Month takes a month such as 2026-10';
const SECRETS = {
  action: 'connect',
  webhookSecret: 'whsec_fields0001',
  secretKey: 'sk_live_fields0001',
};
const CORRECTION = { action: 'propose', account: 'a', user: 'u', unit: 'CENTS', reason: 'r' };

const CASES: readonly Case[] = [
  {
    what: 'a statement of the tenant from a time',
    who: 'fay',
    path: '/statement?from=yesterday',
    at: { from: DAY },
    keeps: 'value="yesterday"',
  },
  {
    what: 'a statement of an account there is not',
    who: 'fay',
    path: '/statement?account=nobody',
    at: { account: expect.stringContaining('there is no account nobody') as string },
    keeps: 'value="nobody"',
  },
  {
    what: 'what is typed is text, in its field and in what is said',
    who: 'fay',
    path: `/statement?account=${encodeURIComponent('"><img src=x onerror=alert(1)>')}`,
    at: { account: expect.stringContaining('&quot;&gt;&lt;img src&#x3D;x') as string },
    keeps: 'value="&quot;&gt;&lt;img src&#x3D;x onerror&#x3D;alert(1)&gt;"',
  },
  {
    what: 'a statement at a time and a position',
    who: 'fay',
    path: '/statement?account=acme&asOf=2026-01-01&position=1',
    at: {
      asOf: 'As of and Position exclude each other',
      position: 'As of and Position exclude each other',
    },
  },
  {
    what: 'an account at a time that is none',
    who: 'sam',
    path: '/accounts/acme?asOf=once',
    at: { asOf: `As of ${TIME}` },
    keeps: 'value="once"',
  },
  {
    what: 'a month that is none',
    who: 'fay',
    path: '/periods',
    fields: { action: 'close', period: '2026-13', comment: 'looked at' },
    at: { period: PERIOD },
    keeps: 'value="looked at"',
  },
  {
    what: 'a file of balances without its head',
    who: 'fay',
    path: '/reconcile',
    fields: { month: '' },
    files: { balances: 'acme,CENTS,1' },
    at: { balances: 'the balance file must begin with the line account,unit,balance' },
  },
  {
    what: 'a file that is no digest',
    who: 'fay',
    path: '/verify',
    fields: { action: 'verify' },
    files: { digest: '{}' },
    at: { digest: 'The file is not a digest.' },
  },
  {
    what: 'a correction of half a cent',
    who: 'fay',
    path: '/corrections',
    fields: { ...CORRECTION, amount: '0.5' },
    at: { amount: expect.stringMatching(/number/) as string },
    keeps: 'value="0.5"',
  },
  {
    what: 'an endpoint that is no URL',
    who: 'sam',
    path: '/webhooks',
    fields: { action: 'add', endpoint: 'shop.example', name: 'shop' },
    at: { url: expect.stringContaining('URL') as string },
    keeps: 'value="shop.example"',
  },
  {
    what: 'an export since a time that is none',
    who: 'sam',
    path: '/exports',
    fields: { action: 'ask', type: 'USER', format: 'CSV', name: 'mine', createdSince: 'once' },
    at: { createdSince: 'must be a time in epoch milliseconds or ISO 8601' },
    keeps: 'value="mine"',
  },
  {
    what: 'a secret key of the other mode',
    who: 'sam',
    path: '/payments',
    fields: { ...SECRETS, secretKey: 'sk_test_fields0001' },
    at: { secretKey: 'is one of test mode, and the mode is live' },
  },
  {
    what: 'settings that are wrong in four places',
    who: 'sam',
    path: '/settings',
    fields: {
      action: 'settings',
      origins: 'shop',
      addresses: 'nobody',
      tokensNotBefore: 'soon',
      'limit-code': 'many',
    },
    at: {
      origins: expect.stringContaining('https://shop.example') as string,
      addresses: expect.stringContaining('e-mail addresses') as string,
      'not-before': expect.stringContaining('takes a time') as string,
      'limit-code': expect.stringContaining('whole number') as string,
    },
    keeps: 'value="many"',
  },
  {
    what: 'a theme that is no JSON',
    who: 'sam',
    path: '/theme',
    fields: { action: 'put', locale: '', version: '0', values: '{' },
    at: { values: 'The variables are not JSON, or nested too deep.' },
    keeps: '>{</textarea>',
  },
  {
    what: 'a program that is no JSON',
    who: 'sam',
    path: '/program',
    fields: { action: 'check', document: '{"id":', fields: 'shown', was: '' },
    at: { document: expect.stringContaining('') as string },
    keeps: '{&quot;id&quot;:',
  },
];

test.each(CASES)('$what: said at the field, what was typed is kept', async (one) => {
  const { who, fields, files, at, keeps } = one;
  const path = one.path === '/payments' ? ofPaid(one.path) : ofTenant(one.path);
  const page = await (fields === undefined ? get(who, path) : post(who, path, fields, files));
  expect(page.status).toBe(400);
  expect(marked(page)).toEqual(at);
  expect(page.text).toContain('role="alert"');
  expect(page.text.match(/<(?:input|textarea) [^>]* autofocus>/g)).toHaveLength(1);
  if (keeps !== undefined) expect(page.text).toContain(keeps);
});

test.each<[Readonly<Record<string, string>>, string]>([
  [{ action: 'swap', projection: '', confirmed: '' }, 'projection'],
  [{ action: 'swap', projection: 'rewards', confirmed: 'reward' }, 'confirmed'],
  [{ action: 'rebuild', projection: '', tenant: '', account: 'acme' }, 'tenant'],
  [{ action: 'rebuild', projection: '', tenant: 'nobody-s', mode: 'live' }, 'tenant'],
])('of the projections %j', async (fields, at) => {
  const page = await post('sam', '/console/projections', fields);
  expect(page.status).toBe(400);
  expect(Object.keys(marked(page))).toEqual([at]);
  for (const typed of [fields.projection, fields.account].filter(Boolean))
    expect(page.text).toMatch(new RegExp(`value="${String(typed)}"( selected| |>)`));
});

test('a rebuild in place of an account that there is not begins no run', async () => {
  const part = { projection: 'rewards', tenant: tenant.alias, mode: 'live', account: 'nobody' };
  const rebuilds = async () =>
    (await get('sam', '/console/runs')).text.split('projection rebuild').length - 1;
  const before = await rebuilds();
  const page = await post('sam', '/console/projections', { action: 'rebuild', ...part });
  expect(page.status).toBe(400);
  expect(marked(page)).toEqual({
    account: `there is no account nobody in ${tenant.alias} (live)`,
  });
  expect(await rebuilds()).toBe(before);
});

describe('a form in a row', () => {
  test('a month is not reopened without a reason, which is said in its row', async () => {
    const path = ofTenant('/periods');
    const closing = { action: 'close', period: '2026-01', comment: 'looked at' };
    expect((await post('fay', path, closing)).status).toBe(303);
    const page = await post('fay', path, {
      action: 'reopen',
      period: '2026-01',
      comment: 'x'.repeat(1_001),
    });
    expect(page.status).toBe(400);
    expect(marked(page)).toEqual({ 'comment-2026-01': 'the comment takes 1 to 1000 characters' });
    expect(page.text).toContain('x'.repeat(1_001));
  });

  test('an endpoint says at its own field that the time is none', async () => {
    const path = ofTenant('/webhooks');
    const urls = ['https://one.example/', 'https://two.example/?a=1&b=2'];
    for (const endpoint of urls)
      expect((await post('sam', path, { action: 'add', endpoint, name: '' })).status).toBe(200);
    const [, endpoint = ''] = urls;
    const page = await post('sam', path, {
      action: 'resend-since',
      endpoint,
      since: 'ever',
    });
    expect(page.status).toBe(400);
    expect(marked(page)).toEqual({ [`since-${encodeURIComponent(endpoint)}`]: `Since ${TIME}` });
    expect(page.text.split('value="ever"')).toHaveLength(2);
  });
});

test('a wrong key is said at its field', async () => {
  const body = new URLSearchParams({ key: 'wrong' });
  // An address of its own: other files of the shared service send wrong keys, too.
  const headers = { 'x-forwarded-for': '203.0.113.41' };
  const page = await open('/console/session', { method: 'POST', body, headers });
  expect(page.status).toBe(401);
  expect(marked(page)).toEqual({ key: 'This key is not known.' });
});
