import type { InNeed } from './need.js';
import type { Refused } from './refusal.js';

/**
 * Another process holds what the command needs; it is finished first, then the command is decided
 * again.
 */
export interface Held {
  readonly heldBy: string;
}

export interface Accepted<E> {
  readonly events: readonly E[];
}

/**
 * What a decision comes to: facts to append (none: nothing left to do), the reason why not, what it
 * must wait for, or what it needs first.
 */
export type Decision<E> = Accepted<E> | Refused | Held | InNeed;
