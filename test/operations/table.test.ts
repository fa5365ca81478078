import { CELL_CHARACTERS_MAX, CELL_LINES_MAX, firstOf, tableLines } from '../../src/cli/table.js';

const textOf = (...table: Parameters<typeof tableLines>): string =>
  [...tableLines(...table)].join('');

test("a table's columns are as wide as their widest cell, in columns of a terminal", () => {
  expect(
    textOf(
      ['unit', 'n'],
      [
        ['CENTS', '1'],
        ['金貨', '-20'],
        ['é', ''],
      ],
    ),
  ).toBe(
    [
      '┌───────┬─────┐',
      '│ unit  │ n   │',
      '├───────┼─────┤',
      '│ CENTS │ 1   │',
      '├───────┼─────┤',
      '│ 金貨  │ -20 │',
      '├───────┼─────┤',
      '│ é     │     │',
      '└───────┴─────┘',
      '',
    ].join('\n'),
  );
});

test('a cell with many events names the first and counts the others', () => {
  const ids = Array.from({ length: 359 }, (_, index) => `event-${index}`);
  expect(firstOf(ids)).toBe('event-0\nevent-1\nevent-2\nevent-3\nevent-4\nand 354 more');
  expect(firstOf(ids.slice(0, 5))).toBe('event-0\nevent-1\nevent-2\nevent-3\nevent-4');
});

test('a cell is limited in lines and characters', () => {
  const longest = textOf(['a'], [['x'.repeat(100_000)]]).split('\n');
  expect(Math.max(...longest.map((line) => line.length))).toBe(
    CELL_CHARACTERS_MAX + '│ … │'.length,
  );
  expect(textOf(['a'], [['x\n'.repeat(200)]]).split('\n')).toHaveLength(CELL_LINES_MAX + 5);
});

test('text of clients does not control a terminal', () => {
  expect(textOf(['a'], [['\u001b[2Jgone\r\u009b1m']])).toContain('│ \ufffd[2Jgone\ufffd\ufffd1m │');
});

test('the work grows with the rows, not with their square: each line is made once', () => {
  const rows = Array.from({ length: 100_000 }, (_, row) => ['redeemed', String(row)]);
  let lines = 0;
  for (const _ of tableLines(['type', 'n'], rows)) lines += 1;
  expect(lines).toBe(2 * (rows.length + 1) + 1);
});
