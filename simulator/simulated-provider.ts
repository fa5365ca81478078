import type { ProviderCall } from '../src/domain/account/account.events.js';
import type { ProviderSubscription } from '../src/domain/account/provider/reward-push.js';
import type { ProviderFact } from '../src/domain/customer/customer.state.js';
import {
  ProviderFailure,
  type FactsPage,
  type EffectQuery,
  type PaidDiscount,
  type PaymentProvider,
  type ProviderCalls,
  type ProviderEvent,
  type SignedEvent,
} from '../src/payments/payment-provider.js';
import type { Connection } from './connection.js';
import type { Faults } from './faults.js';

/** Of its webhooks. */
export const WEBHOOK_SECRET = 'whsec_simulated';
/** The provider forgets idempotency keys then. */
const KEY_LIVES_MS = 24 * 3_600_000;
/** Facts of a page of a walk. */
const PAGE = 3;

interface BalanceTransaction {
  readonly id: string;
  readonly customer: string;
  readonly rewardId: string;
  readonly amount: number;
}

interface Discount {
  readonly id: string;
  readonly rewardId: string;
}

interface Subscription {
  readonly id: string;
  readonly customer: string;
  discounts: readonly Discount[];
  /** The rewards that its metadata names, by slot. */
  readonly slots: Map<number, string>;
  hasEnded: boolean;
}

interface KnownKey {
  readonly body: string;
  /** When it was sent, epoch milliseconds. */
  readonly at: number;
  /** What was answered: an id, or a failure that is kept. */
  readonly answer: string | ProviderFailure;
}

/** What the payment provider has of one tenant. */
export class SimulatedProviderAccount {
  readonly deleted = new Set<string>();
  readonly transactions: BalanceTransaction[] = [];
  readonly subscriptions = new Map<string, Subscription>();
  /** Every event that it sends, whether it arrives or not. */
  readonly events: ProviderEvent[] = [];
  /** Whose invoice a payment has paid. */
  readonly invoiceOf = new Map<string, string>();
  private readonly keys = new Map<string, KnownKey>();
  private ids = 0;

  /** @param clock epoch milliseconds. */
  constructor(readonly clock: () => number) {}

  newId(word: string): string {
    return `${word}_${(this.ids += 1)}`;
  }

  /** Something has happened, in this second. */
  tell(
    customer: string,
    type: string,
    fact: ProviderFact,
    about: Partial<Pick<ProviderEvent, 'invoice' | 'payments' | 'subscription'>> = {},
  ): ProviderEvent {
    const { invoice = null, payments = [], subscription = null } = about;
    const created = Math.floor(this.clock() / 1_000) * 1_000;
    const ids = { id: this.newId('evt'), customer, invoice, payments, subscription };
    const event = { ...ids, type, created, left: null, fact };
    this.events.push(event);
    return event;
  }

  /** The subscriptions of the customer that are not over. */
  subscriptionsOf(customer: string): readonly Subscription[] {
    return [...this.subscriptions.values()].filter(
      (one) => one.customer === customer && !one.hasEnded,
    );
  }

  /**
   * What a call makes, once for each key. @param sentAt epoch milliseconds.
   * @throws {ProviderFailure}
   */
  pay(call: ProviderCall, rewardId: string, sentAt: number): string {
    const body = JSON.stringify({ ...call, rewardId });
    const known = this.known(call.key, sentAt);
    if (known !== undefined) {
      if (known.body !== body) throw new ProviderFailure('refused', 'another body under the key');
      if (typeof known.answer === 'string') return known.answer;
      throw known.answer;
    }
    const answer =
      call.kind === 'BALANCE_CREDIT' ? this.credit(call, rewardId) : this.discount(call, rewardId);
    this.keys.set(call.key, { body, at: sentAt, answer });
    return answer;
  }

  /** It fails, and gives the same answer to the key from now on. */
  keepFailure(call: ProviderCall, rewardId: string, sentAt: number): void {
    const body = JSON.stringify({ ...call, rewardId });
    const answer = new ProviderFailure('failed', 'the provider answered 500', true);
    if (this.known(call.key, sentAt) === undefined)
      this.keys.set(call.key, { body, at: sentAt, answer });
  }

  made(call: EffectQuery, rewardId: string): string | undefined {
    if (call.kind === 'BALANCE_CREDIT') {
      this.mustExist(call.customer);
      const { customer } = call;
      return this.transactions.find((one) => one.customer === customer && one.rewardId === rewardId)
        ?.id;
    }
    const subscription = this.subscription(call.subscription);
    if (!hasNamed(subscription, rewardId)) return undefined;
    return subscription.discounts.find(({ id }) => !call.keeps.includes(id))?.id ?? 'ref';
  }

  discountsFor(customer: string, rewardId: string): readonly PaidDiscount[] {
    this.mustExist(customer);
    return [...this.subscriptions.values()]
      .filter((one) => one.customer === customer && hasNamed(one, rewardId))
      .map(({ id, hasEnded }) => ({ subscription: id, hasEnded, reference: 'ref' }));
  }

  mustExist(customer: string): void {
    if (this.deleted.has(customer))
      throw new ProviderFailure('refused', 'no such customer', false, true);
  }

  /** With what the event leaves open. */
  completed(event: ProviderEvent): ProviderEvent {
    const { fact, customer, subscription, payments } = event;
    switch (fact.kind) {
      case 'CANCELLED': {
        const live = customer === null ? [] : this.subscriptionsOf(customer);
        const left = live.map(({ id }) => id).filter((id) => id !== subscription);
        return { ...event, left };
      }
      case 'REFUNDED':
      case 'DISPUTED': {
        const known = payments.map((payment) => this.invoiceOf.get(payment));
        return { ...event, invoice: event.invoice ?? known.find((id) => id !== undefined) ?? null };
      }
      default:
        return event;
    }
  }

  /** The paid invoices, then what changed subscriptions, then the events themselves. */
  facts(since: number): readonly ProviderEvent[] {
    const recent = this.events.filter(({ created }) => created >= since);
    const listed = recent.filter(({ fact }) =>
      ['INVOICE_PAID', 'TRIAL', 'CANCELLED'].includes(fact.kind),
    );
    return [
      ...listed.map((event) => ({ ...event, id: `sync ${event.id}` })),
      ...recent.filter(({ fact }) => fact.kind !== 'REFUNDED'),
    ];
  }

  private known(key: string, sentAt: number): KnownKey | undefined {
    const known = this.keys.get(key);
    return known !== undefined && sentAt - known.at < KEY_LIVES_MS ? known : undefined;
  }

  private credit(
    { customer, amount }: Extract<ProviderCall, { kind: 'BALANCE_CREDIT' }>,
    rewardId: string,
  ): string {
    this.mustExist(customer);
    const id = this.newId('cbtxn');
    this.transactions.push({ id, customer, rewardId, amount });
    return id;
  }

  private discount(
    { subscription: name, keeps, slot }: Extract<ProviderCall, { kind: 'DISCOUNT' }>,
    rewardId: string,
  ): string {
    const subscription = this.subscription(name);
    if (subscription.hasEnded) throw new ProviderFailure('refused', 'the subscription is over');
    const id = this.newId('di');
    const kept = subscription.discounts.filter((one) => keeps.includes(one.id));
    subscription.discounts = [...kept, { id, rewardId }];
    if (slot !== undefined) subscription.slots.set(slot, rewardId);
    return id;
  }

  private subscription(id: string): Subscription {
    const found = this.subscriptions.get(id);
    if (found === undefined) throw new ProviderFailure('refused', 'no such subscription');
    this.mustExist(found.customer);
    return found;
  }
}

interface ProviderParts {
  readonly account: SimulatedProviderAccount;
  readonly line: Pick<Connection, 'read' | 'write'>;
  readonly faults: Faults;
}

const away = (): Error => new ProviderFailure('unavailable', 'the provider did not answer');

/** The provider as one process reaches it. */
export class SimulatedProvider implements PaymentProvider {
  constructor(private readonly parts: ProviderParts) {}

  modeOf(): 'live' {
    return 'live';
  }

  isWebhookSecret(text: string): boolean {
    return text === WEBHOOK_SECRET;
  }

  isSigned(
    _body: Buffer,
    { signature, secret }: Parameters<PaymentProvider['isSigned']>[1],
  ): boolean {
    return signature === `signed with ${secret}`;
  }

  eventIn(body: Buffer): SignedEvent | undefined {
    return { event: JSON.parse(body.toString()) as ProviderEvent, mode: 'live' };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  calls(): ProviderCalls {
    const { account } = this.parts;
    const ask = <T>(question: () => T): Promise<T> => this.ask(question);
    return {
      check: () => ask(() => undefined),
      completed: (event) => ask(() => account.completed(event)),
      factsPage: (since, cursor) => ask(() => pageOf(account.facts(since), cursor)),
      rewardCredits: () => {
        throw new Error('a simulated service reconciles nothing');
      },
      paidInvoices: () => {
        throw new Error('a simulated service reconciles nothing');
      },
      subscriptionsOf: (customer) =>
        ask(() => {
          account.mustExist(customer);
          return account.subscriptionsOf(customer).map(withDiscounts);
        }),
      discountsFor: (customer, rewardId) => ask(() => account.discountsFor(customer, rewardId)),
      pay: (call, rewardId) => this.pay(call, rewardId),
      made: (call, rewardId) => ask(() => account.made(call, rewardId)),
    };
  }

  private ask<T>(question: () => T): Promise<T> {
    const { line, faults } = this.parts;
    if (faults.happens('provider busy')) return line.read('provider', away, busy);
    return line.read('provider', away, question);
  }

  private pay(call: ProviderCall, rewardId: string): Promise<string> {
    const { account, line, faults } = this.parts;
    const sentAt = account.clock();
    if (faults.happens('provider busy')) return line.read('provider', away, busy);
    const isFailing = faults.happens('provider failed');
    const keeps = faults.happens('provider keeps failing');
    const isRubbish = faults.happens('provider rubbish');
    return line.write('provider', away, () => {
      if (keeps) account.keepFailure(call, rewardId, sentAt);
      if (isFailing || keeps) throw new ProviderFailure('failed', 'the provider answered 500');
      const id = account.pay(call, rewardId, sentAt);
      if (isRubbish) throw new ProviderFailure('unavailable', 'the answer could not be read');
      return id;
    });
  }
}

const busy = (): never => {
  throw new ProviderFailure('unavailable', 'the provider answered 429');
};

const hasNamed = ({ slots }: Subscription, rewardId: string): boolean =>
  [...slots.values()].includes(rewardId);

const withDiscounts = ({ id, discounts, slots }: Subscription): ProviderSubscription => ({
  id,
  discounts: discounts.map((one) => one.id),
  slot: slots.size,
});

function pageOf(facts: readonly ProviderEvent[], cursor: string | null): FactsPage {
  const from = Number(cursor ?? 0);
  const isLast = from + PAGE >= facts.length;
  return { facts: facts.slice(from, from + PAGE), next: isLast ? null : String(from + PAGE) };
}
