import type { InNeed } from './need.js';
import type { Refused } from './refusal.js';

/**
 * A process over many accounts holds something that the command needs; it is finished first, then
 * the command is decided again.
 */
export interface Held {
  readonly heldBy: string;
}

export interface Accepted<E> {
  readonly events: readonly E[];
}

/** The events of a decision that is made under a condition; without it nothing changes. */
export const only = <E>(happens: boolean, ...events: readonly E[]): Accepted<E> => ({
  events: happens ? events : [],
});

/**
 * The result of a decision: events to append (none: no change), a refusal, a wait, or its needs.
 */
export type Decision<E> = Accepted<E> | Refused | Held | InNeed;
