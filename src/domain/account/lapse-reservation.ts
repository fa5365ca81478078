import type { Decision } from '../refusal.js';
import type { ReservationKind } from '../reservation/reservation-kind.js';
import type { AccountEvent, PersonId } from './account.events.js';
import type { AccountState } from './account.state.js';

/**
 * Somebody else wants what was reserved for this account long ago and is not recorded here. The fact changes nothing that anybody sees,
 * but it takes the place in the stream that a command with an old claim would append to: that command is decided again, finds that its
 * claim is older than the lapse, and must reserve anew. So a reservation is never taken over from a command that then records it.
 */
export interface LapseReservation {
  readonly type: 'LapseReservation';
  readonly kind: ReservationKind;
  /** The code or id, as it was given. */
  readonly key: string;
  /** Null when it belongs to the account as a whole. */
  readonly person: PersonId | null;
  readonly now: number;
}

/** No facts: the account has recorded it, and nobody can take it over. */
export function lapseReservation(state: AccountState, { kind, key, person, now }: LapseReservation): Decision<AccountEvent> {
  return hasRecorded(state, { kind, key, person })
    ? { events: [] }
    : { events: [{ type: 'ReservationLapsed', at: now, kind, holder: person }] };
}

export function hasRecorded(state: AccountState, { kind, key, person }: Pick<LapseReservation, 'kind' | 'key' | 'person'>): boolean {
  // Somebody forgotten keeps the code for good: it is never given to anybody else.
  if (person !== null && state.remains.forgotten.has(person)) return true;
  if (state.status === 'absent') return false;
  switch (kind) {
    case 'payment-provider-id':
      return state.paymentProviderId === key;
    case 'referral-code': {
      const user = person === null ? undefined : state.users.get(person);
      return user !== undefined && (user.profile === null || user.codes.has(key.toLowerCase()));
    }
  }
}
