import {
  ProviderFailure,
  type FactsPage,
  type ProviderEvent,
} from '../../src/payments/payment-provider.js';
import { StripeProvider } from '../../src/payments/stripe/stripe-provider.js';
import { EndpointGuard } from '../../src/webhooks/sending/endpoint-guard.js';
import { StripeDouble } from '../harness/stripe-double.js';
import { openOnce } from '../support/opened.js';

const KEY = 'sk_test_adapter0001';
const LOOPBACK = { address: '127.0.0.0', prefix: 8, family: 'ipv4' } as const;
const WITHIN_MS = 60_000;

const double = openOnce(() => StripeDouble.start({ secretKey: KEY, tls: true }), 'stop');
const provider = openOnce(() => providerWith({ withinMs: WITHIN_MS }), 'close');

const providerWith = ({ withinMs }: { readonly withinMs: number }): StripeProvider =>
  new StripeProvider(new EndpointGuard({ allowed: [LOOPBACK] }), {
    withinMs,
    trusted: double.certificate,
  });

const calls = (secretKey = KEY, from = provider) => from.calls({ secretKey, apiBase: double.url });

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const failure: unknown = await work.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ProviderFailure);
  const { kind, message } = failure as ProviderFailure;
  expect(message).not.toContain(KEY);
  return kind;
}

it('a key is checked by one call, with the pinned version of the interface', async () => {
  const before = double.calls.length;
  await calls().check();
  expect(double.calls.slice(before)).toEqual([
    expect.objectContaining({
      method: 'GET',
      path: '/v1/balance',
      version: '2026-10-28.endive',
    }),
  ]);
});

it('a key that the provider does not know is refused', async () => {
  expect(await failureOf(calls('sk_test_unknown0001').check())).toBe('refused');
});

it.each([
  ['sk_live_0123456789', 'live'],
  ['sk_test_0123456789', 'test'],
  ['rk_live_0123456789', 'live'],
  ['pk_live_0123456789', undefined],
  ['sk_live_', undefined],
  ['sk_live_0123456789\nsk_test_0123456789', undefined],
])('a key %j is one of mode %s', (key, mode) => {
  expect(provider.modeOf(key)).toBe(mode);
});

const all = async (since: number) => {
  const facts = [];
  for (let cursor: string | null = null; ;) {
    const page: FactsPage = await calls().factsPage(since, cursor);
    facts.push(...page.facts.map(({ id, fact }) => [id, fact.kind]));
    if (page.next === null) return facts;
    cursor = page.next;
  }
};
const now = Math.floor(Date.now() / 1_000);
const DAY = 86_400;
const since = (now - 3 * DAY) * 1_000;
const event = (id: string, type: string, object: object, created = now) =>
  double.events.push({ id, type, object: 'event', created, data: { object } });

it('a walk finds an older invoice that was paid, and an older subscription that ended', async () => {
  const invoice = { id: 'in_old', customer: 'cus_1', amount_paid: 900, currency: 'usd' };
  double.invoices.push({ ...invoice, status: 'paid', created: now - 9 * DAY });
  event('evt_paid', 'invoice.paid', invoice);
  event('evt_before', 'invoice.paid', { ...invoice, id: 'in_before' }, now - 9 * DAY);
  event('evt_other', 'charge.succeeded', { id: 'ch_1' });
  const ended = { id: 'sub_old', customer: 'cus_1', status: 'canceled', created: now - 9 * DAY };
  for (let n = 0; n < 100; n += 1)
    event(`evt_${n}`, 'customer.subscription.updated', { ...ended, status: 'active' });
  event('evt_ended', 'customer.subscription.deleted', ended);
  const found = await all(since);
  expect(found.filter(([, kind]) => kind !== 'ACTIVE')).toEqual([
    ['evt_paid', 'INVOICE_PAID'],
    ['evt_ended', 'CANCELLED'],
  ]);
  expect(found).toHaveLength(102);
});

it('a walk does without the events where the key may not read them, and not where they are away', async () => {
  const isOfEvents = ({ path }: { readonly path: string }) => path === '/v1/events';
  double.fail({ kind: 'answer', status: 403 }, isOfEvents);
  expect(await all(since)).toEqual([]);
  double.fail({ kind: 'answer', status: 500 }, isOfEvents);
  expect(await failureOf(all(since))).toBe('failed');
});

/** Each is added to what the subscription has then. */
async function adds(customer: string, rewardIds: readonly string[]): Promise<void> {
  for (const rewardId of rewardIds) {
    const [{ id, discounts, slot } = { id: '', discounts: [] }] =
      await calls().subscriptionsOf(customer);
    const terms = { percent: 10, months: null, keeps: discounts };
    const call = { kind: 'DISCOUNT', key: `reward:${rewardId}`, subscription: id } as const;
    const slotted = slot === undefined ? {} : { slot };
    await calls().pay({ ...call, ...terms, ...slotted }, rewardId);
  }
}
const found = async (customer: string, rewardIds: readonly string[]): Promise<boolean[]> => {
  const lists = [];
  for (const rewardId of rewardIds) lists.push(await calls().discountsFor(customer, rewardId));
  return lists.map((list) => list.length > 0);
};
const rewards = Array.from({ length: 22 }, (_, n) => `r${n}`);

it('the rewards of a subscription are found by their ids, the newest twenty', async () => {
  double.subscription('sub_slots', 'cus_slots');
  await adds('cus_slots', rewards);
  const [first, second, ...newest] = rewards;
  expect(await found('cus_slots', [first ?? '', second ?? ''])).toEqual([false, false]);
  expect(await found('cus_slots', newest)).toEqual(newest.map(() => true));
  expect(await calls().discountsFor('cus_slots', 'r20')).toEqual([
    { subscription: 'sub_slots', hasEnded: false, reference: 'ref_10_once' },
  ]);
  const members = Object.keys(double.subscriptions.get('sub_slots')?.metadata ?? {});
  expect(members).toHaveLength(21);
});

const EVENT: ProviderEvent = {
  id: 'evt_1',
  type: 'any',
  created: 1,
  customer: 'cus_1',
  invoice: null,
  payments: [],
  subscription: null,
  left: null,
  fact: { kind: 'CANCELLED' },
};
const refund = { kind: 'REFUNDED', amount: 1, amountRefunded: 1, currency: 'USD' } as const;
const paid = { kind: 'INVOICE_PAID', amountPaid: 1, currency: 'USD', interval: null } as const;
const disputed = { kind: 'DISPUTED', status: 'lost', since: 1, amount: null } as const;

it('the provider is called for the invoice of a refund, if it names one', async () => {
  const payment = { type: 'payment_intent', payment_intent: 'pi_1' };
  double.invoicePayments.push({ id: 'inpay_1', invoice: 'in_1', payment });
  for (const [id, invoice] of [
    ['pi_1', 'in_1'],
    ['pi_2', null],
    ['ch_1', null],
  ] as const)
    expect(await calls().completed({ ...EVENT, payments: [id], fact: refund })).toMatchObject({
      invoice,
    });
});

it('the provider is called once for the interval of the first recurring price, and a refused call leaves none', async () => {
  double.prices.set('price_once', { id: 'price_once', recurring: null });
  const recurring = { interval: 'week', interval_count: 4 };
  double.prices.set('price_4w', { id: 'price_4w', recurring });
  const open = { ...EVENT, prices: ['price_once', 'price_4w'], fact: paid };
  for (const _time of [1, 2]) {
    const completed = await calls().completed(open);
    expect(completed.fact).toEqual({ ...paid, interval: { type: 'WEEK', value: 4 } });
    expect(completed).not.toHaveProperty('prices');
  }
  expect(double.callsTo('GET', /prices\/price_4w/)).toHaveLength(1);
  const refused = { ...open, prices: ['price_gone', 'price_4w'] };
  expect((await calls().completed(refused)).fact).toEqual(paid);
});

it('the provider is called for the other active or trialing subscriptions at an end', async () => {
  double.subscription('sub_active', 'cus_left');
  double.subscription('sub_trial', 'cus_left', 'trialing');
  double.subscription('sub_due', 'cus_left', 'past_due');
  const end = { ...EVENT, customer: 'cus_left', subscription: 'sub_active' };
  expect((await calls().completed(end)).left).toEqual(['sub_trial']);
});

it('the provider is called for the customer and the amount of a disputed charge', async () => {
  const charge = { id: 'ch_9', customer: 'cus_9', payment_intent: 'pi_9', amount: 7 };
  double.charges.set('ch_9', charge);
  const dispute = { ...EVENT, customer: null, payments: ['ch_9'], fact: disputed };
  expect(await calls().completed(dispute)).toMatchObject({
    customer: 'cus_9',
    payments: ['ch_9', 'pi_9'],
    fact: { amount: 7 },
  });
  double.invoices.push({ id: 'in_9', customer: 'cus_of_invoice' });
  const payment = { type: 'payment_intent', payment_intent: 'pi_10' };
  double.invoicePayments.push({ id: 'inpay_9', invoice: 'in_9', payment });
  expect(await calls().completed({ ...dispute, payments: ['ch_secret', 'pi_10'] })).toMatchObject({
    customer: 'cus_of_invoice',
    invoice: 'in_9',
  });
});

it('an event stays incomplete while the provider does not answer', async () => {
  double.fail({ kind: 'answer', status: 500 });
  expect(await failureOf(calls().completed(EVENT))).toBe('failed');
});

it.each([
  [429, 'unavailable'],
  [409, 'unavailable'],
  [500, 'failed'],
  [503, 'failed'],
  [400, 'refused'],
  [403, 'refused'],
])('a call answered %i is %s', async (status, kind) => {
  double.fail({ kind: 'answer', status });
  expect(await failureOf(calls().check())).toBe(kind);
});

it.each([{ kind: 'rubbish' }, { kind: 'break-off' }] as const)(
  'a call with $kind for an answer may be repeated',
  async (fault) => {
    // The package repeats a call whose connection broke, once.
    double.fail(fault);
    double.fail(fault);
    expect(await failureOf(calls().check())).toBe('unavailable');
    double.faults.length = 0;
  },
);

it('a call without an answer ends after its time', async () => {
  const impatient = providerWith({ withinMs: 300 });
  double.fail({ kind: 'hang' });
  double.fail({ kind: 'hang' });
  expect(await failureOf(calls(KEY, impatient).check())).toBe('unavailable');
  double.faults.length = 0;
  await impatient.close();
});

it('a call is not made to an address that the guard refuses', async () => {
  const before = double.calls.length;
  const guarded = new StripeProvider(new EndpointGuard({ allowed: [] }));
  expect(await failureOf(calls(KEY, guarded).check())).toBe('unavailable');
  expect(double.calls).toHaveLength(before);
  await guarded.close();
});
