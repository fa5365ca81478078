import type { ProviderCall } from '../domain/account/account.events.js';
import type { ProviderSubscription } from '../domain/account/provider/reward-push.js';
import type { ProviderFact } from '../domain/customer/customer.state.js';
import type { Mode } from '../domain/scope.js';

/**
 * The port to payment providers. Ids are the provider's, amounts are integers in the smallest unit
 * of their currency, times are epoch milliseconds.
 */

export interface ProviderCredentials {
  readonly secretKey: string;
  /** Verifies the signatures of incoming events. */
  readonly webhookSecret: string;
  /** Another server with the same interface; null: the provider's own. */
  readonly apiBase: string | null;
}

/**
 * `refused`: the provider does not accept the call, now or later. `unavailable`: no answer, or a
 * temporary one. `failed`: the provider failed and may repeat that answer for the idempotency key.
 */
export type ProviderFailureKind = 'refused' | 'unavailable' | 'failed';

/** A call without a known effect. The message contains neither personal data nor secrets. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  constructor(
    readonly kind: ProviderFailureKind,
    message: string,
    /** The provider stored the answer for the idempotency key: the same call gets it again. */
    readonly isKept = false,
    /** The provider does not have the object of the call. */
    readonly isMissing = false,
  ) {
    super(message);
  }
}

/** The recorded part of a provider's event. */
export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  /** Null: no customer, or no effect. */
  readonly customer: string | null;
  /** The paid, refunded or disputed invoice. */
  readonly invoice: string | null;
  /** Of a dispute, the charge comes first. */
  readonly payments: readonly string[];
  readonly subscription: string | null;
  /** At the end of a subscription: the customer's live subscriptions; null: not listed. */
  readonly left: readonly string[] | null;
  /** The recurring lines of an invoice with an unknown interval: intervals, and price ids. */
  readonly prices?: readonly (Interval | string)[];
  readonly fact: ProviderFact;
}

export type Interval = NonNullable<Extract<ProviderFact, { kind: 'INVOICE_PAID' }>['interval']>;

/** Whether the provider must be called to complete the event. */
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

/** The content of a signed body. */
export interface SignedEvent {
  readonly event: ProviderEvent;
  /** Null: the body does not contain it. */
  readonly mode: Mode | null;
}

export interface SignatureCheck {
  /** The header; undefined: missing. */
  readonly signature: string | undefined;
  readonly secret: string;
  readonly now: number;
}

/** Calls with the key of a connection. All throw {ProviderFailure}. */
export interface ProviderCalls {
  /** Checks that the provider accepts the key. */
  check(): Promise<void>;
  /** Completes the event as far as the provider allows. */
  completed(event: ProviderEvent): Promise<ProviderEvent>;
  /**
   * A page of paid invoices and subscriptions created since, in the form of events, and of events
   * since that the provider still has.
   * @param since epoch milliseconds. @param cursor `next` of the previous page; null: the first.
   */
  factsPage(since: number, cursor: string | null): Promise<FactsPage>;
  /** The balance credits of a customer that pay rewards. */
  rewardCredits(customer: string): AsyncIterable<RewardCredit>;
  /** The ids of the customer's paid invoices with an amount above zero. */
  paidInvoices(customer: string): AsyncIterable<string>;
  /** Subscriptions that have not ended, with their discounts. */
  subscriptionsOf(customer: string): Promise<readonly ProviderSubscription[]>;
  /** The discounts of a reward, including those of ended subscriptions. */
  discountsFor(customer: string, rewardId: string): Promise<readonly PaidDiscount[]>;
  /** Pays a reward, once per key. @returns the provider's id of the result. */
  pay(call: ProviderCall, rewardId: string): Promise<string>;
  /** The result of an earlier call for the reward. @param since before the first call, epoch ms. */
  made(call: EffectQuery, rewardId: string, since: number): Promise<string | undefined>;
}

/** The part of a call by which its effect is found. */
export type EffectQuery =
  | Pick<Extract<ProviderCall, { kind: 'BALANCE_CREDIT' }>, 'kind' | 'customer'>
  | Extract<ProviderCall, { kind: 'DISCOUNT' }>;

/** A discount of a reward, possibly ended. */
export interface PaidDiscount {
  readonly subscription: string;
  readonly hasEnded: boolean;
  /** The provider's id of the discount or its terms. */
  readonly reference: string;
}

/** A balance credit with the id of a reward. */
export interface RewardCredit {
  readonly id: string;
  readonly rewardId: string;
  /** Above zero. */
  readonly amount: number;
}

/** A few hundred facts at most. */
export interface FactsPage {
  readonly facts: readonly ProviderEvent[];
  /** Null: the last page. */
  readonly next: string | null;
}

export interface PaymentProvider {
  /** The mode of a secret key by its form; undefined: it is not one. */
  modeOf(secretKey: string): Mode | undefined;
  isWebhookSecret(text: string): boolean;
  /** Whether the secret signed these bytes within the last 300 s. */
  isSigned(body: Buffer, check: SignatureCheck): boolean;
  /** Undefined: no JSON object. An object of unknown form is an ignored event. */
  eventIn(body: Buffer): SignedEvent | undefined;
  calls(credentials: Pick<ProviderCredentials, 'secretKey' | 'apiBase'>): ProviderCalls;
  /** Waits for running calls. */
  close(): Promise<void>;
}
