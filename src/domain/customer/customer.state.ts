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
  /** Of a dispute, its charge first. */
  readonly payments: readonly string[];
}

/** Keyed hashes of ids: they stay when the ids are erased. */
export interface ProviderRefs {
  readonly invoice: string | null;
  readonly subscription: string | null;
  /** When a subscription ended: those that the provider listed as active or trialing. */
  readonly left: readonly string[];
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
  /** Of a subscription; `TRIAL` and `CANCELLED` are its trial and its end. */
  | { readonly kind: 'TRIAL' | 'ACTIVE' | 'INACTIVE' | 'CANCELLED' }
  | { readonly kind: 'CUSTOMER_DELETED' }
  | {
      readonly kind: 'REFUNDED';
      readonly amount: number;
      readonly amountRefunded: number;
      readonly currency: string;
    }
  | {
      readonly kind: 'DISPUTED';
      /** The provider's word. */
      readonly status: string;
      /** When the dispute began. */
      readonly since: number;
      /** Of the disputed charge; null: not known. */
      readonly amount: number | null;
    }
  /** Recorded, and without an effect. */
  | { readonly kind: 'IGNORED'; readonly because: IgnoredBecause };

export type IgnoredBecause = 'TYPE' | 'STATUS' | 'NO_CUSTOMER' | 'MALFORMED';

export interface ProviderEventReceived {
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
  /** How far the tenant's test clock was ahead; absent: not at all. */
  readonly aheadMs?: number;
  readonly ids: Personal<ProviderIds>;
  /** Null: of a release that recorded none. */
  readonly refs: ProviderRefs | null;
  readonly fact: ProviderFact;
}

/**
 * The account is about to be deleted, and has followed the customer. What was received until now
 * was its: no later account gets it.
 */
export interface CustomerReleased {
  readonly type: 'CustomerReleased';
  readonly at: number;
  /** The name that the account has until it is deleted. */
  readonly account: SubjectId;
}

export type CustomerEvent = ProviderEventReceived | CustomerReleased;

/** Times are those of the tenant's clock. */
export type KnownFact = Pick<
  ProviderEventReceived,
  'at' | 'eventRef' | 'created' | 'fact' | 'refs'
> & {
  /** Null: erased. */
  readonly ids: ProviderIds | null;
  /** The account that it was released by. */
  readonly had?: SubjectId;
};

export interface CustomerState {
  /** By the day of their recording (UTC): the provider repeats no event for so long. */
  readonly seen: Map<number, Set<string>>;
  /** In the order of their recording, those without an effect left out. */
  readonly facts: List<KnownFact>;
  /** The key of the newest ids; null: there are none, or the key is destroyed. */
  readonly subject: SubjectId | null;
  /** When the first ids with this key were recorded. */
  readonly subjectSince: number;
}

export const initialState: CustomerState = {
  seen: Map(),
  facts: List(),
  subject: null,
  subjectSince: 0,
};

export const isSeen = ({ seen }: CustomerState, eventRef: string): boolean =>
  seen.some((refs) => refs.has(eventRef));

export function evolve(state: CustomerState, event: CustomerEvent): CustomerState {
  if (event.type === 'CustomerReleased') return released(state, event);
  const { at, eventRef, created, fact, refs, ids, aheadMs: ahead = 0 } = event;
  const times = { at: at + ahead, created: created + ahead };
  if (isSeen(state, eventRef)) return state;
  const known =
    fact.kind === 'IGNORED'
      ? undefined
      : ofFormerAccount(state, { ...times, eventRef, fact, refs, ids: ids.value });
  return {
    seen: withSeen(state.seen, dayOf(at), eventRef),
    facts: known === undefined ? state.facts : state.facts.push(known),
    ...keyAfter(state, event),
  };
}

const released = (state: CustomerState, { account: had }: CustomerReleased): CustomerState => ({
  ...state,
  facts: state.facts.map((known) => (known.had === undefined ? { ...known, had } : known)),
});

/** An invoice that an account had stays that account's, by whatever event it is reported again. */
function ofFormerAccount({ facts }: CustomerState, known: KnownFact): KnownFact {
  const invoice = known.fact.kind === 'INVOICE_PAID' ? (known.refs?.invoice ?? null) : null;
  const before = invoice === null ? undefined : invoiceIn(facts, invoice);
  return before?.had === undefined ? known : { ...known, had: before.had };
}

const invoiceIn = (facts: List<KnownFact>, invoice: string): KnownFact | undefined =>
  facts.find(({ fact, refs }) => fact.kind === 'INVOICE_PAID' && refs?.invoice === invoice);

/** Whether facts are left that no account has released. */
export const hasUnreleased = ({ facts }: CustomerState): boolean =>
  facts.some(({ had }) => had === undefined);

/** Whether another account had the invoice. @param invoice its keyed hash. */
export function isOfAnother(
  { facts }: CustomerState,
  invoice: string,
  account: SubjectId,
): boolean {
  const had = invoiceIn(facts, invoice)?.had;
  return had !== undefined && had !== account;
}

/** Of an event without an effect no ids are kept: it has no key. */
function keyAfter(
  { subject, subjectSince }: CustomerState,
  { at, fact, ids }: ProviderEventReceived,
): Pick<CustomerState, 'subject' | 'subjectSince'> {
  if (fact.kind === 'IGNORED') return { subject, subjectSince };
  if (ids.value === null) return { subject: null, subjectSince: at };
  return { subject: ids.subject, subjectSince: subject === ids.subject ? subjectSince : at };
}

const DAY_MS = 24 * 3_600_000;
const SEEN_DAYS = 60;
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
  return known.set(day, (today ?? Set()).add(eventRef));
}

const isOfSubscription = ({ kind }: ProviderFact): boolean =>
  kind === 'TRIAL' || kind === 'ACTIVE' || kind === 'INACTIVE' || kind === 'CANCELLED';

/** A charge was refunded in full, or is disputed. */
const isTakenBack = (fact: ProviderFact): boolean =>
  fact.kind === 'DISPUTED' || (fact.kind === 'REFUNDED' && fact.amountRefunded >= fact.amount);

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

/** An account that has the customer. */
export interface CustomerLink {
  /** The name that the account has until it is deleted. */
  readonly account: SubjectId;
  /** When it got the customer's id: what waited longer does not count. */
  readonly since: number;
}

/** Of what no other account had. */
export function pictureOf({ facts }: CustomerState, link: CustomerLink): CustomerPicture {
  const known = factsOf(facts, link);
  const paid = known.filter((one) => paidIn(one) !== undefined);
  const [first] = paid;
  return {
    firstPaid: (first && paidIn(first)) ?? null,
    newestPaid: paid.length === 0 ? null : (paidIn(paid.at(-1)) ?? null),
    status: newestStatus(facts, known, first !== undefined),
    refundedAt: known.find((one) => first !== undefined && refunds(one, first))?.created ?? null,
    isGone: known.some(({ fact }) => fact.kind === 'CUSTOMER_DELETED'),
  };
}

/** In the order of the provider's time. */
const factsOf = (
  facts: CustomerState['facts'],
  { account, since }: CustomerLink,
): readonly KnownFact[] =>
  facts
    .filter(
      (one) => (one.had ?? account) === account && !isOfDeleted(one) && one.at >= since - WAITS_MS,
    )
    .sort(byTime)
    .toArray();

/**
 * Releases before `CustomerReleased` recorded no end of an account. Its erasure has destroyed the
 * ids of what it had.
 */
const isOfDeleted = ({ ids, refs, had }: KnownFact): boolean =>
  had === undefined && ids === null && refs === null;

/** A dispute of a charge. */
export interface KnownDispute {
  /** The provider's id. */
  readonly charge: string;
  /** The provider's word. */
  readonly status: string;
  /** When it began, by the provider's time. */
  readonly created: number;
}

/** Disputes of the account's charges, by their beginning. */
export function disputesOf({ facts }: CustomerState, link: CustomerLink): readonly KnownDispute[] {
  const known = factsOf(facts, link);
  const invoices = known.filter((one) => paidIn(one) !== undefined);
  const isOnlyAccount = known.length === facts.size;
  const disputes = new globalThis.Map<string, KnownDispute>();
  for (const one of known) {
    const { fact, ids } = one;
    const [charge] = ids?.payments ?? [];
    if (fact.kind !== 'DISPUTED' || charge === undefined) continue;
    if (!isOnlyAccount && !invoices.some((invoice) => isOfInvoice(one, invoice))) continue;
    disputes.set(charge, { charge, status: fact.status, created: fact.since });
  }
  return [...disputes.values()].sort((a, b) => a.created - b.created);
}

/** Whether another subscription is active or trialing by the newest events known. */
export function hasAnotherLive({ facts }: CustomerState, subscription: string | null): boolean {
  const live = new globalThis.Map<string, boolean>();
  for (const one of facts.sort(byTime)) noteLive(live, one);
  return isAnyLive(live, subscription);
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
 * A provider's times are seconds. In the same second the end of a subscription comes after its
 * other statuses, and a payment after both. The last resort is arbitrary, and the same for every
 * order of arrival.
 */
function byTime(a: KnownFact, b: KnownFact): number {
  const time = timeOf(a) - timeOf(b) || a.created - b.created;
  const difference = time || rankOf(a.fact) - rankOf(b.fact);
  return difference || (a.eventRef < b.eventRef ? -1 : 1);
}

function rankOf(fact: ProviderFact): number {
  if (fact.kind === 'INVOICE_PAID') return fact.amountPaid > 0 ? 3 : 0;
  return fact.kind === 'CANCELLED' || isClosed(fact) ? 2 : 1;
}

const isClosed = (fact: ProviderFact): boolean =>
  fact.kind === 'DISPUTED' && CLOSED.has(fact.status);

const CLOSED: ReadonlySet<string> = new globalThis.Set(['lost', 'won', 'warning_closed']);

function paidIn(known: KnownFact | undefined): PaidInvoice | undefined {
  if (known?.fact.kind !== 'INVOICE_PAID' || known.fact.amountPaid === 0) return undefined;
  const { amountPaid, currency, interval } = known.fact;
  return { created: known.created, amountPaid, currency, interval };
}

/** The newest status that an event says of the subscription. */
export const newestKindOf = (
  { facts }: CustomerState,
  subscription: string | null,
): ProviderFact['kind'] | undefined =>
  facts
    .sort(byTime)
    .findLast(({ fact, refs }) => isOfSubscription(fact) && refs?.subscription === subscription)
    ?.fact.kind;

/** By subscription: whether it is active or trialing. */
type Live = globalThis.Map<string, boolean>;

/**
 * @param facts of the customer: what another account had says which subscriptions have ended, too.
 * @param known those that count for the account.
 */
function newestStatus(
  facts: CustomerState['facts'],
  known: readonly KnownFact[],
  everPaid: boolean,
): CustomerPicture['status'] {
  const live: Live = new globalThis.Map<string, boolean>();
  const own = new globalThis.Set(known);
  let newest: CustomerPicture['status'] = null;
  for (const one of facts.sort(byTime)) {
    noteLive(live, one);
    const status = own.has(one) ? statusOf(one, everPaid) : undefined;
    const isLeft = status === 'CANCELLED' && isAnyLive(live, one.refs?.subscription ?? null);
    if (status !== undefined && !isLeft) newest = status;
  }
  return newest;
}

/** What the provider listed counts for subscriptions of which no event is known. */
function noteLive(live: Live, { fact, refs }: KnownFact): void {
  if (!isOfSubscription(fact) || refs === null) return;
  const { subscription, left } = refs;
  if (subscription !== null)
    live.set(subscription, fact.kind === 'TRIAL' || fact.kind === 'ACTIVE');
  for (const other of left) if (!live.has(other)) live.set(other, true);
}

const isAnyLive = (live: Live, except: string | null): boolean =>
  [...live].some(([subscription, isLive]) => isLive && subscription !== except);

function statusOf({ fact }: KnownFact, everPaid: boolean): CustomerPicture['status'] | undefined {
  switch (fact.kind) {
    case 'INVOICE_PAID':
      if (fact.amountPaid > 0) return 'PAID';
      return everPaid ? undefined : 'TRIAL';
    case 'TRIAL':
    case 'CANCELLED':
      return fact.kind;
    case 'ACTIVE':
    case 'INACTIVE':
    case 'CUSTOMER_DELETED':
    case 'REFUNDED':
    case 'DISPUTED':
    case 'IGNORED':
      return undefined;
  }
}

/** Whether all of the payment that the invoice was paid with is taken back. */
function refunds(known: KnownFact, invoice: KnownFact): boolean {
  const { fact } = known;
  if (invoice.fact.kind !== 'INVOICE_PAID' || !isOfInvoice(known, invoice)) return false;
  const { amountPaid } = invoice.fact;
  if (fact.kind === 'DISPUTED')
    return fact.status === 'lost' && (fact.amount ?? amountPaid) >= amountPaid;
  return fact.kind === 'REFUNDED' && isTakenBack(fact) && fact.amountRefunded >= amountPaid;
}

/** By the id of the invoice, or one of its payments. */
function isOfInvoice({ ids }: KnownFact, { ids: invoice }: KnownFact): boolean {
  if (ids === null || invoice === null) return false;
  if (ids.invoice !== null && ids.invoice === invoice.invoice) return true;
  return ids.payments.some((payment) => invoice.payments.includes(payment));
}
