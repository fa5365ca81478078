import type { AccountEvent } from '../../../domain/account/account.events.js';
import type { ReadModelTable } from '../../../projecting/projector.js';

/** A row that follows from the ledger. */
export interface ExpectedRow {
  readonly table: ReadModelTable;
  /** In the order of the primary key. */
  readonly key: readonly string[];
  /** Column → value; undefined or absent: the ledger cannot tell. */
  readonly values: Readonly<Record<string, unknown>>;
  /**
   * The person's key is destroyed and the read model may not have applied the erasure: the row may
   * exist or not.
   */
  readonly mayBeMissing?: boolean;
  /** Selects the events that the row is made of. */
  readonly isAbout: (event: AccountEvent) => boolean;
}

export const isAboutReward =
  (rewardId: string) =>
  (event: AccountEvent): boolean =>
    ('rewardId' in event && event.rewardId === rewardId) ||
    ('lines' in event && event.lines.some(([id]) => id === rewardId));

export const isAboutPerson =
  (person: string) =>
  (event: AccountEvent): boolean =>
    ('person' in event && event.person === person) ||
    ('persons' in event && event.persons.includes(person));

export const isAboutReferral =
  (referralId: string) =>
  (event: AccountEvent): boolean =>
    ('referralId' in event && event.referralId === referralId) ||
    ('persons' in event && event.persons.length > 0);

/** Null marks a value that can no longer be decrypted: it cannot be compared. */
export const unlessForgotten = <T>(value: T | null | undefined): T | undefined =>
  value ?? undefined;
