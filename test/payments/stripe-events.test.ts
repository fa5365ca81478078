import { eventOf } from '../../src/payments/stripe/stripe-events.js';

/** Events of Stripe, in the shapes of older and of present versions of its interface. */

const event = (type: string, object: object) => ({
  id: 'evt_1',
  type,
  created: 1_700_000_000,
  data: { object },
});
const paid = (over: object) =>
  eventOf(
    event('invoice.paid', {
      id: 'in_1',
      customer: 'cus_1',
      amount_paid: 1999,
      currency: 'eur',
      ...over,
    }),
  );

const IGNORED = { customer: null, invoice: null, payments: [] };

describe('a paid invoice', () => {
  it('of an older version names its payments, and prices in its lines', () => {
    const lines = { data: [{ price: null }, { price: { recurring: quarterly } }] };
    expect(paid({ charge: 'ch_1', payment_intent: 'pi_1', lines })).toEqual({
      id: 'evt_1',
      type: 'invoice.paid',
      created: 1_700_000_000_000,
      customer: 'cus_1',
      invoice: 'in_1',
      payments: ['pi_1', 'ch_1'],
      fact: {
        kind: 'INVOICE_PAID',
        amountPaid: 1999,
        currency: 'EUR',
        interval: { type: 'MONTH', value: 3 },
      },
    });
  });

  it('of the present version lists its payments, and periods in its lines', () => {
    const payments = { data: [{ payment: { type: 'payment_intent', payment_intent: 'pi_1' } }] };
    const parent = { type: 'subscription_item_details' };
    const period = { start: Date.UTC(2025, 0, 31) / 1_000, end: Date.UTC(2025, 1, 28) / 1_000 };
    expect(
      paid({ customer: { id: 'cus_1' }, payments, lines: { data: [{ parent, period }] } }),
    ).toMatchObject({
      customer: 'cus_1',
      payments: ['pi_1'],
      fact: { interval: { type: 'MONTH', value: 1 } },
    });
  });

  it.each([
    ['7 days', [2025, 0, 1], [2025, 0, 8], { type: 'WEEK', value: 1 }],
    ['10 days', [2025, 0, 1], [2025, 0, 11], { type: 'DAY', value: 10 }],
    ['a year', [2024, 1, 29], [2025, 1, 28], { type: 'YEAR', value: 1 }],
    ['half a year', [2025, 0, 15], [2025, 6, 15], { type: 'MONTH', value: 6 }],
    ['nothing', [2025, 0, 15], [2025, 0, 15], null],
  ] as const)('bills %s', (_, from, to, interval) => {
    const seconds = ([year, month, day]: readonly [number, number, number]): number =>
      Date.UTC(year, month, day) / 1_000;
    const period = { start: seconds(from), end: seconds(to) };
    const line = { type: 'subscription', period };
    expect(paid({ lines: { data: [line] } })).toMatchObject({ fact: { interval } });
  });

  it.each([{ amount_paid: 1.5 }, { amount_paid: -1 }, { amount_paid: '1' }, { currency: 'euro' }])(
    'with %j is recorded, and says nothing',
    (over) => {
      const fact = { kind: 'IGNORED', because: 'MALFORMED' };
      expect(paid(over)).toMatchObject({ ...IGNORED, fact });
    },
  );
});

const quarterly = { interval: 'month', interval_count: 3 };

it.each([
  ['trialing', { kind: 'TRIAL' }],
  ['canceled', { kind: 'CANCELLED' }],
  ['unpaid', { kind: 'CANCELLED' }],
  ['incomplete_expired', { kind: 'CANCELLED' }],
  ['active', { kind: 'IGNORED', because: 'STATUS' }],
])('a subscription that is %s', (status, fact) => {
  const object = { id: 'sub_1', customer: 'cus_1', status };
  // A discount may wait for one that changes nothing else.
  expect(eventOf(event('customer.subscription.updated', object))).toMatchObject({
    fact,
    customer: 'cus_1',
  });
});

it('of a paid invoice the first twenty payments are kept', () => {
  const all = Array.from({ length: 3_000 }, (_, n) => `pi_${n}`);
  const data = all.map((id) => ({ payment: { payment_intent: id } }));
  expect(paid({ payments: { data } })?.payments).toEqual(all.slice(0, 20));
});

it('a time that no date can have is the last one', () => {
  const far = { ...event('any', {}), created: Number.MAX_SAFE_INTEGER };
  expect(eventOf(far)?.created).toBe(8.64e15);
  expect(eventOf({ ...far, created: -Number.MAX_SAFE_INTEGER })?.created).toBe(0);
});

it('what is about nobody, or of an unknown type, is ignored', () => {
  const fact = { kind: 'IGNORED', because: 'NO_CUSTOMER' };
  expect(paid({ customer: null })).toMatchObject({ ...IGNORED, fact });
  expect(eventOf(event('constructor', {}))).toMatchObject({ fact: { because: 'TYPE' } });
});

it.each([{}, null, [], 'text', { id: 'evt_1', type: 'invoice.paid' }, { id: 1, type: 'a' }])(
  '%j is no event',
  (value) => {
    expect(eventOf(value)).toBeUndefined();
  },
);
