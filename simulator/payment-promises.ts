import type { AccountEvent } from '../src/domain/account/account.events.js';
import type { OpenAccount, RewardState } from '../src/domain/account/account.state.js';
import { duePushes } from '../src/domain/account/provider/reward-push.js';
import { isBeingPushed } from '../src/domain/account/rewards/reward-state.js';
import type { Scope } from '../src/domain/scope.js';
import type { Decoded } from '../src/event-log/codec.js';
import type { ProviderEvent } from '../src/payments/payment-provider.js';
import { reservationOfCustomer, type KeyedNames } from '../src/privacy/keyed-names.js';
import type { TracedAccount } from './promises.js';
import type { SimulatedProviderAccount } from './simulated-provider.js';

interface Billed {
  readonly scope: Scope;
  readonly names: KeyedNames;
  readonly provider: SimulatedProviderAccount;
  readonly accounts: ReadonlyMap<string, TracedAccount>;
  readonly log: readonly Decoded[];
  /** Events that the log has lost. */
  readonly lost: readonly Decoded[];
  /** Epoch milliseconds. */
  readonly now: number;
}

/** What ledger and provider owe each other, in a world at rest. */
export function brokenPayments(billed: Billed): string[] {
  const { provider, accounts } = billed;
  const open = [...accounts.values()].flatMap(({ account, state }) =>
    state.status === 'open' ? [{ account, state }] : [],
  );
  return [
    ...toldTwice(billed),
    ...paidByNothing(billed),
    ...cancelledOnItsWay(billed),
    ...paidTwice(provider, lostRewards(billed)),
    ...onOneSideOnly(billed),
    ...open.flatMap(({ account, state }) =>
      [
        ...notAsTold(state, billed),
        ...notPaid(state, billed),
        ...refundedAndLeft(state, accounts),
      ].map((what) => `${account}: ${what}`),
    ),
  ];
}

/** Each event of the provider is recorded once. */
function toldTwice({ log }: Billed): string[] {
  const known = new Set<string>();
  return log.flatMap(({ event, recorded }) => {
    if (event.type !== 'ProviderEventReceived') return [];
    const name = `${recorded.stream} ${event.eventRef}`;
    const isKnown = known.has(name);
    known.add(name);
    return isKnown ? [`the event ${event.eventRef} of the provider is recorded twice`] : [];
  });
}

/** No refund takes back a reward whose call may have an effect: it waits for the outcome. */
function cancelledOnItsWay({ accounts }: Billed): string[] {
  const underWay = new Set<string>();
  const events = [...accounts.values()].flatMap((one) => one.events);
  return events.flatMap(({ event }) => {
    if (event.type === 'RewardPushStarted') underWay.add(event.rewardId);
    const isUnsure = event.type === 'RewardPushRefused' && event.mayBePaid === true;
    if (event.type === 'RewardPushed' || (event.type === 'RewardPushRefused' && !isUnsure))
      underWay.delete(event.rewardId);
    return event.type === 'RewardCancelled' && underWay.has(event.rewardId)
      ? [`${event.rewardId} was cancelled on its way to the provider`]
      : [];
  });
}

/**
 * Rewards of which the log has lost something: it was granted again with the same id, or spent
 * once more, when the provider had paid it already.
 */
const lostRewards = ({ lost }: Billed): ReadonlySet<string> =>
  new Set(lost.flatMap(({ event }) => ('rewardId' in event ? [event.rewardId ?? ''] : [])));

/** Their key was destroyed: then no process asks what a call without an answer did. */
const forgottenRewards = (accounts: Billed['accounts']): readonly string[] =>
  [...accounts.values()].flatMap(({ events, state }) =>
    events.flatMap(({ event }) => {
      if (event.type !== 'RewardGranted') return [];
      const isKnown = state.status === 'open' && state.rewards.has(event.rewardId);
      return isKnown && !state.remains.forgotten.has(event.person) ? [] : [event.rewardId];
    }),
  );

/** The provider does not say what a call did: no one can spend the credit until that is known. */
const unknownRewards = (accounts: Billed['accounts']): readonly string[] =>
  [...accounts.values()].flatMap(({ state }) =>
    state.status === 'open'
      ? [...state.rewards.values()].filter(isBeingPushed).map(({ rewardId }) => rewardId)
      : [],
  );

/**
 * One payment a reward, one discount a reward and subscription. What the log has lost may be paid
 * once more to another customer, whom its account got meanwhile.
 */
function paidTwice(
  { transactions, subscriptions }: SimulatedProviderAccount,
  gone: ReadonlySet<string>,
): string[] {
  const payments = new Map<string, number>();
  for (const { rewardId, customer } of transactions)
    if (gone.has(rewardId)) {
      const name = `${rewardId}, which the log has lost, to ${customer}`;
      payments.set(name, (payments.get(name) ?? 0) + 1);
    }
  const twice = (rewards: readonly { readonly rewardId: string }[]): readonly string[] => {
    const ids = rewards.map(({ rewardId }) => rewardId).filter((id) => !gone.has(id));
    return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
  };
  return [
    ...twice(transactions).map((id) => `${id} is paid twice by the provider`),
    ...[...payments].flatMap(([name, count]) =>
      count > 1 ? [`the provider pays ${count} times ${name}`] : [],
    ),
    ...[...subscriptions.values()].flatMap(({ id, discounts }) =>
      twice(discounts).map((rewardId) => `${id} has the discount ${rewardId} twice`),
    ),
  ];
}

/** What the provider has credited is what the ledger says that it redeemed there. */
function onOneSideOnly(billed: Billed): string[] {
  const { provider, accounts } = billed;
  const redeemed = new Map<string, number>();
  const credits = new Set<string>();
  const pushed = new Set<string>();
  const events = [...accounts.values()].flatMap((one) => one.events);
  for (const event of events.map((one) => one.event as AccountEvent)) {
    if (event.type === 'RewardGranted' && event.value.type === 'CREDIT')
      credits.add(event.rewardId);
    if (event.type === 'RewardPushed') pushed.add(event.rewardId);
    if (event.type === 'CreditRedeemed' && event.redemptionId === `${event.rewardId}-provider`)
      redeemed.set(event.rewardId, (redeemed.get(event.rewardId) ?? 0) + event.amount);
  }
  const gone = new Set([
    ...lostRewards(billed),
    ...forgottenRewards(accounts),
    ...unknownRewards(accounts),
  ]);
  const paid = new Map(provider.transactions.map(({ rewardId, amount }) => [rewardId, amount]));
  return [
    ...[...paid].flatMap(([rewardId, amount]) => {
      if (gone.has(rewardId)) return [];
      const isKnown = credits.has(rewardId)
        ? redeemed.get(rewardId) === amount
        : pushed.has(rewardId);
      if (isKnown) return [];
      return [
        `${amount} of ${rewardId} are at the provider, and ${redeemed.get(rewardId) ?? 0} redeemed`,
      ];
    }),
    ...[...redeemed].flatMap(([rewardId, amount]) =>
      paid.has(rewardId) || gone.has(rewardId)
        ? []
        : [`${amount} of ${rewardId} are redeemed, and not at the provider`],
    ),
  ];
}

/** A customer as the log shows it, while it is read. */
interface PayingCustomer {
  /** Invoices of an amount that no account was PAID by. */
  readonly unused: Set<string>;
  /** Those that an account had. */
  readonly used: Set<string>;
  /** Accounts that released an invoice before they were deleted: they may still be PAID by it. */
  readonly releasing: Set<string>;
}

/** By the stream of the reservation. */
function payingCustomers(): (reservation: string) => PayingCustomer {
  const customers = new Map<string, PayingCustomer>();
  return (reservation) => {
    const before = customers.get(reservation);
    if (before !== undefined) return before;
    const sets = { unused: new Set<string>(), used: new Set<string>() };
    const made = { ...sets, releasing: new Set<string>() };
    customers.set(reservation, made);
    return made;
  };
}

function use({ unused, used }: PayingCustomer): void {
  for (const invoice of unused) used.add(invoice);
  unused.clear();
}

/**
 * Every invoice pays once: an account is PAID for the first time by an invoice that no account
 * before it, deleted since, was PAID by. The customer of an account is the one that the same
 * request reserved.
 */
function paidByNothing({ log }: Billed): string[] {
  const known = payingCustomers();
  const reservedBy = new Map<string, string>();
  /** By the stream of the account. */
  const linked = new Map<string, PayingCustomer>();
  const paid = new Set<string>();
  /** The names that accounts have until they are deleted, by stream. */
  const accounts = new Map<string, string>();
  return log.flatMap(({ event, envelope, recorded: { stream } }) => {
    const customer = linked.get(stream);
    switch (event.type) {
      case 'ReservationMade':
        if (event.kind === 'payment-provider-id') reservedBy.set(envelope.correlationId, stream);
        return [];
      case 'PaymentProviderIdSet': {
        linked.set(stream, known(reservedBy.get(envelope.correlationId) ?? ''));
        return [];
      }
      case 'ProviderEventReceived': {
        const { fact, refs } = event;
        const invoice = refs?.invoice ?? null;
        const isPaid = fact.kind === 'INVOICE_PAID' && fact.amountPaid > 0;
        const of = known(reservationOfCustomer(stream));
        if (isPaid && invoice !== null && !of.used.has(invoice)) of.unused.add(invoice);
        return [];
      }
      case 'SubscriptionChanged': {
        if (event.subscription.status !== 'PAID' || paid.has(stream)) return [];
        paid.add(stream);
        if (customer === undefined) return [`${stream} was PAID without a customer`];
        const isReleasing = customer.releasing.delete(accounts.get(stream) ?? '');
        const isByInvoice = customer.unused.size > 0 || isReleasing;
        use(customer);
        return isByInvoice ? [] : [`${stream} was PAID by an invoice that another account had`];
      }
      case 'CustomerReleased': {
        const of = known(reservationOfCustomer(stream));
        if (of.unused.size > 0) of.releasing.add(event.account);
        use(of);
        return [];
      }
      case 'AccountOpened':
        accounts.set(stream, event.account);
        return [];
      case 'ErasureRequested':
        if (event.account === null) return [];
        linked.delete(stream);
        paid.delete(stream);
        return [];
      default:
        return [];
    }
  });
}

/**
 * What the provider says of a customer, without what was recorded before an account that had it was
 * deleted.
 */
function eventsOf(
  customer: string,
  account: string,
  { provider, log, names, scope }: Billed,
): readonly ProviderEvent[] {
  const stream = names.customerStream(scope, customer);
  const had = new Set<string>();
  const received: string[] = [];
  for (const { event, recorded } of log) {
    if (recorded.stream !== stream) continue;
    if (event.type === 'ProviderEventReceived')
      received.push(event.eventRef, event.refs?.invoice ?? '');
    if (event.type === 'CustomerReleased') {
      if (event.account !== account) received.forEach((ref) => had.add(ref));
      received.length = 0;
    }
  }
  const isHad = ({ id, invoice, fact }: ProviderEvent): boolean =>
    [id, `sync ${id}`].some((one) => had.has(names.providerEventRef(scope, one))) ||
    (fact.kind === 'INVOICE_PAID' &&
      had.has(names.providerObjectRef(scope, 'invoice', invoice ?? '')));
  return provider.events.filter((event) => event.customer === customer && !isHad(event));
}

/** The account has the status of the provider's newest event, and has converted if ever paid. */
function notAsTold(state: OpenAccount, billed: Billed): string[] {
  const { paymentProviderId, account, subscription, everPaid, referral } = state;
  if (paymentProviderId === null) return [];
  const own = eventsOf(paymentProviderId, account, billed);
  const hasPaid = own.some(({ fact }) => fact.kind === 'INVOICE_PAID' && fact.amountPaid > 0);
  if (hasPaid && !everPaid) return ['its customer has paid, and it was never PAID'];
  if (hasPaid && referral !== null && referral.datePaid === null)
    return [`its customer has paid, and ${referral.referralId} has not converted`];
  const all = billed.provider.events.filter(({ customer }) => customer === paymentProviderId);
  const status = newestStatus(own, all, hasPaid);
  if (status === undefined || status === subscription?.status) return [];
  return [`it is ${subscription?.status ?? 'nothing'}, and its customer ${status}`];
}

/**
 * Undefined: there is none, or it depends on what the provider listed, or on the order within a
 * second. @param all of the customer, whatever account had them.
 */
function newestStatus(
  own: readonly ProviderEvent[],
  all: readonly ProviderEvent[],
  hasPaid: boolean,
): string | undefined {
  const statuses = own.flatMap(({ created, fact }) => {
    if (fact.kind === 'TRIAL' || fact.kind === 'CANCELLED') return [{ created, is: fact.kind }];
    if (fact.kind !== 'INVOICE_PAID') return [];
    if (fact.amountPaid > 0) return [{ created, is: 'PAID' }];
    return hasPaid ? [] : [{ created, is: 'TRIAL' }];
  });
  const newest = Math.max(...statuses.map(({ created }) => created));
  const of = statuses.filter(({ created }) => created === newest);
  if (of.some(({ is }) => is === 'PAID')) return 'PAID';
  const [first, ...others] = of;
  if (!others.every(({ is }) => is === first?.is)) return undefined;
  return first?.is === 'CANCELLED' && isAnyLeft(all, newest) ? undefined : first?.is;
}

/**
 * Whether another subscription had begun and not ended by then, or began since. One that began
 * after its end, by a clock that was set back, may count as either.
 */
function isAnyLeft(all: readonly ProviderEvent[], at: number): boolean {
  const ends = all.filter(({ fact, created }) => fact.kind === 'CANCELLED' && created <= at);
  return all.some(
    ({ fact, subscription, created }) =>
      (fact.kind === 'TRIAL' || fact.kind === 'ACTIVE') &&
      !ends.some((end) => end.subscription === subscription && end.created >= created),
  );
}

const REFUSED: ReadonlySet<string | null> = new Set([
  'no such customer',
  'no such subscription',
  'the subscription is over',
]);

/** What an earlier call did that the log has lost, for subscriptions as they were then. */
const ANOTHER_BODY = 'another body under the key';

/** Nothing that the provider is to pay is forgotten, or refused without a reason. */
function notPaid(
  state: OpenAccount,
  { provider, now, lost }: Pick<Billed, 'provider' | 'now' | 'lost'>,
): string[] {
  const customer = state.paymentProviderId;
  if (customer === null) return [];
  const waits = ({ value, pushed }: RewardState): boolean =>
    value.type === 'PCT_DISCOUNT' &&
    pushed === undefined &&
    provider.subscriptionsOf(customer).length === 0;
  const isErased = ({ pushed }: RewardState): boolean => pushed?.calls === null;
  const due = duePushes(state, { now, retriesParked: false }).rewards;
  return [
    ...due.flatMap((reward) =>
      waits(reward) || isErased(reward)
        ? []
        : [`${reward.rewardId} is due at the provider, and is not paid`],
    ),
    ...[...state.rewards.values()].flatMap(({ rewardId, person, pushed, dateCancelled }) =>
      pushed?.status !== 'PARKED' ||
      dateCancelled !== null ||
      state.remains.forgotten.has(person) ||
      REFUSED.has(pushed.reason) ||
      (pushed.reason === ANOTHER_BODY && lost.length > 0)
        ? []
        : [`${rewardId} was refused: ${pushed.reason ?? ''}`],
    ),
  ];
}

/** The provider has it, in part, or may have it. */
const hasGone = (reward: RewardState): boolean =>
  isBeingPushed(reward) ||
  reward.pushed?.status === 'PUSHED' ||
  (reward.pushed?.done.length ?? 0) > 0;

/** Of a refunded referral nothing can be spent that was not before. */
function refundedAndLeft(
  { referral, rewardsByReferral, rewards }: OpenAccount,
  accounts: ReadonlyMap<string, TracedAccount>,
): string[] {
  if (referral?.dateRefunded === undefined) return [];
  const { referralId, referrer } = referral;
  const other = accounts.get(referrer.account)?.state;
  const own = [...(rewardsByReferral.get(referralId) ?? [])].flatMap((id) => rewards.get(id) ?? []);
  const theirs =
    other?.status === 'open'
      ? [...(other.rewardsByReferral.get(referralId) ?? [])].flatMap(
          (id) => other.rewards.get(id) ?? [],
        )
      : [];
  return [...own, ...theirs].flatMap((reward) =>
    reward.dateCancelled !== null ||
    reward.redeemed > 0 ||
    reward.phase === 'EXPIRED' ||
    hasGone(reward)
      ? []
      : [`${reward.rewardId} of the refunded ${referralId} can still be spent`],
  );
}
