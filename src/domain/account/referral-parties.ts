import type { Party } from './account.events.js';
import type { Likeness } from './fraud-signals.js';

/** A code's owner; the code is in the owner's spelling. */
export interface CodeOwner {
  readonly code: string;
  readonly programId: string;
  readonly party: Party;
}

/** The referrer's newest state. */
export interface Referrer {
  readonly blocked: boolean;
  readonly likeness: Likeness;
}
