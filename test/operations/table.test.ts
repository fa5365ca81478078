import { CELL_CHARACTERS_MAX, CELL_LINES_MAX, tableLines, tabLines } from '../../src/cli/table.js';
import { firstOf } from '../../src/operations/ledger/ledger-tables.js';

const textOf = (...table: Parameters<typeof tableLines>): string =>
  [...tableLines(...table)].join('');

test("a table's columns are as wide as their widest cell, and amounts end in one place", () => {
  expect(
    textOf(
      ['unit', { amount: 'n' }, 'who'],
      [
        ['CENTS', '1234567', 'a\nb'],
        ['金貨', '-20', ''],
        ['é', 'none'],
      ],
    ),
  ).toBe(
    [
      'unit           n  who',
      '─────  ─────────  ───',
      'CENTS  1,234,567  a',
      '                  b',
      '金貨         -20',
      'é           none',
      '',
    ].join('\n'),
  );
});

const ID = '0b9f1c52-7a51-4f0e-9d3a-6d1f8f8a0c11';
const TIME = '2026-03-01T10:20:30.123Z';
const text = 'a text of which not all is shown, as it is long';
const shown = (width: number | undefined, ...rows: (readonly string[])[]): readonly string[] => {
  const lines = textOf(['event', 'at', 'why', { amount: 'amount' }], rows, width).split('\n');
  return lines.slice(2, -1);
};

test('on a narrow terminal times and ids are shortened first, then texts; amounts never', () => {
  expect(shown(undefined, [ID, TIME, text, '1000'])).toEqual([`${ID}  ${TIME}  ${text}   1,000`]);
  expect(shown(100, [ID, TIME, text, '1000'])).toEqual([
    `0b9f1c52…  2026-03-01 10:20:30Z  ${text}   1,000`,
  ]);
  const [narrow = ''] = shown(60, [ID, TIME, text, '1000']);
  expect(narrow).toBe('0b9f1c52…  2026-03-01 10:20:30Z  a text of which no…   1,000');
  expect(narrow).toHaveLength(60);
});

test('on a narrow terminal a cell that does not fit at all is in a further line of its row: texts first', () => {
  let shortened = 0;
  const columns = ['type', 'at', 'event', { amount: 'amount' }];
  const rows = [
    ['opening', '', '', '5'],
    ['issued', TIME, 'a short one', '1000'],
  ];
  const lines = textOf(columns, rows, 40, () => (shortened += 1)).split('\n');
  expect(lines).toEqual([
    'type     at                    amount',
    '  event',
    '───────  ────────────────────  ──────',
    'opening                             5',
    'issued   2026-03-01 10:20:30Z   1,000',
    '  a short one',
    '',
  ]);
  expect(shortened).toBe(1);
});

test('on a narrow terminal a table that fits is shown whole, and it is said when one is not', () => {
  let shortened = 0;
  const say = (): void => void (shortened += 1);
  textOf(['a', 'b'], [['12345', '1']], 8, say);
  expect(shortened).toBe(0);
  expect(textOf(['a', 'b'], [['1234567890', '1']], 12, say)).toContain('12345678…  1\n');
  expect(shortened).toBe(1);
});

test('for a pipe a table is tab-separated, whole, a line each row', () => {
  const lines = tabLines(
    ['a', { amount: 'n' }, 'c'],
    [
      ['x\ty\nz', '1234567', '\u001b[2J'],
      ['金', '-20'],
    ],
  );
  expect([...lines].join('')).toBe('a\tn\tc\nx\ufffdy, z\t1234567\t\ufffd[2J\n金\t-20\t\n');
});

test('a cell with many events names the first and counts the others', () => {
  const ids = Array.from({ length: 359 }, (_, index) => `event-${index}`);
  expect(firstOf(ids)).toBe('event-0\nevent-1\nevent-2\nevent-3\nevent-4\nand 354 more');
  expect(firstOf(ids.slice(0, 5))).toBe('event-0\nevent-1\nevent-2\nevent-3\nevent-4');
});

test('a cell is limited in lines and characters', () => {
  const longest = textOf(['a'], [['x'.repeat(100_000)]]).split('\n');
  expect(Math.max(...longest.map((line) => line.length))).toBe(CELL_CHARACTERS_MAX + 1);
  expect(textOf(['a'], [['x\n'.repeat(200)]]).split('\n')).toHaveLength(CELL_LINES_MAX + 3);
});

test('text of clients does not control a terminal', () => {
  expect(textOf(['a'], [['\u001b[2Jgone\r\u009b1m']])).toContain('\n\ufffd[2Jgone\ufffd\ufffd1m\n');
});
