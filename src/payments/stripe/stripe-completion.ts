import type Stripe from 'stripe';
import { ProviderFailure, type Interval, type ProviderEvent } from '../payment-provider.js';
import { called } from './stripe-answers.js';
import { intervalIn } from './stripe-events.js';

/** Completes events by calls. A refused call leaves the event as it is. */

/** A price never changes its interval; null: it is not recurring. */
export type KnownPrices = Map<string, Interval | null>;

/** For all tenants; the oldest are evicted. */
const PRICES_MAX = 10_000;

/** @param prices cache of all connections, by the names that `nameOf` gives. */
export async function complete(
  stripe: Stripe,
  event: ProviderEvent,
  prices: { readonly known: KnownPrices; readonly nameOf: (price: string) => string },
): Promise<ProviderEvent> {
  switch (event.fact.kind) {
    case 'INVOICE_PAID': {
      const { prices: open = [], ...rest } = event;
      const interval = await firstInterval(open, (price) => intervalOf(stripe, price, prices));
      return { ...rest, fact: { ...event.fact, interval } };
    }
    case 'CANCELLED':
      return { ...event, left: await liveNextTo(stripe, event) };
    case 'REFUNDED':
      return { ...event, invoice: await invoicePaidBy(stripe, event.payments) };
    case 'DISPUTED':
      return withCharge(stripe, event, event.fact);
    case 'TRIAL':
    case 'ACTIVE':
    case 'INACTIVE':
    case 'CUSTOMER_DELETED':
    case 'IGNORED':
      return event;
  }
}

/** Null also when an earlier price is refused: its line may be recurring. */
async function firstInterval(
  open: readonly (Interval | string)[],
  intervalOfPrice: (price: string) => Promise<Interval | null | undefined>,
): Promise<Interval | null> {
  for (const one of open) {
    const interval = typeof one === 'string' ? await intervalOfPrice(one) : one;
    if (interval !== null) return interval ?? null;
  }
  return null;
}

/** Undefined: the provider refuses the call. */
async function intervalOf(
  stripe: Stripe,
  price: string,
  { known, nameOf }: Parameters<typeof complete>[2],
): Promise<Interval | null | undefined> {
  const name = nameOf(price);
  const before = known.get(name);
  if (before !== undefined) return before;
  const found = await unlessRefused(called(stripe.prices.retrieve(price)));
  if (found === undefined) return undefined;
  const interval = intervalIn(found);
  const [oldest] = known.keys();
  if (known.size >= PRICES_MAX && oldest !== undefined) known.delete(oldest);
  known.set(name, interval);
  return interval;
}

const LIVE: ReadonlySet<string> = new Set(['active', 'trialing']);
const SUBSCRIPTIONS_MAX = 100;

async function liveNextTo(
  stripe: Stripe,
  { customer, subscription }: ProviderEvent,
): Promise<readonly string[]> {
  if (customer === null) return [];
  const list = stripe.subscriptions.list({ customer, limit: SUBSCRIPTIONS_MAX });
  const found = await unlessRefused(called(list));
  return (found?.data ?? [])
    .filter(({ id, status }) => LIVE.has(status) && id !== subscription)
    .map(({ id }) => id);
}

/** Invoices can be found by payment intents only. */
async function invoicePaidBy(stripe: Stripe, payments: readonly string[]): Promise<string | null> {
  const payment = payments.find((id) => id.startsWith('pi_'));
  if (payment === undefined) return null;
  const of = { type: 'payment_intent', payment_intent: payment } as const;
  const list = called(stripe.invoicePayments.list({ limit: 1, payment: of }));
  const [first] = (await unlessRefused(list))?.data ?? [];
  return idOf(first?.invoice);
}

/** A dispute names its charge, which names the customer. The key may read invoices only. */
async function withCharge(
  stripe: Stripe,
  event: ProviderEvent,
  fact: Extract<ProviderEvent['fact'], { kind: 'DISPUTED' }>,
): Promise<ProviderEvent> {
  const [id = ''] = event.payments;
  const charge = await unlessRefused(called(stripe.charges.retrieve(id)));
  const intent = idOf(charge?.payment_intent);
  const payments = [...new Set([...event.payments, ...(intent === null ? [] : [intent])])];
  const invoice = event.invoice ?? (await invoicePaidBy(stripe, payments));
  const customer = event.customer ?? idOf(charge?.customer) ?? (await payerOf(stripe, invoice));
  const amount = fact.amount ?? charge?.amount ?? null;
  return { ...event, customer, invoice, payments, fact: { ...fact, amount } };
}

async function payerOf(stripe: Stripe, invoice: string | null): Promise<string | null> {
  if (invoice === null) return null;
  return idOf((await unlessRefused(called(stripe.invoices.retrieve(invoice))))?.customer);
}

const idOf = (object: string | { readonly id?: string } | null | undefined): string | null =>
  (typeof object === 'string' ? object : object?.id) ?? null;

async function unlessRefused<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'refused') return undefined;
    throw error;
  }
}
