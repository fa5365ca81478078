import type { Decision } from '../domain/decision.js';
import type { Need } from '../domain/need.js';
import type { Refusal } from '../domain/refusal.js';
import type { Position } from '../event-log/event-log.js';

/** What became of a command. */
export type Outcome<S, E> =
  | {
      readonly kind: 'accepted';
      /** Empty when the effect was already there. */
      readonly events: readonly E[];
      /** In the order of `events`. */
      readonly eventIds: readonly string[];
      /** Right after `events`. */
      readonly state: S;
      readonly position: Position | null;
      /** The events were recorded by an earlier attempt of the same command. */
      readonly replayed: boolean;
    }
  | {
      readonly kind: 'refused';
      readonly refused: Refusal;
      readonly details: readonly string[];
      readonly position: Position | null;
    }
  | { readonly kind: 'held'; readonly heldBy: string }
  | { readonly kind: 'in-need'; readonly needs: readonly Need[] };

/** @param mayLookUp false: a decision that needs lookups returns them as its needs. */
export type Decide<S, E> = (state: S, mayLookUp: boolean) => Decision<E> | Promise<Decision<E>>;
