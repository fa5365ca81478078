import type { Party } from '../account.events.js';
import type { Likeness } from './fraud-signals.js';

/** A code's owner; the code is in the owner's spelling. */
export interface CodeOwner {
  readonly code: string;
  readonly programId: string;
  readonly party: Party;
  /** The referrer of the owner's account; null: it is not referred. */
  readonly referredBy: Party | null;
  /** The referrals of the owner's account before it was deleted. */
  readonly formerReferrals: readonly string[];
}

/** The referrer of an imported referral. */
export interface ImportedReferrer extends Pick<
  CodeOwner,
  'party' | 'referredBy' | 'formerReferrals'
> {
  /** By program. */
  readonly primaryCodes: Readonly<Record<string, string>>;
}

/** The referrer's newest state. */
export interface Referrer {
  readonly blocked: boolean;
  readonly likeness: Likeness;
}
