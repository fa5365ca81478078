/** What is unique across the accounts of a tenant and mode. */
export type ReservationKind = 'referral-code' | 'payment-provider-id';
