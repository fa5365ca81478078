import type { ProviderCall } from '../domain/account/account.events.js';
import type { ProviderSubscription } from '../domain/account/reward-push.js';
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
  /** Of a paid invoice, or of what a refund refunds. */
  readonly invoice: string | null;
  readonly payments: readonly string[];
  readonly fact: ProviderFact;
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
  /** The invoice that this payment, the first of an event's, has paid; null: none is known. */
  invoicePaidBy(payment: string): Promise<string | null>;
  /**
   * A page of the paid invoices and subscriptions that were made from this time on, as events would
   * tell them, and of the events from this time on that the provider still has.
   * @param since epoch milliseconds.
   * @param cursor `next` of the page before; null: the first page.
   */
  factsPage(since: number, cursor: string | null): Promise<FactsPage>;
  /** The balance credits of a customer that pay rewards. */
  rewardCredits(customer: string): AsyncIterable<RewardCredit>;
  /** Whether the customer has paid an invoice with an amount above zero. */
  hasPaid(customer: string): Promise<boolean>;
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
  /** Undefined: the bytes are no event. */
  eventIn(body: Buffer): ProviderEvent | undefined;
  /** The payment of a refund whose invoice has to be asked for; undefined: there is none. */
  paymentWithoutInvoice(event: ProviderEvent): string | undefined;
  calls(credentials: Pick<ProviderCredentials, 'secretKey' | 'apiBase'>): ProviderCalls;
  /** Waits for the calls under way. */
  close(): Promise<void>;
}
