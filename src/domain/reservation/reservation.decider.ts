import type { PersonId } from '../account/account.events.js';
import type { Personal } from '../personal.js';
import { only, type Decision } from '../decision.js';
import type { Ask, Fact } from '../fact.js';
import { refused } from '../refusal.js';
import type { AccountRef } from '../scope.js';
import type { ReservationKind } from './reservation-kind.js';

/**
 * Uniqueness across accounts: one stream per code or payment provider id; the first to append holds
 * it. A reservation is made before the account records the value; one that its account never
 * recorded may be taken over.
 *
 * Every reserving command makes its own claim, also beside claims of other commands for the same
 * holder. A command that did not record the value releases its claim alone: the reservation is free
 * once no claim is left, so a refused command cannot free a value that another command of the same
 * holder is about to record.
 */
export interface Holder {
  readonly account: AccountRef;
  /** Null when it belongs to the account as a whole. */
  readonly person: PersonId | null;
}

export type ReservationEvent =
  | Fact<
      'ReservationMade',
      {
        kind: ReservationKind;
        /** The reserved value, as sent; encrypted with its owner's key. */
        key: Personal<string>;
        holder: Holder;
        programId: string | null;
        /** The command's claim; null: a claim that no command can release. */
        claim: string | null;
      }
    >
  /** `claim`: the ended one; null: all of them. */
  | Fact<'ReservationReleased', { holder: Holder; claim: string | null }>;

export type ReservationState =
  | { readonly status: 'free' }
  | {
      readonly status: 'held';
      readonly holder: Holder;
      readonly key: string | null;
      readonly keySubject: string;
      readonly programId: string | null;
      readonly since: number;
      /**
       * Claims that are not released, at least one. A command that recorded the value keeps its
       * claim.
       */
      readonly claims: readonly (string | null)[];
    };

type Held = Extract<ReservationState, { status: 'held' }>;

/** Whether it has a holder that is not erased. Its key was encrypted for the holder. */
export const isInUse = (state: ReservationState): state is Held =>
  state.status === 'held' && state.key !== null;

export const initialState: ReservationState = { status: 'free' };

/**
 * Claims of crashed commands stay. Above this number, a release no longer frees the reservation,
 * only a take-over does.
 */
const CLAIMS_MAX = 16;

export function evolve(state: ReservationState, event: ReservationEvent): ReservationState {
  switch (event.type) {
    case 'ReservationMade':
      return {
        status: 'held',
        holder: event.holder,
        key: event.key.value,
        keySubject: event.key.subject,
        programId: event.programId,
        since: event.at,
        claims: withClaim(
          state.status === 'held' && sameHolder(state.holder, event.holder) ? state.claims : [],
          event.claim,
        ),
      };
    case 'ReservationReleased': {
      if (state.status === 'free' || event.claim === null) return { status: 'free' };
      const claims = state.claims.filter((claim) => claim !== event.claim);
      return claims.length === 0 ? { status: 'free' } : { ...state, claims };
    }
  }
}

/** With a command's claim, once. */
export function withClaim(
  claims: readonly (string | null)[],
  claim: string | null,
): readonly (string | null)[] {
  const added = claims.length < CLAIMS_MAX ? claim : null;
  return claims.includes(added) ? claims : [...claims, added];
}

export type ReservationCommand =
  | Ask<
      'Reserve',
      {
        kind: ReservationKind;
        key: Personal<string>;
        holder: Holder;
        programId: string | null;
        /** Names the command's claim; unique. */
        claim: string;
        /**
         * True when the holder never recorded the value, and can no longer do so with the existing
         * claims.
         */
        takeOver: boolean;
      }
    >
  | Ask<'Release', { claim: string }>;

export function decide(
  state: ReservationState,
  command: ReservationCommand,
): Decision<ReservationEvent> {
  const { claim, now: at } = command;
  if (command.type === 'Release') {
    if (state.status === 'free' || !state.claims.includes(claim)) return { events: [] };
    return { events: [{ type: 'ReservationReleased', at, holder: state.holder, claim }] };
  }
  const { kind, key, holder, programId, takeOver } = command;
  const made = { type: 'ReservationMade', at, kind, key, holder, programId, claim } as const;
  if (state.status === 'free') return { events: [made] };
  // Also the holder's own reservation: its existing claims belong to ended commands, and the new
  // one may be for another program.
  if (takeOver)
    return {
      events: [{ type: 'ReservationReleased', at, holder: state.holder, claim: null }, made],
    };
  if (!sameHolder(state.holder, holder)) return refused('RESERVED_BY_ANOTHER');
  if (state.programId !== programId) return refused('CODE_PROGRAM_CONFLICT');
  return only(!state.claims.includes(claim) || state.key !== key.value, made);
}

export const sameHolder = (a: Holder, b: Holder): boolean =>
  a.account === b.account && a.person === b.person;
