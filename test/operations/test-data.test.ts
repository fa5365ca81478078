// Over 5 s: a dozen commands, which each open the stores.
import { eventually } from '../support/embedded.js';
import { everythingProjected } from '../support/everything-projected.js';
import { runHere } from '../support/command-line.js';
import { aPerson, give, PAID, TRIAL, type Person } from '../support/people.js';
import { makeOperators, useService, type TestTenant } from '../support/running-service.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

/** `tenant clock --reset-with-data` next to a running service. */

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
jest.setTimeout(180_000);

const command = (...words: readonly string[]) => runHere(running.stores, words, ALLOWED);

async function documentOf(...words: readonly string[]): Promise<unknown> {
  const { code, out, err } = await command(...words, tenant.alias, '--mode', 'test', '--json');
  expect([code, err]).toEqual([0, expect.any(String)]);
  return JSON.parse(out) as unknown;
}

/** By the service itself: another process announces its change, and a read may come before. */
const reset = () =>
  running.service
    .operator(key)
    .call('POST', `/tenants/${tenant.alias}/clock`, { resetWithData: true });

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
  await command('tenant', 'clock', tenant.alias, '--advance', '30d');
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
