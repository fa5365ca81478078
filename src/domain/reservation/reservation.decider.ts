import type { PersonId } from '../account/account.events.js';
import type { Personal } from '../personal.js';
import { eventsIf, type Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';
import { refused } from '../refusal.js';
import type { AccountRef } from '../scope.js';
import type { ReservationKind } from './reservation-kind.js';

/**
 * Uniqueness across accounts, with one stream per code or payment provider id: the first append
 * reserves it. The value is reserved first and recorded in the account second. If the second step
 * never happens, another holder may take the reservation over.
 * Each command makes its own claim, in addition to those of other commands of the same holder, and
 * releases only that one. The reservation is free without claims: a refused command cannot free a
 * value that another command of the holder is about to record.
 */
export interface Holder {
  readonly account: AccountRef;
  /** Null: it belongs to the account as a whole. */
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
        /** The command's claim; null: no command can release it. */
        claim: string | null;
      }
    >
  /** `claim`: the ended one; null: all. */
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
      /** Unreleased claims, at least one. A command that recorded the value keeps its claim. */
      readonly claims: readonly (string | null)[];
    };

type Held = Extract<ReservationState, { status: 'held' }>;

/**
 * The reservation is held by a person or account that is not erased: an erasure makes the reserved
 * value null.
 */
export const isInUse = (state: ReservationState): state is Held =>
  state.status === 'held' && state.key !== null;

export const initialState: ReservationState = { status: 'free' };

/** Claims of crashed commands stay. Above this number only a take-over frees the reservation. */
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
  | Command<
      'Reserve',
      {
        kind: ReservationKind;
        key: Personal<string>;
        holder: Holder;
        programId: string | null;
        /** Unique id of the command's claim. */
        claim: string;
        /** The holder never recorded the value, and its existing claims no longer can. */
        takeOver: boolean;
      }
    >
  | Command<'Release', { claim: string }>;

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
  // Also taken over from the same holder: the old claims are of ended commands, and the program may
  // differ.
  if (takeOver)
    return {
      events: [{ type: 'ReservationReleased', at, holder: state.holder, claim: null }, made],
    };
  if (!sameHolder(state.holder, holder)) return refused('RESERVED_BY_ANOTHER');
  if (state.programId !== programId) return refused('CODE_PROGRAM_CONFLICT');
  return eventsIf(!state.claims.includes(claim) || state.key !== key.value, made);
}

export const sameHolder = (a: Holder, b: Holder): boolean =>
  a.account === b.account && a.person === b.person;
