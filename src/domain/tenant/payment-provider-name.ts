/** The payment providers that have an adapter. */
export type PaymentProviderName = 'stripe';
