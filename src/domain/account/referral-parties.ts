import type { Party } from './account.events.js';
import type { Likeness } from './fraud-signals.js';

/** A code that resolved: whose it is, in the owner's spelling. */
export interface CodeOwner {
  readonly code: string;
  readonly programId: string;
  readonly party: Party;
}

/** The referrer as of now. */
export interface Referrer {
  readonly blocked: boolean;
  readonly likeness: Likeness;
}
