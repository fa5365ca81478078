import {
  ended,
  figures,
  get,
  post,
  running,
  setUpConsole,
  type Name,
  type Page,
} from '../support/console-staff.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { StripeDouble } from '../harness/stripe-double.js';
import { openOnce } from '../support/opened.js';

const KEY = 'sk_live_console7777';
const WEBHOOK_SECRET = 'whsec_console0001';

setUpConsole();

const double = openOnce(() => StripeDouble.start({ secretKey: KEY }), 'stop');
const tenant = openOnce(() => running.service.createTenant({ programType: 'PAYMENT_PROVIDER' }));
let path: string;

const act = (who: Name, fields: Readonly<Record<string, string>>): Promise<Page> =>
  post(who, path, fields);

const outcomeOf = (who: Name, { location }: Page): Promise<Page> => ended(who, location ?? '');

const figure = (page: Page, name: string): string | undefined => figures(page, name)[0];

beforeAll(async () => {
  path = `/console/tenants/${tenant.alias}/live/payments`;
});

const connecting = (more: Readonly<Record<string, string>> = {}): Promise<Page> =>
  act('sam', {
    action: 'connect',
    secretKey: KEY,
    webhookSecret: WEBHOOK_SECRET,
    apiBase: double.url,
    ...more,
  });

test('a refused connection shows the reason and keeps the address, without a secret', async () => {
  const refused = await connecting({ secretKey: 'sk_test_other1' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('one of test mode');
  expect(refused.text).toContain(`value="${double.url}"`);
  for (const secret of ['sk_test_other1', WEBHOOK_SECRET])
    expect(refused.text).not.toContain(secret);
});

test('support connects, syncs and disconnects, on record', async () => {
  expect((await connecting()).status).toBe(303);
  const page = await get('sam', path);
  expect(page.text).toContain('…7777');
  expect(page.text).toContain(`/integrations/stripe/${tenant.alias}`);
  for (const secret of [KEY, WEBHOOK_SECRET]) expect(page.text).not.toContain(secret);

  const walked = await outcomeOf('sam', await act('sam', { action: 'sync' }));
  expect([figure(walked, 'invoices'), figure(walked, 'applied')]).toEqual(['0', '0']);

  expect((await act('sam', { action: 'disconnect', confirmed: 'strip' })).status).toBe(400);
  expect((await act('sam', { action: 'disconnect', confirmed: 'stripe' })).status).toBe(303);
  expect((await get('sam', path)).text).toContain('Not connected');
  const records = JSON.stringify(
    await recordedOperations(running.service.service.core, tenant.scope),
  );
  for (const operation of ['payment connect', 'payment sync', 'payment disconnect'])
    expect(records).toContain(`"${operation}"`);
  expect(records).not.toContain(KEY);
});

test('finance compares both sides, and changes nothing', async () => {
  expect((await connecting()).status).toBe(303);
  const compared = await outcomeOf('fay', await act('fay', { action: 'reconcile' }));
  expect([figure(compared, 'ok'), figure(compared, 'differences')]).toEqual(['true', '0']);
  for (const action of ['connect', 'disconnect', 'sync'])
    expect((await act('fay', { action })).status).toBe(403);
  expect((await act('sam', { action: 'reconcile' })).status).toBe(403);
  expect((await get('fay', path)).text).not.toContain('name="secretKey"');
});
