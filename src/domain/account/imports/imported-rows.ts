import type { Map } from 'immutable';
import { ownMember } from '../../own-member.js';
import { refused, type Refused } from '../../refusal.js';
import type { Accepted } from '../../decision.js';
import type { AccountState, ImportedEntry } from '../account-shapes.js';
import type {
  AccountEvent,
  ImportSource,
  RewardImportSource,
  PersonId,
  RowValues,
} from '../account.events.js';
import { isoTime } from '../refusal-details.js';

/** A repeated row is compared and changes nothing. */

type Imported = Map<string, ImportedEntry>;

export function evolveImported(state: AccountState, event: AccountEvent): AccountState {
  const entry = entryOf(event);
  if (entry === undefined) return state;
  const imported = state.remains.imported.set(...entry);
  return { ...state, remains: { ...state.remains, imported } };
}

function entryOf(event: AccountEvent): readonly [ref: string, entry: ImportedEntry] | undefined {
  if (event.type === 'UserIdentified' && event.imported) {
    const { imported, person } = event;
    return entry(imported, [person], { row: imported.row.value });
  }
  if (event.type === 'ReferralStarted' && event.imported) {
    const { imported, referred, referrer, referralId: ledgerId } = event;
    const { row, referrerRow } = imported;
    const ofReferrer = referrerRow === null ? {} : referrerRow.value;
    const whole = row.value && ofReferrer && { ...row.value, ...ofReferrer };
    return entry(imported, [referred.person, referrer.person], { row: whole, ledgerId });
  }
  if (event.type !== 'RewardGranted' || !event.imported) return undefined;
  const { imported, person, value, rewardId: ledgerId } = event;
  const credit = value.type === 'CREDIT' ? creditOf(value, imported) : null;
  return entry(imported, [person], { row: imported.row.value, ledgerId, credit });
}

const entry = (
  { ref, at }: ImportSource,
  persons: readonly PersonId[],
  { row, ledgerId = null, credit = null }: Partial<ImportedEntry> & Pick<ImportedEntry, 'row'>,
): readonly [string, ImportedEntry] => [ref, { persons, row, at, ledgerId, credit }];

const creditOf = (
  { unit, assignedCredit: assigned }: { readonly unit: string; readonly assignedCredit: number },
  {
    redeemed,
    phase,
    dateCancelled,
  }: Pick<RewardImportSource, 'redeemed' | 'phase' | 'dateCancelled'>,
): NonNullable<ImportedEntry['credit']> => ({
  unit,
  assigned,
  redeemed,
  available: phase === 'AVAILABLE' && dateCancelled === null ? assigned - redeemed : 0,
});

/** Keeps the identity of the rows of these people, and drops their values. */
export function forgetImported(imported: Imported, persons: readonly PersonId[]): Imported {
  if (imported.isEmpty()) return imported;
  const isAbout = (one: ImportedEntry): boolean => one.persons.some((who) => persons.includes(who));
  return imported.map((one) => (isAbout(one) ? { ...one, row: null } : one));
}

export interface ImportedRow {
  /** Keyed digest of its identity. */
  readonly ref: string;
  readonly row: RowValues;
}

/** The cause of its referral's or reward's id. */
export const importedIdOf = (ref: string): string => `import/${ref}`;

/** The answer to an imported row, regardless of current rules. Undefined: a new row. */
export function answerToRepeated(
  earlier: ImportedEntry | undefined,
  { row }: Pick<ImportedRow, 'row'>,
): Accepted<AccountEvent> | Refused | undefined {
  if (earlier === undefined) return undefined;
  const differences = earlier.row === null ? [] : differencesOf(earlier.row, row);
  return differences.length === 0 ? { events: [] } : refused('ROW_DIFFERS', differences.join(', '));
}

function differencesOf(before: RowValues, now: RowValues): readonly string[] {
  const columns = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  return columns.flatMap((column) => {
    const [was, is] = [ownMember(before, column), ownMember(now, column)];
    return comparable(column, was) === comparable(column, is)
      ? []
      : [`${column}: "${shown(column, was)}", now "${shown(column, is)}"`];
  });
}

type Value = RowValues[string] | undefined;

/** Codes and units are compared without case, segments without order. */
function comparable(column: string, value: Value): string {
  const isCaseless =
    column === 'unit' || column === 'referralCode' || column === 'referralCodeUsed';
  if (typeof value === 'string' && isCaseless) return JSON.stringify(value.toLowerCase());
  return JSON.stringify(Array.isArray(value) ? [...new Set<unknown>(value)].sort() : value) ?? '';
}

function shown(column: string, value: Value): string {
  if (value === undefined) return '';
  if (typeof value === 'number' && column.startsWith('date')) return isoTime(value);
  return Array.isArray(value) ? value.join(' ') : String(value);
}

/** Dates that may be in the future. */
const LATER = ['dateScheduledFor', 'dateExpires'];

export function refusalOfDates(row: RowValues, now: number): Refused | undefined {
  const late = Object.entries(row).find(
    ([column, value]) =>
      column.startsWith('date') &&
      !LATER.includes(column) &&
      typeof value === 'number' &&
      value > now,
  );
  return (
    late && refused('ROW_INVALID', `${late[0]} lies in the future: it is after ${isoTime(now)}`)
  );
}
