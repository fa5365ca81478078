// Over 5 s: some twenty commands, which each open the stores.
import { eventually } from '../support/embedded.js';
import { everythingProjected } from '../support/everything-projected.js';
import { runHere } from '../support/command-line.js';
import { aPerson, give, PAID, TRIAL, type Person } from '../support/people.js';
import {
  makeOperators,
  useService,
  type TestTenant,
  useTenant,
} from '../support/running-service.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';
import { openOnce } from '../support/opened.js';

const DAY_MS = 86_400_000;
const ALLOWED = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
const running = useService(() => ALLOWED);
const tenant = useTenant(running, { each: true });
const receiver = openOnce(startWebhookReceiver, 'stop');
let key: string;

beforeAll(async () => {
  key = (await makeOperators(running.stores, { sam: ['support'] })).sam;
});
jest.setTimeout(180_000);

const command = (...words: readonly string[]) => runHere(running.stores, words, ALLOWED);
const clock = (...words: readonly string[]) => command('tenant', 'clock', tenant.alias, ...words);

/** Moved by the service itself: another process announces its change, and a read may come first. */
const overHttp = (method: 'GET' | 'POST', body?: object) =>
  running.service.operator(key).call(method, `/tenants/${tenant.alias}/clock`, body);

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
  const shown = await command('tenant', 'show', tenant.alias, '--json');
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

test('a proposal ends by the real clock', async () => {
  const person = await aPerson(tenant.test);
  await clock('--advance', '30d');
  const of = [tenant.alias, '--mode', 'test', '--json'];
  const correction = ['--user', person.id, '--unit', 'CENTS', '--amount', '5', '--reason', 'r'];
  const proposed = await command(
    ...['ledger', 'propose', ...of, person.accountId, ...correction, '--by', 'fay'],
  );
  const { id } = JSON.parse(proposed.out) as { readonly id: string };
  expect(await command('ledger', 'approve', id, '--by', 'gil')).toMatchObject({ code: 0 });
  const { out } = await command('ledger', 'proposals', ...of);
  const [{ endedAt, state }] = JSON.parse(out) as [{ endedAt: string; state: string }];
  expect([state, fromDays(0, endedAt) < MINUTE_MS]).toEqual(['approved', true]);
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
    const { out } = await command(...statement, '--mode', 'test', ...words);
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
  const reconciled = await command('ledger', 'reconcile', tenant.alias, '--mode', 'test');
  expect(reconciled.code).toBe(0);
  expect(id).not.toBe(given);
});

test('idempotency keys and closed months follow their own clocks', async () => {
  const person = await aPerson(tenant.test);
  const [month] = new Date().toISOString().match(/^\d{4}-\d{2}/) ?? [];
  const ofMonth = ['--period', String(month), '--comment', 'tried'];
  const words = ['ledger', 'close', tenant.alias, '--mode', 'test', ...ofMonth];
  const close = () => command(...words);
  expect(await close()).toMatchObject({ code: 1, err: expect.stringMatching(/is not over yet/) });
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5 };
  const keyed = { key: 'one' };
  const first = await tenant.test.post(`/rewards${person.at}`, reward, keyed);
  await clock('--advance', '60d');
  const again = await tenant.test.post(`/rewards${person.at}`, reward, keyed);
  expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', first.body]);
  expect(await close()).toMatchObject({ code: 0 });
});

async function documentOf(...words: readonly string[]): Promise<unknown> {
  const { code, out, err } = await command(...words, tenant.alias, '--mode', 'test', '--json');
  expect([code, err]).toEqual([0, expect.any(String)]);
  return JSON.parse(out) as unknown;
}

const reset = () => overHttp('POST', { resetWithData: true });

const CODES = { referrer: 'SHARED1' };

/** A referral that converts, a reward, an export, and a person who is not to be tracked. */
async function filled(api: TestTenant['live']): Promise<Person & { readonly exportId: string }> {
  const referrer = await aPerson(api, { referralCode: CODES.referrer });
  const referral = { referral: { code: CODES.referrer } };
  const referred = await aPerson(api, {}, referral);
  await api.post('/accountsync', { id: referred.accountId, subscription: PAID });
  await give(api, referrer);
  const gone = await aPerson(api);
  await api.call('DELETE', `/open${gone.at}?doNotTrack=true`);
  const { body } = await api.post('/export', { type: 'USER' });
  return { ...referrer, exportId: String(body['id']) };
}

const readsOf = async (
  api: TestTenant['live'],
  { accountId, exportId }: Awaited<ReturnType<typeof filled>>,
) => {
  const lists = {
    users: (await api.get('/users')).body['totalCount'],
    referrals: (await api.get('/referrals')).body['totalCount'],
    rewards: (await api.get(`/reward?accountId=${accountId}`)).body,
    balances: (await api.get(`/reward/balance?accountId=${accountId}`)).body,
  };
  const statuses = [];
  for (const path of [
    `/account/${accountId}/reward`,
    `/export/${exportId}`,
    `/code/${CODES.referrer}`,
  ])
    statuses.push((await api.get(path)).status);
  return { ...lists, statuses };
};

test('removed test data are in no read, statement, check or export, and live data stay', async () => {
  const hooks = receiver.url('/removed');
  for (const api of [tenant.test, tenant.live])
    await api.post('/subscription', { endpointUrl: hooks, name: 'removed' });
  const [inTest, inLive] = [await filled(tenant.test), await filled(tenant.live)];
  await clock('--advance', '30d');
  const live = await readsOf(tenant.live, inLive);
  expect(await readsOf(tenant.test, inTest)).toMatchObject({ users: 2, referrals: 1 });
  await receiver.requests('/removed', 10);
  const { status, body } = await reset();
  expect([status, body]).toEqual([200, { testClock: null }]);
  const none = { users: 0, referrals: 0, rewards: [], balances: [], statuses: [404, 404, 404] };
  expect(await readsOf(tenant.test, inTest)).toEqual(none);
  expect(await readsOf(tenant.live, inLive)).toEqual(live);
  expect((await tenant.test.get('/users')).headers.get('test-clock')).toBeNull();
  await everythingProjected(running.service.service.core);
  expect(await documentOf('ledger', 'balances')).toEqual([]);
  // What was on its way is dropped within moments.
  await eventually(async () => {
    const deliveries = (await documentOf('webhook', 'deliveries')) as readonly object[];
    return deliveries.length === 0;
  });
  expect(await documentOf('mail', 'deliveries')).toEqual([]);
  expect(await documentOf('export', 'list')).toEqual([]);
  expect(await documentOf('ledger', 'reconcile')).toMatchObject({ ok: true, units: [] });
  expect(await documentOf('ledger', 'replay')).toMatchObject({ events: 0, differences: [] });
  expect(await documentOf('ledger', 'verify')).toMatchObject({ ok: true, firstBroken: null });
  const month = new Date().toISOString().slice(0, 7);
  const statement = ['ledger', 'statement', tenant.alias, '--mode', 'test'];
  const ofTenant = await command(...statement, '--month', month, '--json');
  expect(JSON.parse(ofTenant.out)).toMatchObject({ mode: 'test', units: [] });
  expect(await command(...statement, inTest.accountId)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/there is no account .* \(test\)/),
  });
  const exported = await command('ledger', 'export', tenant.alias, '--mode', 'test', '--chain');
  const types = exported.out
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { type?: string }).type);
  expect(types).toContain('TestDataRemoved');
  expect(types).not.toContain('UserIdentified');
  expect(await documentOf('webhook', 'list')).toMatchObject([{ endpointUrl: hooks, waiting: 0 }]);
});

test('ids and codes are free again once the test data are removed', async () => {
  const [first, keyed] = [await filled(tenant.test), { key: 'once' }];
  const account = { id: first.accountId, subscription: TRIAL };
  await tenant.test.post('/accountsync', account, keyed);
  expect((await reset()).status).toBe(200);
  const hooks = receiver.url('/again');
  await tenant.test.post('/subscription', { endpointUrl: hooks, name: 'again' });
  const synced = await tenant.test.post('/accountsync', account, keyed);
  expect([synced.status, synced.headers.get('idempotency-replayed')]).toEqual([200, null]);
  const user = { id: first.id, accountId: first.accountId, referralCode: CODES.referrer };
  expect((await tenant.test.post('/user', user)).status).toBe(200);
  const referred = await aPerson(tenant.test, {}, { referral: { code: CODES.referrer } });
  await tenant.test.post('/accountsync', { id: referred.accountId, subscription: PAID });
  await eventually(async () => {
    const { body } = await tenant.test.get<readonly object[]>(
      `/reward?accountId=${first.accountId}`,
    );
    return body.length === 1;
  });
  const { body } = await tenant.test.get('/users');
  expect(body['totalCount']).toBe(2);
  const typeOf = (sent: Buffer): string => (JSON.parse(String(sent)) as { type: string }).type;
  await eventually(() =>
    receiver.receivedAt('/again').some((sent) => typeOf(sent.body) === 'referral.converted'),
  );
  expect(await documentOf('ledger', 'replay')).toMatchObject({ differences: [] });
  expect(await documentOf('ledger', 'verify')).toMatchObject({ ok: true });
});

test('writes next to a removal are in the data before it or after it', async () => {
  const people = Array.from({ length: 12 }, () => aPerson(tenant.test));
  expect((await reset()).status).toBe(200);
  await Promise.allSettled(people);
  await everythingProjected(running.service.service.core);
  const { body } = await tenant.test.get<{
    count: number;
    users: readonly { accountId: string }[];
  }>('/users?limit=100');
  for (const { accountId } of body.users)
    expect((await tenant.test.get(`/account/${accountId}`)).status).toBe(200);
  expect(await documentOf('ledger', 'replay')).toMatchObject({ differences: [] });
  expect(await documentOf('ledger', 'verify')).toMatchObject({ ok: true });
});
