import type { ProviderEvent } from '../src/payments/payment-provider.js';
import type { SeededRandom } from './seeded-random.js';
import type { SimulatedService } from './service.js';
import { WEBHOOK_SECRET, type SimulatedProviderAccount } from './simulated-provider.js';
import { Owner, type VirtualWorld } from './virtual-world.js';

/** Between two things that customers do, at most. */
const EVERY_MS = 1_200;
const LATE_MS = 60_000;
/** The provider sends an event again that was not answered. */
const AGAIN_MS = 12_000;
const TRIES_MAX = 6;
const AMOUNTS = [0, 500, 1_999, 10_000] as const;

export interface BilledCustomersParts {
  readonly world: VirtualWorld;
  readonly random: SeededRandom;
  readonly tenant: string;
  readonly provider: SimulatedProviderAccount;
  /** The ids of the customers. */
  readonly customers: readonly string[];
  readonly services: readonly SimulatedService[];
}

interface PaidInvoice {
  readonly customer: string;
  readonly invoice: string;
  readonly payment: string;
  readonly amount: number;
}

/**
 * The tenant's customers at the provider: they subscribe, pay, get their money back and leave. The
 * provider sends each event to the service: in any order, sometimes twice, late, or never.
 */
export class BilledCustomers {
  private readonly itself = new Owner('customers');
  private readonly paid: PaidInvoice[] = [];
  private isOver = false;

  constructor(private readonly parts: BilledCustomersParts) {}

  start(): void {
    this.later(this.parts.random.below(EVERY_MS), () => this.next());
  }

  /** From now on they do nothing, and what is on its way arrives. */
  stop(): void {
    this.isOver = true;
  }

  private next(): void {
    if (this.isOver) return;
    const { random, customers, provider } = this.parts;
    const customer = random.oneOf(customers);
    if (!provider.deleted.has(customer)) this.act(customer);
    if (provider.events.length > 0 && random.onceIn(8)) this.send(random.oneOf(provider.events));
    this.later(random.below(EVERY_MS), () => this.next());
  }

  private act(customer: string): void {
    const { random } = this.parts;
    const kinds = { subscribe: 3, pay: 6, refund: 3, cancel: 2, delete: random.onceIn(20) ? 1 : 0 };
    switch (random.weighted(kinds)) {
      case 'subscribe':
        return this.subscribe(customer);
      case 'pay':
        return this.pay(customer);
      case 'refund':
        return this.refund();
      case 'cancel':
        return this.cancel(customer);
      case 'delete':
        return this.leave(customer);
    }
  }

  private subscribe(customer: string): void {
    const { random, provider } = this.parts;
    if (provider.subscriptionsOf(customer).length > 1) return;
    const id = provider.newId('sub');
    const made = { id, customer, discounts: [], slots: new Map<number, string>(), hasEnded: false };
    provider.subscriptions.set(id, made);
    const fact = { kind: random.onceIn(2) ? 'TRIAL' : 'ACTIVE' } as const;
    const about = { subscription: id };
    this.tell(provider.tell(customer, 'customer.subscription.created', fact, about));
  }

  private pay(customer: string): void {
    const { random, provider } = this.parts;
    const [invoice, payment] = [provider.newId('in'), provider.newId('pi')];
    const amount = random.oneOf(AMOUNTS);
    const interval = { type: 'MONTH', value: 1 } as const;
    const fact = { kind: 'INVOICE_PAID', amountPaid: amount, currency: 'USD', interval } as const;
    provider.invoiceOf.set(payment, invoice);
    if (amount > 0) this.paid.push({ customer, invoice, payment, amount });
    this.tell(provider.tell(customer, 'invoice.paid', fact, { invoice, payments: [payment] }));
  }

  private refund(): void {
    const { random, provider } = this.parts;
    if (this.paid.length === 0) return;
    const { customer, invoice, payment, amount } = random.oneOf(this.paid);
    if (random.onceIn(4)) return this.dispute(customer, payment);
    const amountRefunded = random.onceIn(4) ? 1 : amount;
    const fact = { kind: 'REFUNDED', amount, amountRefunded, currency: 'USD' } as const;
    const about = random.onceIn(2) ? { invoice } : {};
    this.tell(provider.tell(customer, 'charge.refunded', fact, { ...about, payments: [payment] }));
  }

  private dispute(customer: string, payment: string): void {
    const { random, provider } = this.parts;
    const since = Math.floor(provider.clock() / 1_000) * 1_000;
    const status = random.oneOf(['needs_response', 'lost', 'won']);
    const fact = { kind: 'DISPUTED', status, since, amount: null } as const;
    this.tell(provider.tell(customer, 'charge.dispute.closed', fact, { payments: [payment] }));
  }

  private cancel(customer: string): void {
    const { provider } = this.parts;
    const [subscription] = provider.subscriptionsOf(customer);
    if (subscription === undefined) return;
    subscription.hasEnded = true;
    const fact = { kind: 'CANCELLED' } as const;
    const about = { subscription: subscription.id };
    this.tell(provider.tell(customer, 'customer.subscription.deleted', fact, about));
  }

  private leave(customer: string): void {
    const { provider } = this.parts;
    provider.deleted.add(customer);
    for (const subscription of provider.subscriptionsOf(customer)) subscription.hasEnded = true;
    const fact = { kind: 'CUSTOMER_DELETED' } as const;
    this.tell(provider.tell(customer, 'customer.deleted', fact));
  }

  private tell(event: ProviderEvent): void {
    const { random } = this.parts;
    if (random.onceIn(6)) return;
    this.later(random.below(random.onceIn(6) ? LATE_MS : 500), () => this.send(event));
    if (random.onceIn(5)) this.later(random.below(LATE_MS), () => this.send(event));
  }

  /** Until it is answered that it is recorded. */
  private send(event: ProviderEvent, triesLeft = TRIES_MAX): void {
    if (triesLeft === 0) return;
    const { world, random, services, tenant: alias } = this.parts;
    const service = random.oneOf(services);
    let isAnswered = false;
    world.hand(service.owner, () => {
      void receive(service, alias, event).then((isRecorded) =>
        world.hand(this.itself, () => (isAnswered = isRecorded)),
      );
    });
    this.later(AGAIN_MS, () => {
      if (!isAnswered) this.send(event, triesLeft - 1);
    });
  }

  private later(ms: number, run: () => void): void {
    this.parts.world.hand(this.itself, run, ms);
  }
}

async function receive(
  { payments, handling }: SimulatedService,
  alias: string,
  event: ProviderEvent,
): Promise<boolean> {
  try {
    const tenant = await handling.tenants.read(alias);
    if (tenant === undefined || payments === undefined) return false;
    const body = Buffer.from(JSON.stringify(event));
    const received = await payments.events.receive(tenant, body, `signed with ${WEBHOOK_SECRET}`);
    return ['recorded', 'ignored', 'repeated'].includes(received);
  } catch {
    return false;
  }
}
