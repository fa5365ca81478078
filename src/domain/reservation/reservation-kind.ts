/** Values that are unique across the accounts of a tenant and mode. */
export type ReservationKind = 'referral-code' | 'payment-provider-id';

/** Reserved before an account records it; lapses when it never does. */
export type LapsingKind = ReservationKind | 'tank-code' | 'imported-row';
