import { List, Map, Set } from 'immutable';
import type { BillingInterval } from '../account/account.events.js';
import type { Personal, SubjectId } from '../personal.js';
import type { PaymentProviderName } from '../tenant/payment-provider-name.js';

/** The provider's ids, encrypted with a key of the customer. */
export interface ProviderIds {
  readonly event: string;
  /** Of an invoice and its payments; for a refund, of the refunded invoice. */
  readonly invoice: string | null;
  /** Of a dispute: its charge first. */
  readonly payments: readonly string[];
}

/** Keyed hashes of ids, which stay when the ids are erased. */
export interface ProviderRefs {
  readonly invoice: string | null;
  readonly subscription: string | null;
  /** For the end of a subscription: those listed as active or trialing. */
  readonly left: readonly string[];
}

/** Amounts are integers in the smallest unit of the currency (ISO 4217, upper case). */
export type ProviderFact =
  | {
      readonly kind: 'INVOICE_PAID';
      readonly amountPaid: number;
      readonly currency: string;
      /** Of the first recurring line; null: none. */
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
      /** The provider's term. */
      readonly status: string;
      /** When the dispute began. */
      readonly since: number;
      /** Of the disputed charge; null: unknown. */
      readonly amount: number | null;
    }
  | { readonly kind: 'IGNORED'; readonly because: IgnoredBecause };

export type IgnoredBecause = 'TYPE' | 'STATUS' | 'NO_CUSTOMER' | 'MALFORMED';

export interface ProviderEventReceived {
  readonly type: 'ProviderEventReceived';
  /** Recording time. */
  readonly at: number;
  readonly provider: PaymentProviderName;
  /** The provider's event type. */
  readonly eventType: string;
  /** Keyed hash of the event's id. */
  readonly eventRef: string;
  /** The provider's time, which orders a customer's events. */
  readonly created: number;
  /** How far the tenant's test clock was ahead; absent: not at all. */
  readonly aheadMs?: number;
  readonly ids: Personal<ProviderIds>;
  /** Null: recorded by a release without them. */
  readonly refs: ProviderRefs | null;
  readonly fact: ProviderFact;
}

/** Sent before the account's deletion: no later account gets the facts until now. */
export interface CustomerReleased {
  readonly type: 'CustomerReleased';
  readonly at: number;
  /** Key name of the account. */
  readonly account: SubjectId;
}

export type CustomerEvent = ProviderEventReceived | CustomerReleased;

/** Times are those of the tenant's clock, which was `aheadMs` ahead when they were recorded. */
export type KnownFact = Pick<
  ProviderEventReceived,
  'at' | 'eventRef' | 'created' | 'aheadMs' | 'fact' | 'refs'
> & {
  /** Null: erased. */
  readonly ids: ProviderIds | null;
  readonly had?: SubjectId;
};

export interface CustomerState {
  /** By day of recording (UTC), as long as the provider may repeat an event. */
  readonly seen: Map<number, Set<string>>;
  /** In recording order, without ignored events. */
  readonly facts: List<KnownFact>;
  /** The key of the newest ids; null: none, or destroyed. */
  readonly subject: SubjectId | null;
  /** Recording time of the first ids with this key. */
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
  const moved = ahead > 0 && { aheadMs: ahead };
  const times = { at: at + ahead, created: created + ahead, ...moved };
  if (isSeen(state, eventRef)) return state;
  const known =
    fact.kind === 'IGNORED'
      ? undefined
      : withFormerAccount(state, { ...times, eventRef, fact, refs, ids: ids.value });
  return {
    seen: withSeen(state.seen, dayOf(at), eventRef),
    facts: known === undefined ? state.facts : state.facts.push(known),
    ...subjectAfter(state, event),
  };
}

const released = (state: CustomerState, { account: had }: CustomerReleased): CustomerState => ({
  ...state,
  facts: state.facts.map((known) => (known.had === undefined ? { ...known, had } : known)),
});

/** An invoice stays with the account that had it, whichever event reports it again. */
function withFormerAccount({ facts }: CustomerState, known: KnownFact): KnownFact {
  const invoice = known.fact.kind === 'INVOICE_PAID' ? (known.refs?.invoice ?? null) : null;
  const before = invoice === null ? undefined : invoiceIn(facts, invoice);
  return before?.had === undefined ? known : { ...known, had: before.had };
}

const invoiceIn = (facts: List<KnownFact>, invoice: string): KnownFact | undefined =>
  facts.find(({ fact, refs }) => fact.kind === 'INVOICE_PAID' && refs?.invoice === invoice);

/** Facts exist that no account has released. */
export const hasUnreleased = ({ facts }: CustomerState): boolean =>
  facts.some(({ had }) => had === undefined);

/** Whether another account had the invoice. @param invoice its keyed hash. */
export function belongsToOtherAccount(
  { facts }: CustomerState,
  invoice: string,
  account: SubjectId,
): boolean {
  const had = invoiceIn(facts, invoice)?.had;
  return had !== undefined && had !== account;
}

/** Ignored events keep no ids and need no key. */
function subjectAfter(
  { subject, subjectSince }: CustomerState,
  { at, fact, ids }: ProviderEventReceived,
): Pick<CustomerState, 'subject' | 'subjectSince'> {
  if (fact.kind === 'IGNORED') return { subject, subjectSince };
  if (ids.value === null) return { subject: null, subjectSince: at };
  return { subject: ids.subject, subjectSince: subject === ids.subject ? subjectSince : at };
}

const DAY_MS = 24 * 3_600_000;
const SEEN_DAYS = 60;
/** Customers have some dozens; more are a fault and would fill the memory. */
const SEEN_OF_DAY_MAX = 10_000;

/** No more events of the customer are recorded on this day (UTC). */
export const isDayFull = ({ seen }: CustomerState, at: number): boolean =>
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

/** A charge that was refunded in full or is disputed. */
const isTakenBack = (fact: ProviderFact): boolean =>
  fact.kind === 'DISPUTED' || (fact.kind === 'REFUNDED' && fact.amountRefunded >= fact.amount);

/** A paid invoice with an amount above zero. */
export interface PaidInvoice {
  readonly created: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly interval: { readonly type: BillingInterval; readonly value: number } | null;
}

/** A customer's current data, independent of the order of its events. */
export interface CustomerSummary {
  /** By the provider's time; null: none. */
  readonly firstPaid: PaidInvoice | null;
  readonly newestPaid: PaidInvoice | null;
  /** By the newest event with a status; null: none. */
  readonly status: 'PAID' | 'TRIAL' | 'CANCELLED' | null;
  /** The provider's time of the first invoice's full refund; null: none. */
  readonly refundedAt: number | null;
  /** The provider deleted the customer. */
  readonly isGone: boolean;
}

/** How long an event waits for an account with its customer. */
export const WAITS_MS = 30 * 24 * 3_600_000;

/** An account that has the customer. */
export interface CustomerLink {
  /** Key name of the account. */
  readonly account: SubjectId;
  /** When the account got the customer's id; events that waited longer do not count. */
  readonly since: number;
}

/** Without the facts of other accounts. */
export function customerSummary({ facts }: CustomerState, link: CustomerLink): CustomerSummary {
  const known = factsOf(facts, link);
  const paid = known.filter((one) => paidIn(one) !== undefined);
  const [first] = paid;
  return {
    firstPaid: (first && paidIn(first)) ?? null,
    newestPaid: paid.length === 0 ? null : (paidIn(paid.at(-1)) ?? null),
    status: newestStatus(facts, known, first !== undefined),
    refundedAt: known.find((one) => first !== undefined && isRefundOf(one, first))?.created ?? null,
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

/** Before `CustomerReleased`, an account's erasure left facts without ids. */
const isOfDeleted = ({ ids, refs, had }: KnownFact): boolean =>
  had === undefined && ids === null && refs === null;

export interface KnownDispute {
  /** The provider's id. */
  readonly charge: string;
  /** The provider's term. */
  readonly status: string;
  /** The provider's time of its beginning. */
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

/** Another subscription is active or trialing by the newest known events. */
export function hasAnotherLive({ facts }: CustomerState, subscription: string | null): boolean {
  const live = new globalThis.Map<string, boolean>();
  for (const one of facts.sort(byTime)) addListedSubscriptions(live, one);
  return isAnyLive(live, subscription);
}

/** How far the provider's clock may be ahead of the recording. */
const AHEAD_MS = DAY_MS;

/** The provider's own time: a moved test clock changes no order. */
const createdOf = ({ created, aheadMs = 0 }: KnownFact): number => created - aheadMs;

/** A time beyond `AHEAD_MS` counts as the end of its recording day (UTC). */
function timeOf(known: KnownFact): number {
  const [created, at] = [createdOf(known), known.at - (known.aheadMs ?? 0)];
  return created <= at + AHEAD_MS ? created : (dayOf(at) + 1) * DAY_MS;
}

/**
 * The provider's times are in seconds. In one second a subscription's end follows its other
 * statuses, and a payment follows both. The last criterion is arbitrary but independent of arrival.
 */
function byTime(a: KnownFact, b: KnownFact): number {
  const time = timeOf(a) - timeOf(b) || createdOf(a) - createdOf(b);
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

/** The newest recorded status of the subscription. */
export const newestKindOf = (
  { facts }: CustomerState,
  subscription: string | null,
): ProviderFact['kind'] | undefined =>
  facts
    .sort(byTime)
    .findLast(({ fact, refs }) => isOfSubscription(fact) && refs?.subscription === subscription)
    ?.fact.kind;

/** By subscription: whether it is active or trialing. */
type LiveBySubscription = globalThis.Map<string, boolean>;

/** @param facts of all accounts, for ended subscriptions. @param known of this account. */
function newestStatus(
  facts: CustomerState['facts'],
  known: readonly KnownFact[],
  everPaid: boolean,
): CustomerSummary['status'] {
  const live: LiveBySubscription = new globalThis.Map<string, boolean>();
  const own = new globalThis.Set(known);
  let newest: CustomerSummary['status'] = null;
  for (const one of facts.sort(byTime)) {
    addListedSubscriptions(live, one);
    const status = own.has(one) ? statusOf(one, everPaid) : undefined;
    const isLeft = status === 'CANCELLED' && isAnyLive(live, one.refs?.subscription ?? null);
    if (status !== undefined && !isLeft) newest = status;
  }
  return newest;
}

/** Listed subscriptions count when no event of them is known. */
function addListedSubscriptions(live: LiveBySubscription, { fact, refs }: KnownFact): void {
  if (!isOfSubscription(fact) || refs === null) return;
  const { subscription, left } = refs;
  if (subscription !== null)
    live.set(subscription, fact.kind === 'TRIAL' || fact.kind === 'ACTIVE');
  for (const other of left) if (!live.has(other)) live.set(other, true);
}

const isAnyLive = (live: LiveBySubscription, except: string | null): boolean =>
  [...live].some(([subscription, isLive]) => isLive && subscription !== except);

function statusOf({ fact }: KnownFact, everPaid: boolean): CustomerSummary['status'] | undefined {
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

/** Whether the invoice's payment is completely taken back. */
function isRefundOf(known: KnownFact, invoice: KnownFact): boolean {
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
