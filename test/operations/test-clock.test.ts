// Over 5 s: some commands, which each open the stores.
import { eventually } from '../support/embedded.js';
import { runHere } from '../support/command-line.js';
import { aPerson, give } from '../support/people.js';
import { makeOperators, useService, type TestTenant } from '../support/running-service.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

/** `tenant clock` next to a running service. */

const DAY_MS = 86_400_000;
const ALLOWED = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
const running = useService(ALLOWED);
let receiver: WebhookReceiver;
let tenant: TestTenant;
let key: string;

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  key = (await makeOperators(running.stores, { sam: ['support'] })).sam;
});
beforeEach(async () => {
  tenant = await running.service.createTenant();
});
afterAll(() => receiver.stop());
jest.setTimeout(120_000);

const clock = (...words: readonly string[]) =>
  runHere(running.stores, ['tenant', 'clock', tenant.alias, ...words]);

/** Moved by the service itself: another process announces its change, and a read may come first. */
const overHttp = (method: 'GET' | 'POST', body?: object) =>
  running.service.operator(key).call(method, `/tenants/${tenant.alias}/clock`, body);

/** Milliseconds that a time is away from so many days from now. */
const fromDays = (days: number, time: unknown): number =>
  Math.abs(Date.parse(String(time)) - Date.now() - days * DAY_MS);

const MINUTE_MS = 60_000;

test('a tenant has no test clock until it is moved, and live mode never has one', async () => {
  expect(await clock('--json')).toMatchObject({ code: 0, out: '{\n  "testClock": null\n}\n' });
  expect((await tenant.test.get('/users')).headers.get('test-clock')).toBeNull();
  expect((await overHttp('GET')).body).toEqual({ testClock: null });
  const { status, body } = await overHttp('POST', { advance: '30d' });
  expect([status, fromDays(30, body['testClock']) < MINUTE_MS]).toEqual([200, true]);
  expect(fromDays(30, (await clock()).out.trim())).toBeLessThan(MINUTE_MS);
  const shown = await runHere(running.stores, ['tenant', 'show', tenant.alias, '--json']);
  const { testClock } = JSON.parse(shown.out) as { testClock: string };
  expect(fromDays(30, testClock)).toBeLessThan(MINUTE_MS);
  const header = async (api: TestTenant['live']): Promise<string | null> =>
    (await api.get('/users')).headers.get('test-clock');
  expect(fromDays(30, await header(tenant.test))).toBeLessThan(MINUTE_MS);
  expect(await header(tenant.live)).toBeNull();
  const ofOperator = async (mode: string): Promise<string | null> => {
    const path = `/ledger/${tenant.alias}/balances?mode=${mode}`;
    return (await running.service.operator(key).call('GET', path)).headers.get('test-clock');
  };
  expect(fromDays(30, await ofOperator('test'))).toBeLessThan(MINUTE_MS);
  expect(await ofOperator('live')).toBeNull();
});

test('webhooks of exports and themes are created by the test clock of their event', async () => {
  const hooks = receiver.url('/exported');
  await tenant.test.post('/subscription', { endpointUrl: hooks, name: 'exported' });
  await clock('--advance', '10d');
  await tenant.test.post('/export', { type: 'USER' });
  await receiver.requests('/exported', 2);
  await clock('--advance', '10d');
  const theme = { jsOptions: {}, widget: {}, email: {} };
  await tenant.test.put('/theme/variables/instance', theme);
  const sent = await receiver.requests('/exported', 3);
  const days = sent.map(({ body }) => {
    const { created } = JSON.parse(String(body)) as { created: number };
    return Math.round((created - Date.now()) / DAY_MS);
  });
  expect(days).toEqual([10, 10, 20]);
});

test('a test clock moves forward only, by one change, and in test mode', async () => {
  const before = (await overHttp('POST', { advance: '10d' })).body['testClock'];
  const behind = new Date(Date.now() + 9 * DAY_MS).toISOString();
  for (const [words, line] of [
    [['--advance', '0'], /the test clock is at .* and moves to a later time/],
    [['--set', behind], /moves to a later time/],
    [['--advance', '1d', '--set', behind], /name one of --advance, --set and --reset-with-data/],
    [['--advance', '1d', '--mode', 'live'], /--mode.*'live' is invalid.*choices are test/],
  ] as const)
    expect(await clock(...words)).toMatchObject({ code: 1, err: expect.stringMatching(line) });
  for (const body of [{}, { advance: '0' }, { set: behind }, { advance: '1d', set: behind }])
    expect((await overHttp('POST', body)).status).toBe(400);
  const after = (await overHttp('GET')).body['testClock'];
  expect(Date.parse(String(after)) - Date.parse(String(before))).toBeLessThan(MINUTE_MS);
});

test('rewards of test mode become available and expire by the test clock', async () => {
  const hooks = receiver.url('/moved');
  await tenant.test.post('/subscription', { endpointUrl: hooks, name: 'moved' });
  const person = await aPerson(tenant.test);
  const inDays = (days: number): number => Date.now() + days * DAY_MS;
  const id = await give(tenant.test, person, {
    dateScheduledFor: inDays(10),
    dateExpires: inDays(40),
  });
  const balance = async () =>
    (await tenant.test.get<readonly object[]>(`/reward/balance?accountId=${person.accountId}`))
      .body;
  expect(await balance()).toMatchObject([{ totalPendingCredit: 1_000, totalAvailableCredit: 0 }]);
  await overHttp('POST', { advance: '30d' });
  expect(await balance()).toMatchObject([{ totalPendingCredit: 0, totalAvailableCredit: 1_000 }]);
  const given = await give(tenant.test, person);
  const { body } = await tenant.test.get(`/reward/${given}`);
  expect(fromDays(30, new Date(Number(body['dateGiven'])).toISOString())).toBeLessThan(MINUTE_MS);
  const changed = async (count: number): Promise<readonly { created: number }[]> => {
    const all = await receiver.requests('/moved', count);
    return all.map(({ body: sent }) => JSON.parse(String(sent)) as { created: number });
  };
  const created = (await changed(5)).map((webhook) => webhook.created - Date.now());
  expect(Math.max(...created)).toBeGreaterThan(29 * DAY_MS);
  await overHttp('POST', { set: new Date(inDays(41)).toISOString() });
  expect(await balance()).toMatchObject([
    { totalExpiredCredit: 1_000, totalAvailableCredit: 1_000 },
  ]);
  const statement = ['ledger', 'statement', tenant.alias, person.accountId];
  const printed = async (...words: readonly string[]) => {
    const { out } = await runHere(running.stores, [...statement, '--mode', 'test', ...words]);
    return JSON.parse(out) as { units: { closing: number; lines: { actor: string }[] }[] };
  };
  // The dates are recorded, too, within moments.
  await eventually(async () => {
    const { units } = await printed('--json');
    return (
      units[0]?.lines.length === 4 && units[0].lines.every((line) => line.actor !== 'system:clock')
    );
  });
  const at = async (days: number) =>
    (await printed('--json', '--as-of', new Date(inDays(days)).toISOString())).units[0]?.closing;
  expect([await at(5), await at(35), await at(40.5)]).toEqual([0, 2_000, 1_000]);
  const reconcile = ['ledger', 'reconcile', tenant.alias, '--mode', 'test'];
  const { code } = await runHere(running.stores, reconcile);
  expect(code).toBe(0);
  expect(id).not.toBe(given);
});

test('idempotency keys and closed months follow their own clocks', async () => {
  const person = await aPerson(tenant.test);
  const [month] = new Date().toISOString().match(/^\d{4}-\d{2}/) ?? [];
  const ofMonth = ['--period', String(month), '--comment', 'tried'];
  const words = ['ledger', 'close', tenant.alias, '--mode', 'test', ...ofMonth];
  const close = () => runHere(running.stores, words);
  expect(await close()).toMatchObject({ code: 1, err: expect.stringMatching(/is not over yet/) });
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5 };
  const keyed = { key: 'one' };
  const first = await tenant.test.post(`/rewards${person.at}`, reward, keyed);
  await clock('--advance', '60d');
  const again = await tenant.test.post(`/rewards${person.at}`, reward, keyed);
  expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', first.body]);
  expect(await close()).toMatchObject({ code: 0 });
});
