import type { BillingInterval } from '../../domain/account/account.events.js';
import type { IgnoredBecause, ProviderFact } from '../../domain/customer/customer.state.js';
import { isCurrency } from '../../domain/currencies.js';
import { ownMember } from '../../domain/own-member.js';
import type { Interval, ProviderEvent, SignedEvent } from '../payment-provider.js';

/**
 * Converts Stripe's events to recorded facts. A tenant's endpoint keeps the interface version of
 * its creation, so members of old and new versions are read.
 */

/** For events with an effect; of others, neither ids nor the customer are recorded. */
type Reading = (object: unknown) => Omit<ProviderEvent, 'id' | 'type' | 'created'>;

const READINGS: Readonly<Record<string, Reading>> = {
  'invoice.paid': paidInvoice,
  'customer.subscription.created': subscription,
  'customer.subscription.updated': subscription,
  'customer.subscription.deleted': (object) => ofSubscription(object, { kind: 'CANCELLED' }),
  'charge.refunded': refundedCharge,
  'charge.dispute.created': dispute,
  'charge.dispute.closed': dispute,
  'customer.deleted': (object) => ({
    ...about(object, { kind: 'CUSTOMER_DELETED' }),
    customer: textIn(object, 'id'),
  }),
};

/** The types of events with an effect. */
export const KNOWN_TYPES: readonly string[] = Object.keys(READINGS);

/** Undefined: not an event of a known form. */
export function eventOf(parsed: unknown): SignedEvent | undefined {
  const [id, type] = [textIn(parsed, 'id'), textIn(parsed, 'type')];
  const [created, isLive] = [numberIn(parsed, 'created'), memberOf(parsed, 'livemode')];
  if (id === null || type === null || created === null) return undefined;
  if (typeof isLive !== 'boolean') return undefined;
  const read = ownMember(READINGS, type);
  const kept =
    read === undefined ? ignored('TYPE') : read(memberOf(memberOf(parsed, 'data'), 'object'));
  // A dispute does not name its customer; its charge does.
  const isKept = kept.fact.kind !== 'IGNORED' && kept.fact.kind !== 'DISPUTED';
  const known = isKept && kept.customer === null ? ignored('NO_CUSTOMER') : kept;
  const event = { id, type, created: timeOf(created), ...known };
  return { event, mode: isLive ? 'live' : 'test' };
}

/**
 * Records an unknown object without effect. @param otherId used if it has no id.
 * @param now epoch milliseconds.
 */
export function unknownForm(parsed: object, otherId: () => string, now: number): SignedEvent {
  const isLive = memberOf(parsed, 'livemode');
  const event = {
    id: textIn(parsed, 'id') ?? otherId(),
    type: textIn(parsed, 'type') ?? 'unknown',
    created: now,
    ...ignored('MALFORMED'),
  };
  return { event, mode: typeof isLive !== 'boolean' ? null : isLive ? 'live' : 'test' };
}

/** The largest valid date, in epoch milliseconds. */
const TIME_MAX = 8.64e15;

const timeOf = (seconds: number): number => Math.min(Math.max(0, seconds) * 1_000, TIME_MAX);

const ignored = (because: IgnoredBecause): ReturnType<Reading> => ({
  ...NOTHING,
  fact: { kind: 'IGNORED', because },
});

const NOTHING = {
  customer: null,
  invoice: null,
  payments: [],
  subscription: null,
  left: null,
} as const;

const about = (object: unknown, fact: ProviderFact): ReturnType<Reading> => ({
  ...NOTHING,
  customer: idIn(object, 'customer'),
  fact,
});

const ofSubscription = (object: unknown, fact: ProviderFact): ReturnType<Reading> => ({
  ...about(object, fact),
  subscription: textIn(object, 'id'),
});

/** Per invoice; the provider lists ten in an event. A refund also finds the invoice by its id. */
const PAYMENTS_MAX = 20;

function paidInvoice(invoice: unknown): ReturnType<Reading> {
  const amountPaid = numberIn(invoice, 'amount_paid');
  const currency = currencyIn(invoice);
  if (amountPaid === null || amountPaid < 0 || currency === null) return ignored('MALFORMED');
  const inList = listIn(invoice, 'payments').flatMap((payment) => {
    const paid = memberOf(payment, 'payment');
    return [idIn(paid, 'payment_intent'), idIn(paid, 'charge')];
  });
  const direct = [idIn(invoice, 'payment_intent'), idIn(invoice, 'charge')];
  const prices = pricesOf(listIn(invoice, 'lines'));
  const [first = null] = prices;
  const isKnown = first === null || typeof first === 'object';
  const interval = isKnown ? first : null;
  return {
    ...about(invoice, { kind: 'INVOICE_PAID', amountPaid, currency, interval }),
    ...(isKnown ? {} : { prices }),
    invoice: textIn(invoice, 'id'),
    payments: [...direct, ...inList].filter((id) => id !== null).slice(0, PAYMENTS_MAX),
  };
}

/** A listed invoice in the form of its event, at the time of the payment. */
export function* invoiceFact(invoice: unknown): Iterable<ProviderEvent> {
  const paidAt = numberIn(memberOf(invoice, 'status_transitions'), 'paid_at');
  yield* factAt(invoice, 'invoice.paid', paidAt, paidInvoice(invoice));
}

/** A listed subscription's present status, at its beginning if the provider has it. */
export function* subscriptionFact(object: unknown): Iterable<ProviderEvent> {
  const isTrial = textIn(object, 'status') === 'trialing';
  const since = isTrial
    ? numberIn(object, 'trial_start')
    : (numberIn(object, 'ended_at') ?? numberIn(object, 'canceled_at'));
  const kept = subscription(object);
  // Other statuses change nothing.
  if (kept.fact.kind !== 'TRIAL' && kept.fact.kind !== 'CANCELLED') return;
  yield* factAt(object, 'customer.subscription.updated', since, kept);
}

/** A listed event, with its own id, so that it counts once. */
export function* listedEvent(object: unknown): Iterable<ProviderEvent> {
  // The key that lists it belongs to one mode.
  const signed = eventOf(typeof object === 'object' ? { livemode: true, ...object } : object);
  if (signed !== undefined) yield signed.event;
}

function* factAt(
  object: unknown,
  type: string,
  time: number | null,
  kept: ReturnType<Reading>,
): Iterable<ProviderEvent> {
  const id = textIn(object, 'id');
  const created = time ?? numberIn(object, 'created');
  if (id === null || created === null) return;
  yield { id: `sync ${id} ${kept.fact.kind} ${created}`, type, created: timeOf(created), ...kept };
}

/** Whether a subscription of this status sends no more bills. */
export const hasEnded = (status: string): boolean => ENDED.has(status);

const ENDED: ReadonlySet<string | null> = new Set(['canceled', 'unpaid', 'incomplete_expired']);

function subscription(object: unknown): ReturnType<Reading> {
  const status = textIn(object, 'status');
  if (status === null) return ignored('MALFORMED');
  if (status === 'trialing') return ofSubscription(object, { kind: 'TRIAL' });
  if (ENDED.has(status)) return ofSubscription(object, { kind: 'CANCELLED' });
  // It affects discounts that wait for it, and the end of other subscriptions.
  return ofSubscription(object, { kind: status === 'active' ? 'ACTIVE' : 'INACTIVE' });
}

function refundedCharge(charge: unknown): ReturnType<Reading> {
  const [amount, amountRefunded] = [
    numberIn(charge, 'amount'),
    numberIn(charge, 'amount_refunded'),
  ];
  const currency = currencyIn(charge);
  if (amount === null || amountRefunded === null || currency === null) return ignored('MALFORMED');
  const payments = [idIn(charge, 'payment_intent'), textIn(charge, 'id')];
  return {
    ...about(charge, { kind: 'REFUNDED', amount, amountRefunded, currency }),
    invoice: idIn(charge, 'invoice'),
    payments: payments.filter((id) => id !== null),
  };
}

const INTERVALS: ReadonlyMap<string, BillingInterval> = new Map([
  ['day', 'DAY'],
  ['week', 'WEEK'],
  ['month', 'MONTH'],
  ['year', 'YEAR'],
]);

const PRICES_MAX = 20;

/**
 * The lines without prorations, up to the first recurring one: its interval, or the ids of prices
 * that may be recurring.
 */
function pricesOf(lines: readonly unknown[]): readonly (Interval | string)[] {
  const prices: (Interval | string)[] = [];
  for (const line of lines) {
    if (isProration(line)) continue;
    const price = priceOf(line);
    const interval = intervalIn(price) ?? intervalIn({ recurring: memberOf(line, 'plan') });
    const known = interval ?? (typeof price === 'string' ? price : null);
    if (known !== null) prices.push(known);
    if (interval !== null || prices.length === PRICES_MAX) break;
  }
  return prices;
}

/** The price object, or its id. */
function priceOf(line: unknown): unknown {
  const details = memberOf(memberOf(line, 'pricing'), 'price_details');
  const price = memberOf(line, 'price') ?? memberOf(details, 'price');
  return typeof price === 'string' ? textIn({ price }, 'price') : price;
}

function isProration(line: unknown): boolean {
  const parent = memberOf(line, 'parent');
  return [
    line,
    memberOf(parent, 'subscription_item_details'),
    memberOf(parent, 'invoice_item_details'),
  ].some((details) => memberOf(details, 'proration') === true);
}

export function intervalIn(price: unknown): Interval | null {
  const recurring = memberOf(price, 'recurring');
  const type = INTERVALS.get(textIn(recurring, 'interval') ?? '');
  return type === undefined ? null : { type, value: numberIn(recurring, 'interval_count') ?? 1 };
}

function dispute(object: unknown): ReturnType<Reading> {
  const [status, since] = [textIn(object, 'status'), numberIn(object, 'created')];
  const charge = memberOf(object, 'charge');
  const payments = [idIn(object, 'charge'), idIn(object, 'payment_intent')];
  if (status === null || since === null || payments[0] === null) return ignored('MALFORMED');
  const amount = numberIn(charge, 'amount');
  return {
    ...NOTHING,
    customer: idIn(charge, 'customer'),
    invoice: idIn(charge, 'invoice'),
    payments: payments.filter((id) => id !== null),
    fact: { kind: 'DISPUTED', status, since: timeOf(since), amount },
  };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (Reflect.get(value, name) as unknown)
    : undefined;
}

const TEXT_MAX = 255;

function textIn(value: unknown, name: string): string | null {
  const member = memberOf(value, name);
  return typeof member === 'string' && member !== '' && member.length <= TEXT_MAX ? member : null;
}

/** The id of another object, which may be expanded. */
function idIn(value: unknown, name: string): string | null {
  return textIn(value, name) ?? textIn(memberOf(value, name), 'id');
}

function numberIn(value: unknown, name: string): number | null {
  const member = memberOf(value, name);
  return typeof member === 'number' && Number.isSafeInteger(member) ? member : null;
}

function currencyIn(value: unknown): string | null {
  const currency = textIn(value, 'currency')?.toUpperCase() ?? '';
  return isCurrency(currency) ? currency : null;
}

function listIn(value: unknown, name: string): readonly unknown[] {
  const data = memberOf(memberOf(value, name), 'data');
  return Array.isArray(data) ? (data as unknown[]) : [];
}
