/** Providers with an adapter. */
export type PaymentProviderName = 'stripe';
