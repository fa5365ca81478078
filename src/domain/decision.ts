import type { InNeed } from './need.js';
import type { Refused } from './refusal.js';

/** The command is decided again once this moderation is complete. */
export interface Held {
  readonly heldBy: string;
}

export interface Accepted<E> {
  readonly events: readonly E[];
}

/** These events if the condition is met, otherwise none. */
export const eventsIf = <E>(happens: boolean, ...events: readonly E[]): Accepted<E> => ({
  events: happens ? events : [],
});

/** Events to append (none: no change), a refusal, a wait, or needs. */
export type Decision<E> = Accepted<E> | Refused | Held | InNeed;
