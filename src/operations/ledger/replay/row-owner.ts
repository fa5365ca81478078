import type { AccountRef } from '../../../domain/scope.js';
import { accountOfId } from '../../../privacy/keyed-names.js';
import type { ReadModelTable, Row } from '../../../projecting/projector.js';

/** The column by which a row says whose it is. */
export interface RowOwner {
  readonly column: string;
  /** An id that begins with its account's hash. */
  readonly isWithin?: boolean;
  readonly isPerson?: boolean;
}

const OWNERS: readonly RowOwner[] = [
  { column: 'account_ref' },
  { column: 'referred_account_ref' },
  { column: 'reward_id', isWithin: true },
  { column: 'person', isPerson: true },
];

/** Undefined: its rows are of several accounts, or of none. */
export const ownerOf = ({ columns }: ReadModelTable): RowOwner | undefined =>
  OWNERS.find(({ column }) => Object.hasOwn(columns, column));

/** The account that a row is of; undefined: unknown. */
export function accountOf(
  row: Row,
  { column, isWithin, isPerson }: RowOwner,
  accountsOfPersons: ReadonlyMap<string, AccountRef>,
): AccountRef | undefined {
  const name = row[column];
  if (typeof name !== 'string') return undefined;
  if (isWithin) return accountOfId(name);
  return isPerson ? accountsOfPersons.get(name) : name;
}
