import type { Announced, ImportedEntry } from './account/account-shapes.js';
import type { Party, PersonId } from './account/account.events.js';
import type { NamedNumbers } from './account/users/events-seen.js';
import type { CodeOwner, ImportedReferrer, Referrer } from './account/referral/referral-parties.js';
import type { CustomerState } from './customer/customer.state.js';
import type { SubjectId } from './personal.js';
import type { EventCondition, PromisedTank, SideStatus } from './program.js';
import type { Refusal } from './refusal.js';
import type { AccountRef } from './scope.js';

/**
 * Facts of other streams that a decision turns out to need. They are fetched, and the command is
 * decided again: a decider cannot read, and only the decision knows what it needs.
 */
export type Need =
  | NeededTankCode
  | NeededAnnouncement
  | NeededReservation
  | NeededRelease
  | NeededImportedRow
  | NeededRewardNaming
  | Lookup;

/** Needs that are only read: fetching them changes nothing. */
export type Lookup =
  | NeededCodeOwner
  | NeededReferrer
  | NeededSubject
  | NeededEarlierEvents
  | NeededCustomer
  | NeededImportedReferrer;

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
  /** Of an import: this code. Absent: one of the rule's pool. */
  readonly given?: string;
}

/**
 * The referrer's account must record the referral that is about to start, and returns its recent
 * ones.
 */
export interface NeededAnnouncement {
  readonly kind: 'announcement';
  readonly referralId: string;
  readonly referrer: Party;
}

/** A code or a payment provider id must be reserved before the account records it. */
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
  /**
   * How often reservations of the account have lapsed: one made before the newest lapse is not
   * valid.
   */
  readonly lapses: number;
}

/**
 * The customer's stream must record that what it holds was this account's, before the account is
 * deleted. Provides nothing: the customer is looked up again.
 */
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

/** It must be known which side of which referral a reward of another row belongs to. */
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

/** The owner of the first of these codes, in order, that has one. */
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
  /** The same for all commands that create the same person or account. */
  readonly cause: string;
  /** Names before this one, in the order of the cause, are used. */
  readonly from: number;
}

/** The numbers that these conditions name, of all recorded events of a person of this account. */
export interface NeededEarlierEvents {
  readonly kind: 'earlier-events';
  readonly person: PersonId;
  readonly conditions: readonly EventCondition[];
}

/** What the payment provider told about a customer. */
export interface NeededCustomer {
  readonly kind: 'customer';
  /** The provider's id. */
  readonly id: string;
}

/** The needs that were fetched. */
export interface Provided {
  /** By reward. */
  readonly tankCodes: Readonly<Record<string, ProvidedTankCode>>;
  /** By referral. */
  readonly announced: Readonly<Record<string, ProvidedAnnouncement>>;
  /** By `reservationKey`. */
  readonly reservations: Readonly<Record<string, Reservation>>;
  /** By `codesKey`. */
  readonly codeOwners: Readonly<Record<string, ProvidedCodeOwner>>;
  /** By person; null: the person is gone. */
  readonly referrers: Readonly<Record<PersonId, Referrer | null>>;
  /** By cause. */
  readonly subjects: Readonly<Record<string, ProvidedSubject>>;
  /** By person. */
  readonly earlierEvents: Readonly<Record<PersonId, NamedNumbers>>;
  /** By the provider's id. */
  readonly customers: Readonly<Record<string, CustomerState>>;
  /** By the row's digest. */
  readonly importedRows: Readonly<Record<string, PlacedRow>>;
  /** By the digest of the reward's row; null: it has not been imported. */
  readonly namedRewards: Readonly<Record<string, PlacedReward | null>>;
  /** By `codesKey` of account and user id; null: no such user. */
  readonly importedReferrers: Readonly<Record<string, ImportedReferrer | null>>;
}

/** The account of a row with an id. */
export interface PlacedRow {
  readonly account: AccountRef;
  /** As another account recorded it; null: no other account has. */
  readonly entry: ImportedEntry | null;
  /** Of a reward: the sides that recorded referrals name it for. */
  readonly sides: readonly RecordedSide[];
  /** The account's lapses at the time of the need. */
  readonly lapses: number;
}

export interface PlacedReward extends Pick<PlacedRow, 'account'>, Pick<ImportedEntry, 'persons'> {
  /** Null: it is that of no referral yet. */
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
  /** Its announcements, oldest first, this referral included. */
  readonly announced: Announced;
  /** Its own referrer; null: it is not referred. */
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

/** The command cannot be decided before these are fetched. */
export interface InNeed {
  readonly needs: readonly Need[];
}

export const codesKey = (codes: readonly string[]): string => JSON.stringify(codes);

/**
 * Without the name that a generated code is made from: a changed name does not need another code.
 */
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
