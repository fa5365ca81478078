import type { Decision } from '../domain/decision.js';
import type { Need } from '../domain/need.js';
import type { Refusal } from '../domain/refusal.js';
import type { CommandMeta, Envelope } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import type { Folded } from './stream-cache.js';

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
      /** An earlier attempt of the same command recorded the events. */
      readonly replayed: boolean;
    }
  | {
      readonly kind: 'refused';
      readonly refused: Refusal;
      readonly details: readonly string[];
      /** Of the stream that was decided on. */
      readonly position?: Position | null;
    }
  | { readonly kind: 'held'; readonly heldBy: string }
  | { readonly kind: 'in-need'; readonly needs: readonly Need[] };

/** May be called several times, each time with a newer state. */
export type Decide<S, E> = (state: S) => Decision<E> | Promise<Decision<E>>;

/** @param before what was decided on. */
export function outcomeWithoutEvents<S, E>(
  decision: Decision<E>,
  { state, position }: Folded<S>,
): Outcome<S, E> {
  if ('refused' in decision) {
    const { refused, details = [] } = decision;
    return { kind: 'refused', refused, details, position };
  }
  if ('heldBy' in decision) return { kind: 'held', heldBy: decision.heldBy };
  if ('needs' in decision) return { kind: 'in-need', needs: decision.needs };
  return { kind: 'accepted', events: [], eventIds: [], state, position, replayed: false };
}

export const envelopeOf = ({ scope, ...meta }: CommandMeta): Envelope => ({
  ...meta,
  tenant: scope.tenant,
  mode: scope.mode,
});
