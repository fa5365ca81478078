import { List, Map, Set } from 'immutable';
import type { BillingInterval } from '../account/account.events.js';
import type { Personal, SubjectId } from '../personal.js';
import type { PaymentProviderName } from '../tenant/payment-provider-name.js';

/**
 * What a payment provider told about one of its customers: one stream per customer, whether an
 * account has it or not. Another event stands alone in a stream of its own.
 */

/** Ids of the provider. Encrypted with a key of the customer. */
export interface ProviderIds {
  readonly event: string;
  /** Of an invoice, and of the payments that it was paid with; of a refund, of what it refunds. */
  readonly invoice: string | null;
  readonly payments: readonly string[];
}

/** Amounts are integers in the smallest unit of the currency (ISO 4217, upper case). */
export type ProviderFact =
  | {
      readonly kind: 'INVOICE_PAID';
      readonly amountPaid: number;
      readonly currency: string;
      /** Of the first recurring line; null: it has none. */
      readonly interval: { readonly type: BillingInterval; readonly value: number } | null;
    }
  | { readonly kind: 'TRIAL' | 'CANCELLED' | 'CUSTOMER_DELETED' }
  | {
      readonly kind: 'REFUNDED';
      readonly amount: number;
      readonly amountRefunded: number;
      readonly currency: string;
    }
  /** Recorded, and without an effect. */
  | { readonly kind: 'IGNORED'; readonly because: IgnoredBecause };

export type IgnoredBecause = 'TYPE' | 'STATUS' | 'NO_CUSTOMER' | 'MALFORMED';

export interface CustomerEvent {
  readonly type: 'ProviderEventReceived';
  /** When it was recorded. */
  readonly at: number;
  readonly provider: PaymentProviderName;
  /** The provider's name of its type. */
  readonly eventType: string;
  /** Keyed hash of the event's id. */
  readonly eventRef: string;
  /** The provider's time: orders the events of a customer. */
  readonly created: number;
  readonly ids: Personal<ProviderIds>;
  readonly fact: ProviderFact;
}

export type KnownFact = Pick<CustomerEvent, 'at' | 'eventRef' | 'created' | 'fact'> & {
  /** Null: erased. */
  readonly ids: ProviderIds | null;
};

export interface CustomerState {
  /** By the day of their recording (UTC): the provider repeats no event for so long. */
  readonly seen: Map<number, Set<string>>;
  /** In the order of their recording, those without an effect left out. */
  readonly facts: List<KnownFact>;
  /** More facts than these are compacted. */
  readonly factsMax: number;
  /** The key of the newest ids; null: there are none, or the key is destroyed. */
  readonly subject: SubjectId | null;
  /** When the first ids with this key were recorded. */
  readonly subjectSince: number;
}

const FACTS_MAX = 512;

export const initialState: CustomerState = {
  seen: Map(),
  facts: List(),
  factsMax: FACTS_MAX,
  subject: null,
  subjectSince: 0,
};

export const isSeen = ({ seen }: CustomerState, eventRef: string): boolean =>
  seen.some((refs) => refs.has(eventRef));

export function evolve(state: CustomerState, event: CustomerEvent): CustomerState {
  const { at, eventRef, created, fact, ids } = event;
  if (isSeen(state, eventRef)) return state;
  const known =
    fact.kind === 'IGNORED' ? undefined : { at, eventRef, created, fact, ids: ids.value };
  return {
    seen: withSeen(state.seen, dayOf(at), eventRef),
    ...withFact(state, known),
    ...keyAfter(state, event),
  };
}

/** Of an event without an effect no ids are kept: it has no key. */
function keyAfter(
  { subject, subjectSince }: CustomerState,
  { at, fact, ids }: CustomerEvent,
): Pick<CustomerState, 'subject' | 'subjectSince'> {
  if (fact.kind === 'IGNORED') return { subject, subjectSince };
  if (ids.value === null) return { subject: null, subjectSince: at };
  return { subject: ids.subject, subjectSince: subject === ids.subject ? subjectSince : at };
}

const DAY_MS = 24 * 3_600_000;
const SEEN_DAYS = 60;
/** Whole days are left out beyond: what is recorded again changes no picture. */
const SEEN_MAX = 16_384;
/** A customer has some dozens; more are a fault, and would fill the memory of all. */
const SEEN_OF_DAY_MAX = 10_000;

/** Whether no more events of the customer are to be recorded on this day (UTC). */
export const isFullAt = ({ seen }: CustomerState, at: number): boolean =>
  (seen.get(dayOf(at))?.size ?? 0) >= SEEN_OF_DAY_MAX;

const dayOf = (at: number): number => Math.floor(at / DAY_MS);

function withSeen(
  seen: CustomerState['seen'],
  day: number,
  eventRef: string,
): CustomerState['seen'] {
  const today = seen.get(day);
  const known = today === undefined ? seen.filter((_, one) => one >= day - SEEN_DAYS) : seen;
  return withinSeen(known.set(day, (today ?? Set()).add(eventRef)), day);
}

/** Without the oldest days where there are too many. */
function withinSeen(seen: CustomerState['seen'], day: number): CustomerState['seen'] {
  const size = seen.reduce((sum, refs) => sum + refs.size, 0);
  const oldest = seen.keySeq().min();
  if (size <= SEEN_MAX || oldest === undefined || oldest === day) return seen;
  return withinSeen(seen.delete(oldest), day);
}

function withFact(
  { facts, factsMax }: CustomerState,
  fact: KnownFact | undefined,
): Pick<CustomerState, 'facts' | 'factsMax'> {
  if (fact === undefined) return { facts, factsMax };
  const all = facts.push(fact);
  if (all.size <= factsMax) return { facts: all, factsMax };
  const days = new globalThis.Map<number, KnownFact[]>();
  for (const known of all) {
    const day = dayOf(known.at);
    const ofDay = days.get(day);
    if (ofDay === undefined) days.set(day, [known]);
    else ofDay.push(known);
  }
  const compacted = List([...days.values()].flatMap(essentials));
  return { facts: compacted, factsMax: Math.max(FACTS_MAX, 2 * compacted.size) };
}

/**
 * Of a day with very many facts those that can make a difference to a picture: the first and the
 * newest invoice, the newest status, the end, and the newest whole refunds.
 */
function essentials(day: Iterable<KnownFact>): readonly KnownFact[] {
  const facts = [...day].sort(byTime);
  const paid = facts.filter((one) => paidIn(one) !== undefined);
  const statuses = facts.filter((one) => statusIn(one, false) !== undefined);
  const kept = new globalThis.Set([
    paid[0],
    paid.at(-1),
    statuses.at(-1),
    statuses.findLast(({ fact }) => fact.kind !== 'INVOICE_PAID' || fact.amountPaid > 0),
    facts.find(({ fact }) => fact.kind === 'CUSTOMER_DELETED'),
    ...facts.filter(({ fact }) => isWholeRefund(fact)).slice(-REFUNDS_OF_DAY_MAX),
  ]);
  return [...day].filter((one) => kept.has(one));
}

const REFUNDS_OF_DAY_MAX = 64;

const isWholeRefund = (fact: ProviderFact): boolean =>
  fact.kind === 'REFUNDED' && fact.amountRefunded >= fact.amount;

/** An invoice that was paid, with an amount above zero. */
export interface PaidInvoice {
  readonly created: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly interval: { readonly type: BillingInterval; readonly value: number } | null;
}

/** A customer as its events say, in whatever order they came. */
export interface CustomerPicture {
  /** By the provider's time; null: none. */
  readonly firstPaid: PaidInvoice | null;
  readonly newestPaid: PaidInvoice | null;
  /** Of the newest event that says one; null: none does. */
  readonly status: 'PAID' | 'TRIAL' | 'CANCELLED' | null;
  /** When the first invoice was refunded in full, by the provider's time; null: it was not. */
  readonly refundedAt: number | null;
  /** The provider deleted the customer. */
  readonly isGone: boolean;
}

/** How long an event waits for an account with its customer. */
export const WAITS_MS = 30 * 24 * 3_600_000;

/** @param linkedAt when an account got the customer's id: what waited longer does not count. */
export function pictureOf({ facts }: CustomerState, linkedAt: number): CustomerPicture {
  const known = facts
    .filter(({ at }) => at >= linkedAt - WAITS_MS)
    .sort(byTime)
    .toArray();
  const paid = known.filter((one) => paidIn(one) !== undefined);
  const [first] = paid;
  const statuses = known.flatMap((one) => {
    const status = statusIn(one, first !== undefined);
    return status === undefined ? [] : [status];
  });
  return {
    firstPaid: (first && paidIn(first)) ?? null,
    newestPaid: paid.length === 0 ? null : (paidIn(paid.at(-1)) ?? null),
    status: statuses.at(-1) ?? null,
    refundedAt: known.find((one) => first !== undefined && refunds(one, first))?.created ?? null,
    isGone: known.some(({ fact }) => fact.kind === 'CUSTOMER_DELETED'),
  };
}

/** How far the provider's clock may be ahead of the recording. */
const AHEAD_MS = DAY_MS;

/**
 * The provider's time. One that is too far ahead counts as the end of the day of its recording
 * (UTC), so that it is not the newest for ever.
 */
const timeOf = ({ created, at }: KnownFact): number =>
  created <= at + AHEAD_MS ? created : (dayOf(at) + 1) * DAY_MS;

/**
 * A provider's times are seconds. In the same second a payment comes after the trial, since it ends
 * it, and the end of a subscription after its last invoice: nothing is paid after the end. The last
 * resort is arbitrary, and the same for every order of arrival.
 */
function byTime(a: KnownFact, b: KnownFact): number {
  const time = timeOf(a) - timeOf(b) || a.created - b.created;
  const difference = time || rankOf(a.fact) - rankOf(b.fact);
  return difference || (a.eventRef < b.eventRef ? -1 : 1);
}

function rankOf(fact: ProviderFact): number {
  if (fact.kind === 'INVOICE_PAID') return fact.amountPaid > 0 ? 2 : 0;
  return fact.kind === 'CANCELLED' ? 3 : 1;
}

function paidIn(known: KnownFact | undefined): PaidInvoice | undefined {
  if (known?.fact.kind !== 'INVOICE_PAID' || known.fact.amountPaid === 0) return undefined;
  const { amountPaid, currency, interval } = known.fact;
  return { created: known.created, amountPaid, currency, interval };
}

function statusIn({ fact }: KnownFact, everPaid: boolean): CustomerPicture['status'] | undefined {
  switch (fact.kind) {
    case 'INVOICE_PAID':
      if (fact.amountPaid > 0) return 'PAID';
      return everPaid ? undefined : 'TRIAL';
    case 'TRIAL':
    case 'CANCELLED':
      return fact.kind;
    case 'CUSTOMER_DELETED':
    case 'REFUNDED':
    case 'IGNORED':
      return undefined;
  }
}

/** Whether it refunds all of the payment that the invoice was paid with. */
function refunds({ fact, ids }: KnownFact, invoice: KnownFact): boolean {
  if (fact.kind !== 'REFUNDED' || invoice.fact.kind !== 'INVOICE_PAID') return false;
  if (ids === null || invoice.ids === null) return false;
  const isWhole = isWholeRefund(fact) && fact.amountRefunded >= invoice.fact.amountPaid;
  const isOfInvoice = ids.invoice !== null && ids.invoice === invoice.ids.invoice;
  const { payments } = invoice.ids;
  return isWhole && (isOfInvoice || ids.payments.some((payment) => payments.includes(payment)));
}
