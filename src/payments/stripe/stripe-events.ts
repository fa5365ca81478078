import type { BillingInterval } from '../../domain/account/account.events.js';
import type { IgnoredBecause, ProviderFact } from '../../domain/customer/customer.state.js';
import type { ProviderEvent } from '../payment-provider.js';
import { ownMember } from '../../domain/own-member.js';

/**
 * From an event of Stripe to the fact that is kept. A tenant's endpoint has the version of the
 * interface that it was made with: members of older and of present versions are understood.
 */

/** The events with an effect; the ids and the customer of others are not kept. */
type Reading = (object: unknown) => Omit<ProviderEvent, 'id' | 'type' | 'created'>;

const READINGS: Readonly<Record<string, Reading>> = {
  'invoice.paid': paidInvoice,
  'customer.subscription.created': subscription,
  'customer.subscription.updated': subscription,
  'customer.subscription.deleted': (object) => about(object, { kind: 'CANCELLED' }),
  'charge.refunded': refundedCharge,
  'customer.deleted': (object) => ({
    ...about(object, { kind: 'CUSTOMER_DELETED' }),
    customer: textIn(object, 'id'),
  }),
};

/** Undefined: it is no event. */
export function eventOf(parsed: unknown): ProviderEvent | undefined {
  const [id, type] = [textIn(parsed, 'id'), textIn(parsed, 'type')];
  const created = numberIn(parsed, 'created');
  if (id === null || type === null || created === null) return undefined;
  const read = ownMember(READINGS, type);
  const kept =
    read === undefined ? ignored('TYPE') : read(memberOf(memberOf(parsed, 'data'), 'object'));
  const isKept = kept.fact.kind !== 'IGNORED';
  // Without a customer there is nobody to apply it to.
  const known = isKept && kept.customer === null ? ignored('NO_CUSTOMER') : kept;
  return { id, type, created: timeOf(created), ...known };
}

/** The last time that a date can have, in epoch milliseconds. */
const TIME_MAX = 8.64e15;

const timeOf = (seconds: number): number => Math.min(Math.max(0, seconds) * 1_000, TIME_MAX);

const ignored = (because: IgnoredBecause): ReturnType<Reading> => ({
  customer: null,
  invoice: null,
  payments: [],
  fact: { kind: 'IGNORED', because },
});

const about = (object: unknown, fact: ProviderFact): ReturnType<Reading> => ({
  customer: idIn(object, 'customer'),
  invoice: null,
  payments: [],
  fact,
});

/** Of one invoice: the provider lists ten in an event. A refund finds it by its own id, too. */
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
  return {
    ...about(invoice, {
      kind: 'INVOICE_PAID',
      amountPaid,
      currency,
      interval: intervalOf(listIn(invoice, 'lines')),
    }),
    invoice: textIn(invoice, 'id'),
    payments: [...direct, ...inList].filter((id) => id !== null).slice(0, PAYMENTS_MAX),
  };
}

/** Of a list: as the event would tell it, at the time of the payment. */
export function* invoiceFact(invoice: unknown): Iterable<ProviderEvent> {
  const paidAt = numberIn(memberOf(invoice, 'status_transitions'), 'paid_at');
  yield* factAt(invoice, 'invoice.paid', paidAt, paidInvoice(invoice));
}

/** Of a list: its present status, at the time that it began where the provider says it. */
export function* subscriptionFact(object: unknown): Iterable<ProviderEvent> {
  const isTrial = textIn(object, 'status') === 'trialing';
  const since = isTrial
    ? numberIn(object, 'trial_start')
    : (numberIn(object, 'ended_at') ?? numberIn(object, 'canceled_at'));
  yield* factAt(object, 'customer.subscription.updated', since, subscription(object));
}

/** As it came, or was to come: with its own id, so that it counts once. */
export function* listedEvent(object: unknown): Iterable<ProviderEvent> {
  const event = eventOf(object);
  if (event !== undefined) yield event;
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

/** Whether a subscription of this status bills nothing more. */
export const hasEnded = (status: string): boolean => ENDED.has(status);

const ENDED: ReadonlySet<string | null> = new Set(['canceled', 'unpaid', 'incomplete_expired']);

function subscription(object: unknown): ReturnType<Reading> {
  const status = textIn(object, 'status');
  if (status === 'trialing') return about(object, { kind: 'TRIAL' });
  if (ENDED.has(status)) return about(object, { kind: 'CANCELLED' });
  // It changes no account, but a discount may wait for it.
  return about(object, { kind: 'IGNORED', because: 'STATUS' });
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

const INTERVALS: Readonly<Record<string, BillingInterval>> = {
  day: 'DAY',
  week: 'WEEK',
  month: 'MONTH',
  year: 'YEAR',
};

/** Of the first recurring line: by its price, or by the period that it bills. */
function intervalOf(lines: readonly unknown[]) {
  for (const line of lines) {
    const pricing = memberOf(memberOf(line, 'pricing'), 'price_details');
    const recurring =
      memberOf(memberOf(line, 'price'), 'recurring') ??
      memberOf(memberOf(pricing, 'price'), 'recurring') ??
      memberOf(line, 'plan');
    const type = ownMember(INTERVALS, textIn(recurring, 'interval') ?? '');
    if (type !== undefined) return { type, value: numberIn(recurring, 'interval_count') ?? 1 };
    const period = isOfSubscription(line) ? periodOf(memberOf(line, 'period')) : null;
    if (period !== null) return period;
  }
  return null;
}

const isOfSubscription = (line: unknown): boolean =>
  textIn(line, 'type') === 'subscription' ||
  textIn(memberOf(line, 'parent'), 'type') === 'subscription_item_details';

const DAY_S = 24 * 60 * 60;

function periodOf(period: unknown) {
  const [start, end] = [numberIn(period, 'start'), numberIn(period, 'end')];
  if (start === null || end === null || end <= start) return null;
  const [from, to] = [new Date(start * 1_000), new Date(end * 1_000)];
  const months =
    (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
  const days = Math.round((end - start) / DAY_S);
  // A month that begins on the 31st ends on the last day of a shorter one.
  if (months > 0 && Math.abs(to.getUTCDate() - from.getUTCDate()) <= 3 && days >= 28)
    return months % 12 === 0
      ? ({ type: 'YEAR', value: months / 12 } as const)
      : ({ type: 'MONTH', value: months } as const);
  if (days === 0) return null;
  return days % 7 === 0
    ? ({ type: 'WEEK', value: days / 7 } as const)
    : ({ type: 'DAY', value: days } as const);
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

/** The id of another object, which may be there as a whole. */
function idIn(value: unknown, name: string): string | null {
  return textIn(value, name) ?? textIn(memberOf(value, name), 'id');
}

function numberIn(value: unknown, name: string): number | null {
  const member = memberOf(value, name);
  return typeof member === 'number' && Number.isSafeInteger(member) ? member : null;
}

function currencyIn(value: unknown): string | null {
  const currency = textIn(value, 'currency')?.toUpperCase() ?? '';
  return /^[A-Z]{3}$/.test(currency) ? currency : null;
}

function listIn(value: unknown, name: string): readonly unknown[] {
  const data = memberOf(memberOf(value, name), 'data');
  return Array.isArray(data) ? (data as unknown[]) : [];
}
