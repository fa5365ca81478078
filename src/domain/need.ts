import type { Announced, ImportedEntry } from './account/account-shapes.js';
import type { Party, PersonId } from './account/account.events.js';
import type { NamedNumbers } from './account/users/events-seen.js';
import type { CodeOwner, ImportedReferrer, Referrer } from './account/referral/referral-parties.js';
import type { CustomerState } from './customer/customer.state.js';
import type { SubjectId } from './personal.js';
import type { EventCondition, PromisedTank, SideStatus } from './program.js';
import type { Refusal } from './refusal.js';
import type { AccountRef } from './scope.js';

/** Fetched before the command is decided again: a decider cannot read. */
export type Need =
  | NeededTankCode
  | NeededAnnouncement
  | NeededReservation
  | NeededRelease
  | NeededImportedRow
  | NeededRewardNaming
  | Lookup;

/** Needs without an effect on streams. */
export type Lookup =
  | NeededCodeOwner
  | NeededReferrer
  | NeededSubject
  | NeededEarlierEvents
  | NeededCustomer
  | NeededImportedReferrer;

/** A code of a pool for the reward to be granted. */
export interface NeededTankCode {
  readonly kind: 'tank-code';
  readonly rewardId: string;
  readonly programId: string;
  readonly programVersion: number;
  readonly rule: string;
  readonly value: PromisedTank;
  /** As for a reservation. */
  readonly lapses: number;
  /** The code of an imported reward. Absent: any of the rule's pool. */
  readonly given?: string;
}

/** The referrer's account records the referral before its start, and provides recent ones. */
export interface NeededAnnouncement {
  readonly kind: 'announcement';
  readonly referralId: string;
  readonly referrer: Party;
}

/** A code or payment provider id must be reserved before the account records it. */
export interface NeededReservation {
  readonly kind: 'reservation';
  readonly what:
    | {
        readonly kind: 'code';
        readonly code: string;
        readonly person: SubjectId;
        readonly programId: string;
      }
    /** A free one made from the name. */
    | {
        readonly kind: 'generated-code';
        readonly name: string;
        readonly person: SubjectId;
        readonly programId: string;
      }
    | { readonly kind: 'payment-provider-id'; readonly id: string; readonly subject: SubjectId };
  /** How many lapses the account has recorded. A reservation made at a lower count is void. */
  readonly lapses: number;
}

/** The customer's stream must record the end of this account before the deletion. */
export interface NeededRelease {
  readonly kind: 'customer-release';
  /** The provider's id. */
  readonly customer: string;
  readonly account: SubjectId;
}

/** A row with an id must be placed in this account before the account records it. */
export interface NeededImportedRow {
  readonly kind: 'imported-row';
  readonly ref: string;
  /** As for a reservation. */
  readonly lapses: number;
}

/**
 * The row of a reward must record which side of an imported referral names it, before the account
 * records the referral.
 */
export interface NeededRewardNaming {
  readonly kind: 'reward-naming';
  /** Of the reward's row. */
  readonly ref: string;
  readonly referralId: string;
  readonly side: 'referred' | 'referrer';
}

/** The referrer that a row names. */
export interface NeededImportedReferrer {
  readonly kind: 'imported-referrer';
  readonly account: AccountRef;
  readonly userId: string;
}

/** The owner of the first of these codes that has one. */
export interface NeededCodeOwner {
  readonly kind: 'code-owner';
  readonly codes: readonly string[];
}

/** The referrer of an existing referral or attribution. */
export interface NeededReferrer {
  readonly kind: 'referrer';
  readonly party: Party;
}

/** A name for a new person or account. */
export interface NeededSubject {
  readonly kind: 'subject';
  /** Equal for commands that create the same person or account. */
  readonly cause: string;
  /** The name is derived from `cause` and a number; numbers below this one are taken. */
  readonly from: number;
}

/** The numbers that these conditions name, of all recorded events of a person. */
export interface NeededEarlierEvents {
  readonly kind: 'earlier-events';
  readonly person: PersonId;
  readonly conditions: readonly EventCondition[];
}

/** The recorded facts of a payment provider's customer. */
export interface NeededCustomer {
  readonly kind: 'customer';
  /** The provider's id. */
  readonly id: string;
}

export interface Provided {
  /** By reward. */
  readonly tankCodes: Readonly<Record<string, ProvidedTankCode>>;
  /** By referral. */
  readonly announced: Readonly<Record<string, ProvidedAnnouncement>>;
  /** By `reservationKey`. */
  readonly reservations: Readonly<Record<string, Reservation>>;
  /** By `codesKey`. */
  readonly codeOwners: Readonly<Record<string, ProvidedCodeOwner>>;
  /** By person; null: forgotten. */
  readonly referrers: Readonly<Record<PersonId, Referrer | null>>;
  /** By cause. */
  readonly subjects: Readonly<Record<string, ProvidedSubject>>;
  readonly earlierEvents: Readonly<Record<PersonId, NamedNumbers>>;
  /** By the provider's id. */
  readonly customers: Readonly<Record<string, CustomerState>>;
  /** By the row's digest. */
  readonly importedRows: Readonly<Record<string, PlacedRow>>;
  /** By the digest of the reward's row; null: not imported. */
  readonly namedRewards: Readonly<Record<string, PlacedReward | null>>;
  /** By `codesKey` of account and user id; null: no such user. */
  readonly importedReferrers: Readonly<Record<string, ImportedReferrer | null>>;
}

/** The account of a row with an id. */
export interface PlacedRow {
  readonly account: AccountRef;
  /** As another account recorded it; null: no other account has. */
  readonly entry: ImportedEntry | null;
  /** Of a reward: the referral sides that name it. */
  readonly sides: readonly RecordedSide[];
  /** The account's lapses at the time of the need. */
  readonly lapses: number;
}

export interface PlacedReward extends Pick<PlacedRow, 'account'>, Pick<ImportedEntry, 'persons'> {
  /** Null: the reward belongs to no referral yet. */
  readonly referralId: string | null;
}

export interface RecordedSide {
  readonly referralId: string;
  readonly side: 'referred' | 'referrer';
  readonly status: SideStatus;
  readonly account: AccountRef;
  readonly person: PersonId;
}

/** The referrer's account right after the announcement. */
export interface ProvidedAnnouncement {
  /** Oldest first, this referral included. */
  readonly announced: Announced;
  /** The account's own referrer; null: not referred. */
  readonly referredBy: Party | null;
}

export interface ProvidedTankCode {
  /** Null: the pool is empty. */
  readonly code: string | null;
  /** The account's lapses at the time of the need. */
  readonly lapses: number;
}

/** The reserved code (null for a payment provider id), or the refusal. */
export type Reservation = { readonly code: string | null } | { readonly refused: Refusal };

/** Nulls: none of the codes has an owner. */
export interface ProvidedCodeOwner {
  readonly owner: CodeOwner | null;
  readonly referrer: Referrer | null;
}

export interface ProvidedSubject {
  /** Its number in the order of the cause. */
  readonly from: number;
  readonly subject: SubjectId;
}

export const NOTHING_PROVIDED: Provided = {
  tankCodes: {},
  announced: {},
  reservations: {},
  codeOwners: {},
  referrers: {},
  subjects: {},
  earlierEvents: {},
  customers: {},
  importedRows: {},
  namedRewards: {},
  importedReferrers: {},
};

/** The command can be decided once these are fetched. */
export interface InNeed {
  readonly needs: readonly Need[];
}

export const codesKey = (codes: readonly string[]): string => JSON.stringify(codes);

/** Omits the name that a generated code is made from: a changed name needs no other code. */
export function reservationKey({ what, lapses }: NeededReservation): string {
  switch (what.kind) {
    case 'code':
      return JSON.stringify([what.kind, lapses, what.person, what.programId, what.code]);
    case 'generated-code':
      return JSON.stringify([what.kind, lapses, what.person, what.programId]);
    case 'payment-provider-id':
      return JSON.stringify([what.kind, lapses, what.subject, what.id]);
  }
}

const LOOKUPS: ReadonlySet<Need['kind']> = new Set<Lookup['kind']>([
  'code-owner',
  'referrer',
  'subject',
  'earlier-events',
  'customer',
  'imported-referrer',
]);

export const isLookup = (need: Need): need is Lookup => LOOKUPS.has(need.kind);
