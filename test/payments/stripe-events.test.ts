import { eventOf, unknownForm } from '../../src/payments/stripe/stripe-events.js';

const event = (type: string, object: object) => ({
  id: 'evt_1',
  type,
  created: 1_700_000_000,
  livemode: true,
  data: { object },
});
const read = (parsed: unknown) => eventOf(parsed)?.event;
const paid = (over: object) =>
  read(
    event('invoice.paid', {
      id: 'in_1',
      customer: 'cus_1',
      amount_paid: 1999,
      currency: 'eur',
      ...over,
    }),
  );

const NOTHING = { customer: null, invoice: null, payments: [], subscription: null, left: null };

it('a paid invoice of an older version names its payments, and prices in its lines', () => {
  const lines = { data: [{ price: null }, { price: { recurring: quarterly } }] };
  expect(paid({ charge: 'ch_1', payment_intent: 'pi_1', lines })).toEqual({
    id: 'evt_1',
    type: 'invoice.paid',
    created: 1_700_000_000_000,
    customer: 'cus_1',
    invoice: 'in_1',
    payments: ['pi_1', 'ch_1'],
    subscription: null,
    left: null,
    fact: {
      kind: 'INVOICE_PAID',
      amountPaid: 1999,
      currency: 'EUR',
      interval: { type: 'MONTH', value: 3 },
    },
  });
});

const item = { type: 'subscription_item_details' };
const open = (price: unknown, over: object = {}) => ({
  parent: item,
  pricing: { price_details: { price } },
  ...over,
});

it('a paid invoice of the present version lists its payments, and names the price to call for', () => {
  const payments = { data: [{ payment: { type: 'payment_intent', payment_intent: 'pi_1' } }] };
  expect(
    paid({ customer: { id: 'cus_1' }, payments, lines: { data: [open('price_1')] } }),
  ).toMatchObject({
    customer: 'cus_1',
    payments: ['pi_1'],
    prices: ['price_1'],
    fact: { interval: null },
  });
});

const month = { recurring: { interval: 'month', interval_count: 1 } };
const fourWeeks = { recurring: { interval: 'week', interval_count: 4 } };
const ofItem = { ...item, subscription_item_details: { proration: true } };
const ofInvoiceItem = { invoice_item_details: { proration: true } };
it.each([
  ['four weeks stay weeks', [{ price: fourWeeks }], { type: 'WEEK', value: 4 }],
  ['a plan', [{ plan: { interval: 'year' } }], { type: 'YEAR', value: 1 }],
  ['an expanded price', [open(month)], { type: 'MONTH', value: 1 }],
  [
    'what is not recurring is passed over',
    [{ price: { recurring: null } }, { price: month }],
    { type: 'MONTH', value: 1 },
  ],
  [
    'a proration of older versions',
    [{ proration: true, price: fourWeeks }, { price: month }],
    { type: 'MONTH', value: 1 },
  ],
  [
    'a proration of a subscription item',
    [open(fourWeeks, { parent: ofItem }), open(month)],
    { type: 'MONTH', value: 1 },
  ],
  [
    'a proration of an invoice item',
    [open('price_1', { parent: ofInvoiceItem }), open(month)],
    { type: 'MONTH', value: 1 },
  ],
  ['prorations alone', [{ proration: true, price: month }], null],
  [
    'a period without a price',
    [{ type: 'subscription', period: { start: 0, end: 1_468_800 } }],
    null,
  ],
])('a paid invoice has the interval of its first recurring line: %s', (_, data, interval) => {
  const event = paid({ lines: { data } });
  expect(event).toMatchObject({ fact: { interval } });
  expect(event).not.toHaveProperty('prices');
});

it.each([{ amount_paid: 1.5 }, { amount_paid: -1 }, { amount_paid: '1' }, { currency: 'euro' }])(
  'a paid invoice with %j is recorded, and says nothing',
  (over) => {
    const fact = { kind: 'IGNORED', because: 'MALFORMED' };
    expect(paid(over)).toMatchObject({ ...NOTHING, fact });
  },
);

const quarterly = { interval: 'month', interval_count: 3 };

it.each([
  ['trialing', { kind: 'TRIAL' }],
  ['canceled', { kind: 'CANCELLED' }],
  ['unpaid', { kind: 'CANCELLED' }],
  ['incomplete_expired', { kind: 'CANCELLED' }],
  ['active', { kind: 'ACTIVE' }],
  ['past_due', { kind: 'INACTIVE' }],
])('a subscription that is %s', (status, fact) => {
  const object = { id: 'sub_1', customer: 'cus_1', status };
  // A discount may wait for one that changes nothing else.
  expect(read(event('customer.subscription.updated', object))).toMatchObject({
    fact,
    subscription: 'sub_1',
    customer: 'cus_1',
  });
});

it('the first twenty payments of a paid invoice are kept', () => {
  const all = Array.from({ length: 3_000 }, (_, n) => `pi_${n}`);
  const data = all.map((id) => ({ payment: { payment_intent: id } }));
  expect(paid({ payments: { data } })?.payments).toEqual(all.slice(0, 20));
});

it('an event without a customer, or of an unknown type, is ignored', () => {
  const fact = { kind: 'IGNORED', because: 'NO_CUSTOMER' };
  expect(paid({ customer: null })).toMatchObject({ ...NOTHING, fact });
  expect(read(event('constructor', {}))).toMatchObject({ fact: { because: 'TYPE' } });
});

it('a dispute names its charge, and no customer', () => {
  const object = { id: 'dp_1', charge: 'ch_1', payment_intent: 'pi_1', status: 'lost', created: 9 };
  expect(read(event('charge.dispute.closed', object))).toMatchObject({
    ...NOTHING,
    payments: ['ch_1', 'pi_1'],
    fact: { kind: 'DISPUTED', status: 'lost', since: 9_000, amount: null },
  });
});

const known = event('invoice.paid', { customer: 'cus_1', amount_paid: 1, currency: 'usd' });
it.each([
  [{}],
  [{ id: 'evt_1', type: 'invoice.paid' }],
  [{ ...known, id: 1 }],
  [{ ...known, created: '2026-11-28T00:00:00Z' }],
  [{ ...known, livemode: undefined }],
  [{ ...known, livemode: 'true' }],
])('an object of another form %j is ignored', (object) => {
  expect(eventOf(object)).toBeUndefined();
  expect(unknownForm(object, () => 'other', 5).event).toMatchObject({
    ...NOTHING,
    created: 5,
    fact: { kind: 'IGNORED', because: 'MALFORMED' },
  });
});

it('an object of another form keeps its id and mode, if it has them', () => {
  const other = { ...known, created: 'text' };
  expect(unknownForm(other, () => 'other', 5)).toMatchObject({
    mode: 'live',
    event: { id: 'evt_1' },
  });
  expect(unknownForm({}, () => 'other', 5)).toMatchObject({ mode: null, event: { id: 'other' } });
});
