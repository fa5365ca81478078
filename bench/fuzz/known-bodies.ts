import fc from 'fast-check';
import { slot } from './slots.js';

/** Bodies that the description calls objects and no more. */

type Values = fc.Arbitrary<unknown>;

const line = fc.string({ unit: 'grapheme', maxLength: 12 });
const pageMembers = {
  heading: fc.oneof(line, fc.constant('Hi {{user.firstName}}')),
  color: fc.constantFrom('#000', '#12aBcD'),
  logoUrl: slot('url'),
};
const ours = fc.jsonValue({ maxDepth: 2 });

const themeWith = (logoUrl: Values): Values =>
  fc.record(
    {
      jsOptions: fc.constant({}),
      widget: fc.constant({}),
      email: fc.constant({}),
      page: fc.record({ ...pageMembers, logoUrl }, { requiredKeys: [] }),
      ours,
    },
    { requiredKeys: ['jsOptions', 'widget', 'email'] },
  );

export const wholeTheme: Values = themeWith(slot('url'));
/** Without a mark: whose mode an operator leaves out gives the theme to the live one. */
export const operatedTheme: Values = themeWith(fc.constant('https://logo.example/1.png'));

const removed = fc.constant(null);
export const themePatch: Values = fc.record(
  {
    page: fc.record(
      {
        heading: fc.oneof(pageMembers.heading, removed),
        color: fc.oneof(pageMembers.color, removed),
        logoUrl: fc.oneof(pageMembers.logoUrl, removed),
      },
      { requiredKeys: [] },
    ),
    ours,
  },
  { requiredKeys: [] },
);

export const connection: Values = fc.record({
  mode: slot('mode'),
  provider: fc.constant('stripe'),
  secretKey: slot('provider-key'),
  webhookSecret: slot('provider-secret'),
  apiBase: slot('provider'),
});

const money = fc.integer({ min: 0, max: 100_000 });
const currency = fc.constantFrom('usd', 'eur', 'EUR', 'points');
const customer = slot('payment');
const recurring = fc.record({
  type: fc.constant('subscription'),
  price: fc.record({
    recurring: fc.record({
      interval: fc.constantFrom('day', 'week', 'month', 'year', 'decade'),
      interval_count: fc.integer({ min: 1, max: 12 }),
    }),
  }),
});

const OBJECTS: Readonly<Record<string, Values>> = {
  'invoice.paid': fc.record({
    id: slot('event'),
    customer,
    currency,
    amount_paid: money,
    payment_intent: slot('event'),
    lines: fc.record({ data: fc.array(recurring, { maxLength: 2 }) }),
  }),
  'customer.subscription.created': fc.record({
    id: slot('event'),
    customer,
    status: fc.constantFrom('trialing', 'active', 'unpaid'),
  }),
  'customer.subscription.deleted': fc.record({ id: slot('event'), customer }),
  'customer.deleted': fc.record({ id: customer }),
  'charge.refunded': fc.record({
    id: slot('event'),
    customer,
    currency,
    invoice: slot('event'),
    amount: money,
    amount_refunded: money,
  }),
  'payout.paid': ours,
};

export const providerEvent: Values = fc.oneof(
  ...Object.entries(OBJECTS).map(([type, object]) =>
    fc.record({
      id: slot('event'),
      type: fc.constant(type),
      created: fc.integer({ min: 1_700_000_000, max: 1_800_000_000 }),
      data: fc.record({ object }),
    }),
  ),
);
