import { creditHolders, dailyCredit } from '../../projections/daily-figures/table.js';
import { users } from '../../projections/users/table.js';
import { BatchRows } from '../../src/projecting/batch-rows.js';
import { describeError } from '../../src/projecting/projecting-errors.js';
import type { ReadModelTable, Row } from '../../src/projecting/projector.js';

/** A batch that reads one stored row. */
function reading(
  table: ReadModelTable,
  row: Row,
): { rows: BatchRows; key: readonly string[]; failure: () => unknown } {
  const rows = new BatchRows([table]);
  const key = table.primaryKey.map((column) => String(row[column]));
  rows.announce({ table: table.name, key });
  rows.loaded(table.name, row);
  const failure = (): unknown => {
    const failed = rows.attempt(() => void rows.get(table.name, key));
    return failed && describeError(failed.failed);
  };
  return { rows, key, failure };
}

const HOLDER = { person: 'p', tenant: 't', mode: 'live', available: { cents: 5 } };
const DAY = {
  tenant: 't',
  mode: 'live',
  day: '2026-01-01',
  unit_key: 'cents',
  unit: 'CENTS',
  issued: '10',
  redeemed: '0',
  expired: '0',
  cancelled: '0',
  restored: '-3',
  imported: '0',
};

test.each([
  { table: creditHolders, row: HOLDER, column: 'available', damaged: 'text' },
  { table: creditHolders, row: HOLDER, column: 'available', damaged: ['text'] },
  { table: creditHolders, row: HOLDER, column: 'available', damaged: { cents: 'text' } },
  { table: dailyCredit, row: DAY, column: 'issued', damaged: 'abc' },
  { table: users, row: { person: 'p', profile: {} }, column: 'profile', damaged: 'text' },
])(
  'an event fails on a stored row with $damaged as $column, and the reason names the place alone',
  ({ table, row, column, damaged }) => {
    expect(reading(table, row).failure()).toBeUndefined();
    expect(reading(table, { ...row, [column]: damaged }).failure()).toBe(
      `DamagedRow: the stored value of ${table.name}.${column} is damaged`,
    );
  },
);

test('an erasure reads damaged rows, and an event that writes the row anew repairs it', () => {
  const { rows, key, failure } = reading(creditHolders, { ...HOLDER, available: 'text' });
  const read = (): void => void rows.get(creditHolders.name, key);
  expect(rows.attempt(read, { allowsDamage: true })).toBeUndefined();
  expect(rows.attempt(() => rows.put(creditHolders.name, HOLDER))).toBeUndefined();
  expect(failure()).toBeUndefined();
});

const thrownBy = (fails: () => unknown): unknown => {
  try {
    return fails();
  } catch (error) {
    return error;
  }
};

test('the reason of an error that quotes a value names the functions that it was thrown in, never the value', () => {
  const sum = (text: string): bigint => BigInt(text);
  const reason = describeError(thrownBy(() => sum('secret\n    at stolen (file:1:1)')));
  expect(reason).toMatch(/^SyntaxError in .*\bsum, called by \w/);
  expect(reason).not.toMatch(/secret|stolen/);
});

test('the reason of an error that quotes a value is its name alone when its stack is not its own', () => {
  const error = new SyntaxError('secret');
  error.stack = 'other\n    at stolen (file)';
  expect(describeError(error)).toBe('SyntaxError');
});
