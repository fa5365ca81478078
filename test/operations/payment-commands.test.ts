// Over 5 s: commands on a service of its own, which each open the stores.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Stripe from 'stripe';
import { useFolder } from '../support/folder.js';
import { type Json } from '../support/api-client.js';
import { runHere, type Ran } from '../support/command-line.js';
import { personal, useService, type TestTenant, useTenant } from '../support/running-service.js';
import { eventually } from '../support/embedded.js';
import { StripeDouble } from '../harness/stripe-double.js';
import { openOnce } from '../support/opened.js';

const KEY = 'sk_live_commands7777';
const WEBHOOK_SECRET = 'whsec_commands0001';

const { service, stores } = useService(() => ({
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
}));
const double = openOnce(() => StripeDouble.start({ secretKey: KEY }), 'stop');
const folder = useFolder();
const tenant = useTenant({ service }, { programType: 'PAYMENT_PROVIDER' });

beforeAll(async () => {
  await writeFile(join(folder, 'key'), `${KEY}\n`);
  await writeFile(join(folder, 'other-key'), 'sk_live_unknown8888');
  await writeFile(join(folder, 'webhook'), `${WEBHOOK_SECRET}\n`);
});

const cli = (...words: readonly string[]): Promise<Ran> =>
  runHere(stores, words, {
    PUBLIC_URL: 'https://refer.example',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  });

const connecting = (alias: string, key = 'key', ...rest: readonly string[]): Promise<Ran> =>
  cli(
    'payment',
    'connect',
    alias,
    ...['--provider', 'stripe', '--json', '--api-base', double.url],
    ...['--secret-key-file', join(folder, key)],
    ...['--webhook-secret-file', join(folder, 'webhook')],
    ...rest,
  );

const show = async (): Promise<Json> => {
  const { code, out } = await cli('payment', 'show', tenant.alias, '--json');
  expect(code).toBe(0);
  return JSON.parse(out) as Json;
};

const connected = () => ({
  provider: 'stripe',
  mode: 'live',
  secretKey: '…7777',
  webhookUrl: `https://refer.example/integrations/stripe/${tenant.alias}`,
});

const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const QUIET = { lastEventAt: null, waitingEvents: 0, lastSyncAt: null, parked: [] };

const refusedWith = (line: RegExp) => ({ code: 1, out: '', err: expect.stringMatching(line) });

it('payment connect checks the key by one call, and shows it masked', async () => {
  const { code, out } = await connecting(tenant.alias);
  expect([code, JSON.parse(out)]).toEqual([0, connected()]);
  expect(double.callsTo('GET', /^\/v1\/balance$/)).toHaveLength(1);
  expect(await show()).toEqual({ ...connected(), ...QUIET });
});

it('payment connect refuses what it cannot connect, in one line, and changes nothing', async () => {
  const apiOnly = await service.createTenant();
  expect(await connecting(apiOnly.alias)).toEqual(refusedWith(/no payment provider/));
  expect(await connecting('missing')).toEqual(refusedWith(/no tenant missing/));
  expect(await connecting(tenant.alias, 'key', '--mode', 'test')).toEqual(
    refusedWith(/one of live mode/),
  );
  expect(await connecting(tenant.alias, 'webhook')).toEqual(refusedWith(/none of Stripe/));
  expect(await connecting(tenant.alias, 'other-key')).toEqual(refusedWith(/answered 401/));
  for (const elsewhere of [
    'http://10.0.0.1',
    'http://127.0.0.1.stripe.example',
    'HTTP://api.stripe.example',
  ])
    expect([elsewhere, await connecting(tenant.alias, 'key', '--api-base', elsewhere)]).toEqual([
      elsewhere,
      refusedWith(/must begin with https: http is for this machine/),
    ]);
  expect(await connecting(tenant.alias, 'key', '--provider', 'other')).toEqual(
    refusedWith(/Allowed choices are stripe/),
  );
  expect(await show()).toEqual({ ...connected(), ...QUIET });
});

it('payment connect is followed by what the provider has already: payment sync', async () => {
  const id = personal('payer');
  const customer = { paymentProviderId: 'cus_sync' };
  await tenant.live.put(`/open/account/${id}/user/${id}`, { id, accountId: id, ...customer });
  const created = Math.floor(Date.now() / 1_000) - 60;
  const invoice = { customer: 'cus_sync', amount_paid: 1250, currency: 'eur', status: 'paid' };
  double.invoices.push(
    { ...invoice, id: 'in_1', created },
    { ...invoice, id: 'in_old', created: created - 40 * 24 * 3_600 },
    { ...invoice, id: 'in_open', created, status: 'open' },
  );
  double.subscription('sub_1', 'cus_sync');
  const sync = async (): Promise<unknown> => {
    const { code, out } = await cli('payment', 'sync', tenant.alias, '--json');
    return [code, code === 0 ? (JSON.parse(out) as Json) : out];
  };
  expect(await sync()).toEqual([0, { invoices: 1, applied: 1 }]);
  expect(await sync()).toEqual([0, { invoices: 1, applied: 0 }]);
  // As an event would tell it, at another time.
  double.invoices.splice(0, 1, {
    ...invoice,
    id: 'in_1',
    created,
    status_transitions: { paid_at: created + 9 },
  });
  expect(await sync()).toEqual([0, { invoices: 1, applied: 0 }]);
  await service.service.policies.waitFor((await service.head()) ?? '', 60_000);
  const shown = await cli('payment', 'show', tenant.alias, '--account', id, '--json');
  expect(JSON.parse(shown.out)).toEqual({
    accountId: id,
    ...customer,
    gone: false,
    disputes: [],
    subscription: { status: 'PAID', value: 12.5 },
    rewards: [],
  });
  expect(await show()).toEqual({
    ...connected(),
    lastEventAt: expect.stringMatching(ISO_TIME),
    waitingEvents: 0,
    lastSyncAt: expect.stringMatching(ISO_TIME),
    parked: [],
  });
  double.invoices.push({ ...invoice, id: 'in_2', created });
  expect(await sync()).toEqual([0, { invoices: 2, applied: 1 }]);
  double.fail({ kind: 'answer', status: 500 });
  expect(await cli('payment', 'sync', tenant.alias)).toEqual(refusedWith(/answered 500/));
  expect(await cli('payment', 'sync', tenant.alias, '--since', 'soon')).toEqual(
    refusedWith(/--since takes a time/),
  );
});

it('payment connect shows rewards that the provider refused, which payment sync tries again', async () => {
  await service.applyProgram(tenant.alias, {
    id: 'default',
    referredReward: null,
    referrerReward: {
      type: 'CREDIT',
      unit: 'CENTS',
      currency: 'USD',
      assignedCredit: 700,
      payTo: 'provider',
      when: 'STARTED',
    },
  });
  const [ann, bob, code] = [personal('ann'), personal('bob'), personal('c')];
  const put = (id: string, more: Json) =>
    tenant.live.put(`/open/account/${id}/user/${id}`, { id, accountId: id, ...more });
  await put(ann, { referralCode: code, paymentProviderId: 'cus_refused' });
  await put(bob, { referredBy: { code } });
  const rewards = async (): Promise<readonly Json[]> => {
    const { out } = await cli('payment', 'show', tenant.alias, '--account', ann, '--json');
    return (JSON.parse(out) as { rewards: readonly Json[] }).rewards;
  };
  const comesTo = (state: string): Promise<void> =>
    eventually(async () => (await rewards())[0]?.['state'] === state);
  await comesTo('PARKED');
  const [{ rewardId } = {}] = await rewards();
  const reason = 'the provider answered 404 (resource_missing)';
  await eventually(async () => JSON.stringify(await show()).includes(reason));
  expect(await show()).toMatchObject({ parked: [{ rewardId, reason }] });
  const health = async () => {
    const answer = await fetch(`${service.origin}/health/ready`);
    return ((await answer.json()) as { checks: Record<string, Json> }).checks['payments'];
  };
  await eventually(async () => (await health())?.['parkedPushes'] === 1);
  expect(await health()).toMatchObject({ ok: true, parkedBecause: reason });
  expect(service.logText).toContain('the payment provider refuses a reward: it is parked');
  double.customer('cus_refused');
  expect((await cli('payment', 'sync', tenant.alias)).code).toBe(0);
  await comesTo('PUSHED');
  expect(double.balanceTransactions).toEqual([
    expect.objectContaining({ customer: 'cus_refused', amount: -700 }),
  ]);
  expect(await rewards()).toEqual([
    {
      rewardId,
      state: 'PUSHED',
      externalReference: double.balanceTransactions[0]?.id,
      reason: null,
    },
  ]);
  const { out } = await cli('ledger', 'statement', tenant.alias, ann);
  expect(out).toMatch(/paid by the payment provider/);
  expect(out).toContain(double.balanceTransactions[0]?.id);
});

it('payment connect leaves no secret readable in the log, and destroys its key at the end', async () => {
  // Replaces the connection.
  expect(await connecting(tenant.alias)).toMatchObject({ code: 0 });
  const { code, out } = await cli('payment', 'disconnect', tenant.alias, '--json');
  expect([code, JSON.parse(out)]).toEqual([0, { ...connected(), provider: null, secretKey: null }]);
  expect(await show()).toMatchObject({ provider: null, secretKey: null });
  const { core } = service.service;
  const recorded = [];
  for await (const event of core.log.readStream(core.names.tenantStream(tenant.alias)))
    recorded.push(event);
  const bytes = JSON.stringify(recorded.map(({ data }) => data));
  expect(bytes).toContain('replacedValidUntil');
  for (const secret of [KEY, WEBHOOK_SECRET]) expect(bytes).not.toContain(secret);
  const exported = await cli('ledger', 'export', tenant.alias);
  expect(exported.out).toContain('PaymentProviderDisconnected');
  expect(exported.out).not.toContain('"secrets"');
  const connections = recorded.flatMap(({ type, data }) =>
    type === 'PaymentProviderConnected'
      ? [(JSON.parse(data) as { secrets: { subject: string } }).secrets.subject]
      : [],
  );
  expect(connections).toHaveLength(2);
  core.keys.forget();
  expect([...(await core.keys.load(connections)).values()]).toEqual([null, null]);
});

const CREDIT = {
  type: 'CREDIT',
  unit: 'CENTS',
  currency: 'USD',
  assignedCredit: 700,
  payTo: 'provider',
};

/** The way of docs/how-to/connect-a-payment-provider.md, from the connection to the bill. */
const put = async ({ live }: TestTenant, id: string, over: Json): Promise<void> =>
  expect(
    await live.put(`/open/account/${id}/user/${id}`, { id, accountId: id, ...over }),
  ).toMatchObject({ status: 200 });
const paid = async ({ alias }: TestTenant, account: string): Promise<void> =>
  eventually(async () => {
    const { out } = await cli('payment', 'show', alias, '--account', account, '--json');
    return out.includes('"PUSHED"');
  });
const reconcile = async (alias: string): Promise<Json> => {
  const { code, out } = await cli('payment', 'reconcile', alias, '--json');
  return { code, ...(JSON.parse(out) as Json) };
};

it('a new tenant converts by the first paid invoice, pays by the bill, and finds what differs', async () => {
  const own = await service.createTenant({
    programType: 'PAYMENT_PROVIDER',
    program: { id: 'default', referrerReward: CREDIT },
  });
  expect(await connecting(own.alias)).toMatchObject({ code: 0 });
  double.balanceTransactions.length = 0;
  const [ann, bob, referralCode] = [personal('ann'), personal('bob'), personal('c')];
  for (const customer of ['cus_ann', 'cus_bob']) double.customer(customer);
  await put(own, ann, { referralCode, paymentProviderId: 'cus_ann' });
  await put(own, bob, { referredBy: { code: referralCode }, paymentProviderId: 'cus_bob' });
  // The provider does not have it.
  await put(own, personal('eve'), { paymentProviderId: 'cus_made_up' });
  const created = Math.floor(Date.now() / 1_000);
  const invoice = { id: 'in_bob', customer: 'cus_bob', amount_paid: 1999, currency: 'usd' };
  double.invoices.push({ ...invoice, status: 'paid', created });
  const event = { id: 'evt_way', livemode: true, type: 'invoice.paid', created };
  const payload = JSON.stringify({ ...event, data: { object: invoice } });
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: WEBHOOK_SECRET });
  const received = await fetch(`${service.origin}/integrations/stripe/${own.alias}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'stripe-signature': signature },
    body: payload,
  });
  expect(received.status).toBe(200);
  await paid(own, ann);
  expect(double.balanceTransactions).toEqual([
    expect.objectContaining({ customer: 'cus_ann', amount: -700, currency: 'usd' }),
  ]);
  expect(await reconcile(own.alias)).toEqual({ code: 0, ok: true, differences: [] });
  double.balanceTransactions.length = 0;
  for (let n = 0; n < 1_002; n += 1) {
    const metadata = { rewardId: `unknown ${n}` };
    const transaction = { customer: 'cus_bob', amount: -1, currency: 'usd', metadata };
    double.balanceTransactions.push({ ...transaction, id: `cbtxn_of_nobody_${n}` });
  }
  const { code, differences, more } = (await reconcile(own.alias)) as unknown as {
    code: number;
    differences: readonly Json[];
    more: number;
  };
  expect([code, differences.length, more]).toEqual([2, 1_000, 3]);
  double.balanceTransactions.length = 0;
});

it('a new tenant passes over the credit that a former account of the customer was paid', async () => {
  const own = await service.createTenant({
    programType: 'PAYMENT_PROVIDER',
    program: { id: 'default', referredReward: CREDIT },
  });
  expect(await connecting(own.alias)).toMatchObject({ code: 0 });
  double.balanceTransactions.length = 0;
  double.customer('cus_former');
  const [ann, bob, cat] = [personal('ann'), personal('bob'), personal('cat')];
  const referralCode = personal('c');
  const paymentProviderId = 'cus_former';
  await put(own, ann, { referralCode });
  await put(own, bob, { referredBy: { code: referralCode }, paymentProviderId });
  await paid(own, bob);
  const same = { code: 0, ok: true, differences: [] };
  expect(await reconcile(own.alias)).toEqual(same);

  for (const next of [bob, cat]) {
    expect(await own.live.call('DELETE', `/open/account/${bob}`)).toMatchObject({ status: 204 });
    await put(own, next, { paymentProviderId });
    expect(await reconcile(own.alias)).toEqual(same);
  }
  double.balanceTransactions.length = 0;
});
