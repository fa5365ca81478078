import type { Personal } from '../personal.js';
import { refused, type Decision } from '../refusal.js';
import type { AccountRef } from '../scope.js';
import type { PersonId } from '../account/account.events.js';

/**
 * Uniqueness across accounts: one stream per code or payment provider id. The first to append to it has it. A reservation is made
 * before the account records what it is for; one that its account never confirmed may be taken over.
 */
export type ReservationKind = 'referral-code' | 'payment-provider-id';

export interface Holder {
  readonly account: AccountRef;
  /** Null when it belongs to the account as a whole. */
  readonly person: PersonId | null;
}

export type ReservationEvent =
  | {
      readonly type: 'ReservationMade';
      readonly at: number;
      readonly kind: ReservationKind;
      /** What is reserved, as it was given; encrypted with the key of whom it belongs to. */
      readonly key: Personal<string>;
      readonly holder: Holder;
      readonly programId: string | null;
    }
  | { readonly type: 'ReservationReleased'; readonly at: number; readonly holder: Holder };

export type ReservationState =
  | { readonly status: 'free' }
  | {
      readonly status: 'held';
      readonly holder: Holder;
      readonly key: string | null;
      readonly keySubject: string;
      readonly programId: string | null;
      readonly since: number;
    };

export const initialState: ReservationState = { status: 'free' };

export function evolve(_state: ReservationState, event: ReservationEvent): ReservationState {
  switch (event.type) {
    case 'ReservationMade':
      return {
        status: 'held',
        holder: event.holder,
        key: event.key.value,
        keySubject: event.key.subject,
        programId: event.programId,
        since: event.at,
      };
    case 'ReservationReleased':
      return { status: 'free' };
  }
}

export interface Reserve {
  readonly type: 'Reserve';
  readonly kind: ReservationKind;
  readonly key: Personal<string>;
  readonly holder: Holder;
  readonly programId: string | null;
  /** True when the present holder, whoever it is, was looked up and never confirmed its reservation in time. */
  readonly takeOver: boolean;
  readonly now: number;
}

export interface Release {
  readonly type: 'Release';
  readonly holder: Holder;
  readonly now: number;
}

export type ReservationCommand = Reserve | Release;

export function decide(state: ReservationState, command: ReservationCommand): Decision<ReservationEvent> {
  switch (command.type) {
    case 'Reserve':
      return reserve(state, command);
    case 'Release':
      return state.status === 'held' && sameHolder(state.holder, command.holder)
        ? { events: [{ type: 'ReservationReleased', at: command.now, holder: command.holder }] }
        : { events: [] };
  }
}

function reserve(state: ReservationState, { kind, key, holder, programId, takeOver, now }: Reserve): Decision<ReservationEvent> {
  const made: ReservationEvent = { type: 'ReservationMade', at: now, kind, key, holder, programId };
  if (state.status === 'free') return { events: [made] };
  if (sameHolder(state.holder, holder)) {
    // Its own that was never confirmed is made anew: else another one could take it over while the holder confirms it.
    if (takeOver) return { events: [made] };
    if (state.programId !== programId) return refused('CODE_PROGRAM_CONFLICT');
    // Sent again in another spelling: the newest spelling is the one that is shown.
    return { events: state.key === key.value ? [] : [made] };
  }
  if (!takeOver) return refused('RESERVED_BY_ANOTHER');
  return { events: [{ type: 'ReservationReleased', at: now, holder: state.holder }, made] };
}

export const sameHolder = (a: Holder, b: Holder): boolean => a.account === b.account && a.person === b.person;
