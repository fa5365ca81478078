import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeOperatorKey, type OperatorRole } from '../../src/config/operators.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { startWithStores, type TestTenant } from '../support/running-service.js';
import { StripeDouble } from '../support/stripe-double.js';

/** The payment provider of a tenant in the console, with a double of the provider. */

const KEY = 'sk_live_console7777';
const WEBHOOK_SECRET = 'whsec_console0001';
const ROLES: Readonly<Record<string, readonly OperatorRole[]>> = {
  fay: ['finance'],
  sam: ['support'],
};

let running: Awaited<ReturnType<typeof startWithStores>>;
let folder: string;
let double: StripeDouble;
let tenant: TestTenant;
let path: string;
const cookies = new Map<string, string>();

async function open(path: string, init: RequestInit = {}, who?: string) {
  const url = `${running.service.origin}${path}`;
  const headers = new Headers();
  if (who !== undefined) headers.set('cookie', cookies.get(who) ?? '');
  const answer = await fetch(url, { redirect: 'manual', ...init, headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

type Page = Awaited<ReturnType<typeof open>>;

async function post(who: string, fields: Readonly<Record<string, string>>): Promise<Page> {
  const { text } = await open('/console', {}, who);
  const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
  return open(path, { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) }, who);
}

/** The page of a run when it is over. */
async function ended(who: string, { headers }: Page): Promise<Page> {
  for (;;) {
    const page = await open(headers.get('location') ?? '', {}, who);
    expect(page.status).toBe(200);
    if (!page.text.includes('data-run=')) return page;
  }
}

const figure = ({ text }: Page, name: string): string | undefined =>
  new RegExp(`data-figure="${name}" data-value="([^"]*)"`).exec(text)?.[1];

beforeAll(async () => {
  double = await StripeDouble.start({ secretKey: KEY });
  folder = await mkdtemp(join(tmpdir(), 'ledger-console-payments-'));
  const made = Object.entries(ROLES).map(([name, roles]) => makeOperatorKey(name, roles));
  const operators = join(folder, 'operators.json');
  await writeFile(operators, JSON.stringify(made.map(({ entry }) => entry)));
  running = await startWithStores({
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    OPERATORS_FILE: operators,
  });
  tenant = await running.service.createTenant({ programType: 'PAYMENT_PROVIDER' });
  path = `/console/tenants/${tenant.alias}/live/payments`;
  for (const { key, entry } of made) {
    const body = new URLSearchParams({ key });
    const { headers } = await open('/console/session', { method: 'POST', body });
    cookies.set(entry.name, (headers.get('set-cookie') ?? '').split(';')[0] ?? '');
  }
});
afterAll(async () => {
  await double.stop();
  await running.end();
  await rm(folder, { recursive: true, force: true });
});

const connecting = (more: Readonly<Record<string, string>> = {}): Promise<Page> =>
  post('sam', {
    action: 'connect',
    secretKey: KEY,
    webhookSecret: WEBHOOK_SECRET,
    apiBase: double.url,
    ...more,
  });

test('a tenant of no provider is told where to switch it on', async () => {
  const other = await running.service.createTenant();
  const page = await open(`/console/tenants/${other.alias}/live/payments`, {}, 'sam');
  expect(page).toMatchObject({ status: 200 });
  expect(page.text).toContain('Support switches it on in the settings');
});

test('a refused connection says why, keeps the address, and never shows a secret', async () => {
  const refused = await connecting({ secretKey: 'sk_test_other1' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('one of test mode');
  expect(refused.text).toContain(`value="${double.url}"`);
  for (const secret of ['sk_test_other1', WEBHOOK_SECRET])
    expect(refused.text).not.toContain(secret);
});

test('support connects, walks the provider and disconnects, on record', async () => {
  expect((await connecting()).status).toBe(303);
  const page = await open(path, {}, 'sam');
  expect(page.text).toContain('…7777');
  expect(page.text).toContain(`/integrations/stripe/${tenant.alias}`);
  for (const secret of [KEY, WEBHOOK_SECRET]) expect(page.text).not.toContain(secret);

  const walked = await ended('sam', await post('sam', { action: 'sync' }));
  expect([figure(walked, 'invoices'), figure(walked, 'applied')]).toEqual(['0', '0']);

  expect((await post('sam', { action: 'disconnect', confirmed: 'strip' })).status).toBe(400);
  expect((await post('sam', { action: 'disconnect', confirmed: 'stripe' })).status).toBe(303);
  expect((await open(path, {}, 'sam')).text).toContain('not connected');
  const scope = { tenant: tenant.alias, mode: 'live' } as const;
  const records = JSON.stringify(await recordedOperations(running.service.service.core, scope));
  for (const operation of ['payment connect', 'payment sync', 'payment disconnect'])
    expect(records).toContain(`"${operation}"`);
  expect(records).not.toContain(KEY);
});

test('finance compares both sides, and changes nothing', async () => {
  expect((await connecting()).status).toBe(303);
  const compared = await ended('fay', await post('fay', { action: 'reconcile' }));
  expect([figure(compared, 'ok'), figure(compared, 'differences')]).toEqual(['true', '0']);
  for (const action of ['connect', 'disconnect', 'sync'])
    expect((await post('fay', { action })).status).toBe(403);
  expect((await post('sam', { action: 'reconcile' })).status).toBe(403);
  expect((await open(path, {}, 'fay')).text).not.toContain('name="secretKey"');
});
