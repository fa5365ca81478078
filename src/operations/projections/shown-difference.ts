import { isLedgerMode, modeOf } from '../../domain/scope.js';
import type { RowDifference } from '../../projecting/generations/generation-diff.js';
import type { Projector, Row } from '../../projecting/projector.js';

/** Replaces a personal value: that a row is wrong can be seen without it. */
export const HIDDEN = '(hidden)';

/**
 * Columns of text or JSON without any client's text: hashes, our own ids, states, kinds and counts.
 * The values of all other such columns are hidden; numbers, times and booleans are shown.
 */
const SHOWN: ReadonlySet<string> = new Set([
  'tenant',
  'mode',
  'account_ref',
  'referred_account_ref',
  'referrer_account_ref',
  'person',
  'referrer_person',
  'referred_person',
  'referred_by_person',
  'reward_id',
  'referral_id',
  'redemption_id',
  'program_id',
  'type',
  'unit',
  'unit_key',
  'source',
  'bucket',
  'phase',
  'side',
  'currency',
  'referred_status',
  'referrer_status',
  'counted_by',
  'referrals',
]);

/** A row in which two generations differ, as operators see it: without what identifies people. */
export function shownDifference(
  { tables }: Pick<Projector, 'tables'>,
  { table: name, ...rows }: RowDifference,
) {
  const [live, built] = [withMode(rows.live), withMode(rows.built)];
  const table = tables.find((candidate) => candidate.name === name);
  const columns = table?.columns ?? {};
  const known: Row = live ?? built ?? {};
  const shown = (column: string, value: unknown): unknown =>
    value === null || value === undefined || isShown(column, columns[column])
      ? (value ?? null)
      : HIDDEN;
  const differing = Object.keys(columns).filter(
    (column) => JSON.stringify(live?.[column]) !== JSON.stringify(built?.[column]),
  );
  return {
    table: name,
    tenant: textIn(known, 'tenant'),
    mode: textIn(known, 'mode'),
    /** The keyed hash of the account, where the row has one. */
    account: textIn(known, 'account_ref') ?? textIn(known, 'referred_account_ref'),
    key: Object.fromEntries(
      (table?.primaryKey ?? []).map((column) => [column, shown(column, known[column])]),
    ),
    /** `missing`: in the live one only; `new`: in the new one only. */
    kind: live === undefined ? 'new' : built === undefined ? 'missing' : 'changed',
    /** Those that differ, with both values; all of a row that one side lacks, null on that side. */
    columns: differing.map((column) => ({
      column,
      live: shown(column, live?.[column]),
      new: shown(column, built?.[column]),
    })),
  };
}

const withMode = (row: Row | undefined): Row | undefined =>
  isLedgerMode(row?.['mode']) ? { ...row, mode: modeOf(row['mode']) } : row;

const isShown = (column: string, type = ''): boolean =>
  SHOWN.has(column) || /^(bigint|integer|boolean)\b/i.test(type);

function textIn(row: Row, column: string): string | null {
  const value = row[column];
  return typeof value === 'string' ? value : null;
}
