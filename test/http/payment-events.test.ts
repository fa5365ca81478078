import Stripe from 'stripe';
import { providerRows } from '../../src/payments/incoming/payment-rows.js';
import { destroyExpiredKeys } from '../../src/payments/incoming/expired-customer-keys.js';
import { announceErasure } from '../../src/postgres/announcements.js';
import type { Json } from '../support/api-client.js';
import { namesake } from '../support/people.js';
import { StripeDouble } from '../harness/stripe-double.js';
import { errorBody, personal, settled, useService, useTenant } from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

/**
 * Events of a payment provider, signed by the package's own helper, and their effects. Over 5 s: a
 * service of its own, which limits wrong signatures.
 */

const SECRETS = { live: 'whsec_eventslive01', test: 'whsec_eventstest01' } as const;

const { service } = useService(() => ({
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  FAILED_CREDENTIALS_PER_MINUTE: '40',
}));
const tenant = useTenant({ service }, { programType: 'PAYMENT_PROVIDER' });
const double = openOnce(() => StripeDouble.start({ secretKey: 'sk_live_events0001' }), 'stop');
let made = 0;

beforeAll(async () => {
  for (const mode of ['live', 'test'] as const) await connect(mode, SECRETS[mode]);
});

async function connect(mode: 'live' | 'test', webhookSecret: string): Promise<void> {
  const meta = {
    scope: { tenant: tenant.alias, mode },
    commandId: crypto.randomUUID(),
    correlationId: 'test',
    causationId: 'test',
    actor: { kind: 'operator', id: 'test' },
    idempotency: null,
  } as const;
  const credentials = { secretKey: `sk_${mode}_events0001`, webhookSecret, apiBase: double.url };
  const connected = await service.service.core.payments.connect(
    meta,
    { provider: 'stripe', ...credentials },
    60_000,
  );
  expect(connected).not.toHaveProperty('refused');
}

interface Sent {
  readonly secret?: string;
  readonly signature?: string | null;
  readonly ageS?: number;
  readonly alias?: string;
}

async function post(payload: string, sent: Sent = {}) {
  const { secret = SECRETS.live, ageS = 0, alias = tenant.alias } = sent;
  const signature =
    sent.signature === undefined
      ? Stripe.webhooks.generateTestHeaderString({
          payload,
          secret,
          timestamp: Math.floor(Date.now() / 1_000) - ageS,
        })
      : sent.signature;
  const response = await fetch(`${service.origin}/integrations/stripe/${alias}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      ...(signature === null ? {} : { 'stripe-signature': signature }),
    },
    body: payload,
  });
  const body = (await response.json()) as Json;
  service.check({
    method: 'POST',
    path: `/integrations/stripe/${alias}`,
    status: response.status,
    body,
  });
  return { status: response.status, body };
}

const now = (): number => Math.floor(Date.now() / 1_000);

function event(type: string, object: Json, created: number | string = now(), over = {}): string {
  made += 1;
  const envelope = { id: `evt_${made}`, object: 'event', livemode: true, type, created, ...over };
  return JSON.stringify({ ...envelope, data: { object } });
}

const paid = (customer: string, over: Json = {}): string =>
  event('invoice.paid', {
    id: `in_${customer}`,
    customer,
    amount_paid: 1999,
    currency: 'usd',
    lines: { data: [{ type: 'subscription', price: { recurring: { interval: 'month' } } }] },
    ...over,
  });

const RECEIVED = { status: 200, body: { received: true } };

const user = (word: string, over: Json = {}): Promise<string> => namesake(tenant.live, word, over);

/** An account that is referred, with the customer when one is given. */
async function referred(over: Json = {}) {
  const referralCode = personal('c');
  const ann = await user('ann', { referralCode });
  const bob = await user('bob', { referredBy: { code: referralCode }, ...over });
  return { ann, bob };
}

async function referralOf(bob: string): Promise<Json> {
  const { body } = await tenant.live.get<{ referrals: readonly Json[] }>(
    `/referrals?referredAccountId=${bob}`,
    { headers: { 'ledger-position-at-least': (await service.head()) ?? '' } },
  );
  return body.referrals[0] ?? {};
}

it('a signature that is missing, wrong, old or foreign is refused, and nothing is recorded', async () => {
  const head = await service.head();
  const payload = paid('cus_forged');
  const refused = { status: 400, body: expect.objectContaining({ apiErrorCode: 'BAD_REQUEST' }) };
  expect(await post(payload, { signature: null })).toEqual(refused);
  expect(await post(payload, { signature: 't=1,v1=00' })).toEqual(refused);
  expect(await post(payload, { secret: 'whsec_foreign0001' })).toEqual(refused);
  expect(await post(payload, { ageS: 330 })).toEqual(refused);
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRETS.live });
  expect(await post(`${payload} `, { signature })).toEqual(refused);
  expect(await post('{"id":', {})).toEqual(refused);
  expect(await post('[]', {})).toEqual(refused);
  expect(await post(payload, { secret: SECRETS.test })).toEqual(refused);
  expect(await post(event('any', {}, now(), { livemode: false }))).toEqual(refused);
  expect(await service.head()).toBe(head);
});

it('a signature belongs to a connected tenant', async () => {
  const other = await service.createTenant({ programType: 'PAYMENT_PROVIDER' });
  expect(await post(paid('cus_1'), { alias: other.alias })).toEqual({
    status: 404,
    body: { ...errorBody(404, 'NOT_FOUND'), message: expect.any(String) },
  });
  expect(await post(paid('cus_1'), { alias: 'missing' })).toMatchObject({
    status: 404,
    body: { apiErrorCode: 'TENANT_NOT_FOUND' },
  });
});

it('a signature of a body over 1 MiB is not verified', async () => {
  const { status, body } = await post(paid('cus_1', { note: 'x'.repeat(1024 * 1024) }));
  expect([status, body['apiErrorCode']]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
});

it('an event is recorded once, however often it is sent, without what is not needed of it', async () => {
  const payload = paid('cus_once', { customer_email: 'secret.person@example.com' });
  const head = await service.head();
  expect(await post(payload)).toEqual(RECEIVED);
  const after = await service.head();
  expect(after).not.toBe(head);
  expect(await post(payload)).toEqual(RECEIVED);
  expect(await service.head()).toBe(after);
  const { core } = service.service;
  const stream = core.names.customerStream({ tenant: tenant.alias, mode: 'live' }, 'cus_once');
  const recorded = [];
  for await (const { type, data } of core.log.readStream(stream)) recorded.push({ type, data });
  expect(recorded.map(({ type }) => type)).toEqual(['ProviderEventReceived']);
  for (const word of ['cus_once', 'in_cus_once', 'secret.person'])
    expect(JSON.stringify(recorded)).not.toContain(word);
});

// Every other form: `test/payments/stripe-events.test.ts`.
it('an event of another form is recorded and ignored, once', async () => {
  const payload = event('invoice.paid', {}, '2026-11-28T00:00:00Z');
  const head = await service.head();
  expect(await post(payload)).toEqual(RECEIVED);
  const after = await service.head();
  expect(after).not.toBe(head);
  expect(await post(payload)).toEqual(RECEIVED);
  expect(await service.head()).toBe(after);
});

it('a first paid invoice waits for the account that gets the customer', async () => {
  expect(await post(paid('cus_waits'))).toEqual(RECEIVED);
  const { bob } = await referred();
  await settled(service.service);
  expect(await referralOf(bob)).toMatchObject({ dateReferralPaid: null });
  await tenant.live.put(`/open/account/${bob}/user/${bob}`, {
    id: bob,
    accountId: bob,
    paymentProviderId: 'cus_waits',
  });
  await settled(service.service);
  expect(await referralOf(bob)).toMatchObject({ dateReferralPaid: expect.any(Number) });
});

it('a refund of the first invoice in full is looked up at the provider, where the event does not name it', async () => {
  await service.applyProgram(tenant.alias, { id: 'default', refundDays: 30 });
  const { bob } = await referred({ paymentProviderId: 'cus_lookup' });
  await post(paid('cus_lookup'));
  await settled(service.service);
  const payment = { type: 'payment_intent', payment_intent: 'pi_lookup' };
  double.invoicePayments.push({ id: 'inpay_1', invoice: 'in_cus_lookup', payment });
  const charge = { id: 'ch_2', payment_intent: 'pi_lookup', customer: 'cus_lookup' };
  const amounts = { amount: 1999, amount_refunded: 1999, currency: 'usd' };
  const refund = event('charge.refunded', { ...charge, ...amounts });
  const head = await service.head();
  double.fail({ kind: 'answer', status: 500 });
  expect(await post(refund)).toMatchObject({ status: 503 });
  expect(await service.head()).toBe(head);
  expect(await post(refund)).toEqual(RECEIVED);
  await settled(service.service);
  expect(await referralOf(bob)).toMatchObject({ dateReferralEnded: expect.any(Number) });
});

const keysOf = async (customer: string): Promise<readonly string[]> => {
  const { core } = service.service;
  const stream = core.names.customerStream({ tenant: tenant.alias, mode: 'live' }, customer);
  const subjects = [];
  for await (const { data } of core.log.readStream(stream))
    subjects.push((JSON.parse(data) as { ids: { subject: string } }).ids.subject);
  return subjects;
};
const waitedTooLong = (subject: string): Promise<unknown> =>
  service.service.core.pool.query(
    `update ledger.payment_waiting_events set at = at - interval '30 days' where subject = $1`,
    [subject],
  );
const isThere = async (subject: string): Promise<boolean> =>
  (await service.service.core.keys.load([subject])).get(subject) !== null;
const end = (): Promise<number> => {
  const { core } = service.service;
  const { pool, streams, keys } = core;
  return destroyExpiredKeys({
    rows: providerRows(pool),
    streams,
    keys,
    forget: (gone) => core.forget(gone),
    announce: (gone) => announceErasure(pool, gone),
  });
};

it('the ids of a customer cannot be read when no account gets it within 30 days, and no others', async () => {
  await referred({ paymentProviderId: 'cus_linked' });
  for (const customer of ['cus_linked', 'cus_never', 'cus_soon']) await post(paid(customer));
  await settled(service.service);
  const [never = ''] = await keysOf('cus_never');
  const subjects = [...(await keysOf('cus_linked')), ...(await keysOf('cus_soon'))];
  await waitedTooLong(never);
  await end();
  expect(await isThere(never)).toBe(false);
  expect(await Promise.all(subjects.map(isThere))).toEqual([true, true]);
  expect(await end()).toBe(0);
  await post(paid('cus_never', { id: 'in_later' }));
  const [, later = ''] = await keysOf('cus_never');
  expect([later === never, await isThere(later)]).toEqual([false, true]);
});

it('the ids of a customer stay while an account has it, though the events waited for it', async () => {
  await post(paid('cus_late'));
  await referred({ paymentProviderId: 'cus_late' });
  await settled(service.service);
  const [late = ''] = await keysOf('cus_late');
  await waitedTooLong(late);
  expect(await end()).toBe(1);
  expect(await isThere(late)).toBe(true);
  expect(await end()).toBe(0);
});

it('the ids of a customer have one key, whatever comes between, which ends with the account', async () => {
  const { bob } = await referred({ paymentProviderId: 'cus_onekey' });
  await post(paid('cus_onekey'));
  await post(event('customer.subscription.updated', { customer: 'cus_onekey', status: 'active' }));
  await post(paid('cus_onekey', { id: 'in_second' }));
  await settled(service.service);
  const [first = '', , second = ''] = await keysOf('cus_onekey');
  expect(second).toBe(first);
  expect(await isThere(first)).toBe(true);
  expect((await tenant.live.call('DELETE', `/open/account/${bob}`)).status).toBe(204);
  expect(await isThere(first)).toBe(false);
});

it('unsigned events are refused, above a limit with 429; signed events are received', async () => {
  let status = 0;
  for (let sent = 0; status !== 429 && sent < 100; sent += 1)
    ({ status } = await post(paid('cus_flood'), { signature: 't=1,v1=00' }));
  expect(status).toBe(429);
  expect(await post(paid('cus_flood'))).toEqual(RECEIVED);
});
