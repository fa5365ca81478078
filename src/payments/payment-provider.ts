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
  ) {
    super(message);
  }
}

/** Calls with the key of one connection. All throw {ProviderFailure}. */
export interface ProviderCalls {
  /** Whether the provider accepts the key. */
  check(): Promise<void>;
}

/** What the adapter of one provider offers. */
export interface PaymentProvider {
  /** The mode of a secret key, by its form; undefined: it is none. */
  modeOf(secretKey: string): Mode | undefined;
  /** Why a text is no secret of webhooks; undefined: it is one. */
  isWebhookSecret(text: string): boolean;
  calls(credentials: Pick<ProviderCredentials, 'secretKey' | 'apiBase'>): ProviderCalls;
  /** Waits for the calls under way. */
  close(): Promise<void>;
}
