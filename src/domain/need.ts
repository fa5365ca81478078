import type { Announced } from './account/account-shapes.js';
import type { Party } from './account/account.events.js';
import type { SubjectId } from './personal.js';
import type { PromisedTank } from './program.js';

/**
 * What a decision turns out to need from another stream. It is got, and then the command is decided again with it: a decider cannot
 * go and look, and only the decision knows what it comes to.
 */
export type Need = NeededTankCode | NeededAnnouncement | NeededReservation;

/** A code of a pool for the reward that is about to be granted. */
export interface NeededTankCode {
  readonly kind: 'tank-code';
  readonly rewardId: string;
  readonly programId: string;
  readonly programVersion: number;
  readonly rule: string;
  readonly value: PromisedTank;
  /** As for a reservation. */
  readonly lapses: number;
}

/** The referrer's account must know of the referral that is about to start, and say which ones it made lately. */
export interface NeededAnnouncement {
  readonly kind: 'announcement';
  readonly referralId: string;
  readonly referrer: Party;
}

/** A code or a payment provider id must be reserved for the account before it records it. */
export interface NeededReservation {
  readonly kind: 'reservation';
  readonly what:
    | { readonly kind: 'code'; readonly code: string; readonly person: SubjectId; readonly programId: string }
    /** A free one after the name. */
    | { readonly kind: 'generated-code'; readonly name: string; readonly person: SubjectId; readonly programId: string }
    | { readonly kind: 'payment-provider-id'; readonly id: string; readonly subject: SubjectId };
  /** How often reservations of the account have lapsed: one that was made before the newest lapse is not to be relied on. */
  readonly lapses: number;
}

/** What was got so far, by reward and by referral. */
export interface Provided {
  readonly tankCodes: Readonly<Record<string, ProvidedTankCode>>;
  /** What the referrer has announced, oldest first, the referral itself included. */
  readonly announced: Readonly<Record<string, Announced>>;
}

export interface ProvidedTankCode {
  /** Null: the pool is empty. */
  readonly code: string | null;
  /** The account's lapses when it was asked for. */
  readonly lapses: number;
}

export const NOTHING_PROVIDED: Provided = { tankCodes: {}, announced: {} };

/** The command cannot be decided before this was got. */
export interface InNeed {
  readonly needs: readonly Need[];
}
