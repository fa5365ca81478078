import {
  get,
  ofTenant,
  onTrial,
  open,
  post,
  setUpConsole,
  tenant,
  type Name,
  type Page,
} from '../support/console-staff.js';

setUpConsole();

beforeAll(() => onTrial('acme'));

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

const CASES: readonly Case[] = [
  {
    what: 'what is typed is text, in its field and in what is said',
    who: 'fay',
    path: `/statement?account=${encodeURIComponent('"><img src=x onerror=alert(1)>')}`,
    at: { account: expect.stringContaining('&quot;&gt;&lt;img src&#x3D;x') as string },
    keeps: 'value="&quot;&gt;&lt;img src&#x3D;x onerror&#x3D;alert(1)&gt;"',
  },
  {
    what: 'a month that is not typed again',
    who: 'fay',
    path: '/periods',
    fields: { action: 'close', period: '2026-10', comment: 'looked at', confirm: '2026-09' },
    at: { confirm: 'Type 2026-10 to confirm that this month is closed.' },
    keeps: 'value="looked at"',
  },
  {
    what: 'a file of balances without its head',
    who: 'fay',
    path: '/reconcile',
    fields: { month: '' },
    files: { balances: 'acme,CENTS,1' },
    at: { balances: 'file must begin with the line account,unit,balance' },
  },
  {
    what: 'settings that are wrong in four places',
    who: 'sam',
    path: '/settings',
    fields: {
      action: 'settings',
      origins: 'shop',
      addresses: 'no address',
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
];

test.each(CASES)('$what: said at the field, what was typed is kept', async (one) => {
  const { who, fields, files, at, keeps } = one;
  const path = ofTenant(one.path);
  const page = await (fields === undefined ? get(who, path) : post(who, path, fields, files));
  expect(page.status).toBe(400);
  expect(marked(page)).toEqual(at);
  expect(page.text).toContain('role="alert"');
  expect(page.text.match(/<(?:input|textarea) [^>]* autofocus>/g)).toHaveLength(1);
  if (keeps !== undefined) expect(page.text).toContain(keeps);
});

test('a rebuild in place of an account that there is not begins no run', async () => {
  const part = { projection: 'rewards', tenant: tenant.alias, mode: 'live', account: 'missing' };
  const rebuilds = async () =>
    (await get('sam', '/console/runs')).text.split('projection rebuild').length - 1;
  const before = await rebuilds();
  const page = await post('sam', '/console/projections', { action: 'rebuild', ...part });
  expect(page.status).toBe(400);
  expect(marked(page)).toEqual({
    account: `there is no account missing in ${tenant.alias} (live)`,
  });
  expect(await rebuilds()).toBe(before);
});

test('a month is not reopened without a reason, and the field shows it', async () => {
  const path = ofTenant('/periods');
  const period = '2026-01';
  const closing = { action: 'close', period, comment: 'looked at', confirm: period };
  expect((await post('fay', path, closing)).status).toBe(303);
  const page = await post('fay', path, {
    action: 'reopen',
    period,
    comment: 'x'.repeat(1_001),
  });
  expect(page.status).toBe(400);
  expect(marked(page)).toEqual({ reason: 'The reason takes 1 to 1,000 characters.' });
  expect(page.text).toContain('x'.repeat(1_001));
});

test('a wrong key is shown at its field', async () => {
  const body = new URLSearchParams({ key: 'wrong' });
  // An address of its own: other files of the shared service send wrong keys, too.
  const headers = { 'x-forwarded-for': '203.0.113.41' };
  const page = await open('/console/session', { method: 'POST', body, headers });
  expect(page.status).toBe(401);
  expect(marked(page)).toEqual({ key: 'This key is not known.' });
});
