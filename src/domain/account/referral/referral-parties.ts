import type { Party } from '../account.events.js';
import type { ComparedProfile } from './fraud-signals.js';

/** The code is in the owner's spelling. */
export interface CodeOwner {
  readonly code: string;
  readonly programId: string;
  readonly party: Party;
  /** The referrer of the owner's account; null: not referred. */
  readonly referredBy: Party | null;
  /** Referrals of the owner's account before its deletion. */
  readonly formerReferrals: readonly string[];
}

export interface ImportedReferrer extends Pick<
  CodeOwner,
  'party' | 'referredBy' | 'formerReferrals'
> {
  /** By program. */
  readonly primaryCodes: Readonly<Record<string, string>>;
}

export interface Referrer {
  readonly blocked: boolean;
  readonly likeness: ComparedProfile;
}
