import type { ProviderCall } from '../domain/account/account.events.js';
import type { ProviderSubscription } from '../domain/account/provider/reward-push.js';
import type { ProviderFact } from '../domain/customer/customer.state.js';
import type { Mode } from '../domain/scope.js';

/**
 * The port to payment providers. Ids are those of the provider, amounts integers in the smallest
 * unit of their currency, times epoch milliseconds.
 */

export interface ProviderCredentials {
  readonly secretKey: string;
  /** Verifies the signatures of incoming events. */
  readonly webhookSecret: string;
  /** Another server of the same interface; null: the provider's own. */
  readonly apiBase: string | null;
}

/**
 * `refused`: the provider does not accept the call, and will not later. `unavailable`: no answer,
 * or one that may differ later. `failed`: the provider failed, and may have kept that answer for
 * the idempotency key.
 */
export type ProviderFailureKind = 'refused' | 'unavailable' | 'failed';

/** A call without a known effect. Its message names no person and no secret. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  constructor(
    readonly kind: ProviderFailureKind,
    message: string,
    /** The answer was kept for the idempotency key: the same call gets it again. */
    readonly isKept = false,
    /** The provider does not have what the call is about. */
    readonly isMissing = false,
  ) {
    super(message);
  }
}

/** An event of the provider, as far as anything of it is kept. */
export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  /** Null: it is about no customer, or has no effect. */
  readonly customer: string | null;
  /** Of a paid invoice, or of what a refund or a dispute is about. */
  readonly invoice: string | null;
  /** Of a dispute, its charge first. */
  readonly payments: readonly string[];
  /** That the event is about. */
  readonly subscription: string | null;
  /** When a subscription ended: the active and trialing ones of the customer; null: not listed. */
  readonly left: readonly string[] | null;
  /** Of the recurring lines of an invoice, while its interval is open: intervals, and price ids. */
  readonly prices?: readonly (Interval | string)[];
  readonly fact: ProviderFact;
}

export type Interval = NonNullable<Extract<ProviderFact, { kind: 'INVOICE_PAID' }>['interval']>;

/** Whether the provider has to be called for what the event leaves open. */
export function isOpen({
  fact,
  customer,
  invoice,
  payments,
  left,
  prices,
}: ProviderEvent): boolean {
  switch (fact.kind) {
    case 'INVOICE_PAID':
      return prices !== undefined;
    case 'CANCELLED':
      return left === null;
    case 'REFUNDED':
      return fact.amountRefunded >= fact.amount && invoice === null && payments.length > 0;
    case 'DISPUTED':
      return customer === null || invoice === null || fact.amount === null;
    case 'TRIAL':
    case 'ACTIVE':
    case 'INACTIVE':
    case 'CUSTOMER_DELETED':
    case 'IGNORED':
      return false;
  }
}

/** What a signed body says. */
export interface SignedEvent {
  readonly event: ProviderEvent;
  /** Null: the body does not say it. */
  readonly mode: Mode | null;
}

/** The signature of an incoming event. */
export interface SignatureCheck {
  /** The header; undefined: none. */
  readonly signature: string | undefined;
  readonly secret: string;
  readonly now: number;
}

/** Calls with the key of one connection. All throw {ProviderFailure}. */
export interface ProviderCalls {
  /** Whether the provider accepts the key. */
  check(): Promise<void>;
  /** With what it leaves open, as far as the provider does not refuse to say it. */
  completed(event: ProviderEvent): Promise<ProviderEvent>;
  /**
   * A page of the paid invoices and subscriptions that were made from this time on, as events would
   * tell them, and of the events from this time on that the provider still has.
   * @param since epoch milliseconds.
   * @param cursor `next` of the page before; null: the first page.
   */
  factsPage(since: number, cursor: string | null): Promise<FactsPage>;
  /** The balance credits of a customer that pay rewards. */
  rewardCredits(customer: string): AsyncIterable<RewardCredit>;
  /** The ids of the customer's paid invoices with an amount above zero. */
  paidInvoices(customer: string): AsyncIterable<string>;
  /** Those that are not over, with their discounts. */
  subscriptionsOf(customer: string): Promise<readonly ProviderSubscription[]>;
  /** The discounts of the reward that were added, of subscriptions that are over, too. */
  discountsFor(customer: string, rewardId: string): Promise<readonly PaidDiscount[]>;
  /**
   * Pays a reward, once for each key.
   * @returns the provider's id of what it made.
   */
  pay(call: ProviderCall, rewardId: string): Promise<string>;
  /**
   * What an earlier call made for the reward; undefined: nothing.
   * @param since epoch milliseconds: no call was made before.
   */
  made(call: LookedFor, rewardId: string, since: number): Promise<string | undefined>;
}

/** A call, as far as its effect is looked for by it. */
export type LookedFor =
  | Pick<Extract<ProviderCall, { kind: 'BALANCE_CREDIT' }>, 'kind' | 'customer'>
  | Extract<ProviderCall, { kind: 'DISCOUNT' }>;

/** A discount of a reward, which may have ended. */
export interface PaidDiscount {
  readonly subscription: string;
  readonly hasEnded: boolean;
  /** The provider's id of it, or of its terms. */
  readonly reference: string;
}

/** A balance credit with the id of a reward. */
export interface RewardCredit {
  /** The provider's. */
  readonly id: string;
  readonly rewardId: string;
  /** Above zero. */
  readonly amount: number;
}

/** At most some hundred facts. */
export interface FactsPage {
  readonly facts: readonly ProviderEvent[];
  /** Null: it is the last page. */
  readonly next: string | null;
}

/** What the adapter of one provider offers. */
export interface PaymentProvider {
  /** The mode of a secret key, by its form; undefined: it is none. */
  modeOf(secretKey: string): Mode | undefined;
  isWebhookSecret(text: string): boolean;
  /** Whether the secret signed these bytes, at most 300 s ago. */
  isSigned(body: Buffer, check: SignatureCheck): boolean;
  /** Undefined: the bytes are no JSON object. An object of another form is an ignored event. */
  eventIn(body: Buffer): SignedEvent | undefined;
  calls(credentials: Pick<ProviderCredentials, 'secretKey' | 'apiBase'>): ProviderCalls;
  /** Waits for the calls under way. */
  close(): Promise<void>;
}
