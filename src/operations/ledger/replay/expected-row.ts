import type { AccountEvent } from '../../../domain/account/account.events.js';
import type { ReadModelTable } from '../../../projecting/projector.js';

/** A row that follows from the ledger. */
export interface ExpectedRow {
  readonly table: ReadModelTable;
  /** In the order of the primary key. */
  readonly key: readonly string[];
  /** Column → value; undefined, or left out: nothing can be said of it. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Whose key is destroyed before the read model has heard of it: the row may be there or not. */
  readonly mayBeMissing?: boolean;
  /** Which events the row is made of. */
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

/** Null stands for a value that nobody can read any more: nothing can be said of it. */
export const unlessForgotten = <T>(value: T | null | undefined): T | undefined =>
  value ?? undefined;
