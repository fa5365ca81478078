import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import type { ReservationKind } from '../../reservation/reservation-kind.js';
import type { AccountEvent, PersonId } from '../account.events.js';
import type { AccountState } from '../account.state.js';

/**
 * Lapses an old reservation that this account never recorded, so that another holder can take it
 * over. The event has no visible effect but takes the revision of a concurrent append: that command
 * is decided again, finds its claim older than the lapse, and must reserve again. So a reservation
 * is never taken from a command that then records it.
 */
export type LapseReservation = Command<'LapseReservation', { what: ReservedValue }>;

export type ReservedValue =
  | {
      readonly kind: ReservationKind;
      /** The code or id, as sent. */
      readonly key: string;
      /** Null: it belongs to the account as a whole. */
      readonly person: PersonId | null;
    }
  | { readonly kind: 'tank-code'; readonly code: string; readonly rewardId: string }
  | { readonly kind: 'imported-row'; readonly ref: string };

/** No events: the account has recorded it, so it cannot be taken over. */
export function lapseReservation(
  state: AccountState,
  { what, now }: LapseReservation,
): Decision<AccountEvent> {
  if (hasRecorded(state, what)) return { events: [] };
  return {
    events: [
      {
        type: 'ReservationLapsed',
        at: now,
        kind: what.kind,
        holder: 'person' in what ? what.person : null,
      },
    ],
  };
}

export function hasRecorded(state: AccountState, what: ReservedValue): boolean {
  if (what.kind === 'tank-code') return tankCodeOf(state, what.rewardId) === what.code;
  if (what.kind === 'imported-row') return state.remains.imported.has(what.ref);
  const { kind, key, person } = what;
  // A forgotten person's code is never assigned again.
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

/** The code of a reward, deleted accounts included. */
function tankCodeOf(state: AccountState, rewardId: string): string | undefined {
  const value = state.status === 'open' ? state.rewards.get(rewardId)?.value : undefined;
  return value?.type === 'FUELTANK' ? value.fuelTankCode : state.remains.tankCodes.get(rewardId);
}
