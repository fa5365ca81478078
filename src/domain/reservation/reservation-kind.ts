/** What is unique across the accounts of a tenant and mode. */
export type ReservationKind = 'referral-code' | 'payment-provider-id';

/** What is reserved before an account records it, and lapses when it never does. */
export type LapsingKind = ReservationKind | 'tank-code';
