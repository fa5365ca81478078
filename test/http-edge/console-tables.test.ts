import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { csvLines } from '../../src/exports/files/csv-lines.js';
import {
  amountCell,
  fileCell,
  stateCell,
  textCell,
  timeCell,
} from '../../src/console/view/cells.js';
import { LIST_FILES, momentOf } from '../../src/console/view/list-page.js';
import {
  column,
  partOf,
  tableState,
  tableView,
  type TableColumn,
} from '../../src/console/view/table.js';
import { valueInWords } from '../../src/console/view/differences.js';
import { differingColumns } from '../../src/console/view/projections-view.js';

interface Row {
  readonly name: string;
  readonly amount: bigint | null;
}

const COLUMNS: readonly TableColumn<Row>[] = [
  column('name', ({ name }) => textCell(name)),
  column('amount', ({ amount }) => amountCell(amount, String(amount))),
  column(['note', 'unsorted'], () => textCell('')),
];
const newest = { sort: 'name', descending: false };
const stateOf = (address: Record<string, string>) => tableState(address, COLUMNS, newest);
const rowsOf = (count: number): Row[] =>
  Array.from({ length: count }, (_, at) => ({ name: `row ${at}`, amount: BigInt(at) }));
const viewOf = (rows: readonly Row[], address: Record<string, string>) => {
  const state = stateOf(address);
  return tableView(partOf(rows, COLUMNS, state), COLUMNS, state, {
    label: 'Rows',
    empty: { text: 'No row.' },
    pathWith: (members) => `?${new URLSearchParams(members).toString()}`,
    filePath: null,
  });
};

test('an address that names an unknown order, page or size has those of the table', () => {
  const address = { sort: 'note', dir: 'desc', page: '-1', size: '7' };
  expect(stateOf(address)).toEqual({ ...newest, page: 1, size: 50 });
});

test('rows in memory are sorted by number and natural text, without a value last', () => {
  const rows = [
    { name: 'row 10', amount: 2n ** 60n },
    { name: 'row 9', amount: null },
    { name: 'row 1', amount: -5n },
  ];
  const names = (address: Record<string, string>) =>
    partOf(rows, COLUMNS, stateOf(address)).rows.map(({ name }) => name);
  expect(names({ sort: 'name' })).toEqual(['row 1', 'row 9', 'row 10']);
  expect(names({ sort: 'amount' })).toEqual(['row 1', 'row 10', 'row 9']);
  expect(names({ sort: 'amount', dir: 'desc' })).toEqual(['row 10', 'row 1', 'row 9']);
});

test.each([
  ['1', 1, 50, null, '?page=2'],
  ['2', 51, 100, '?page=', '?page=3'],
  ['3', 101, 101, '?page=2', null],
])('page %s of 101 rows has its first and last row, and its neighbours', (page, ...expected) => {
  const { foot } = viewOf(rowsOf(101), { page });
  expect([foot.first, foot.last, foot.previousPath, foot.nextPath]).toEqual(expected);
  expect(foot.total).toBe(101);
});

test('the head of the sorted column turns its order around', () => {
  const heads = viewOf(rowsOf(1), { sort: 'amount' }).heads;
  expect(heads.map(({ sorted, path }) => [sorted, path])).toEqual([
    [null, '?sort=name&dir=asc&page='],
    ['ascending', '?sort=amount&dir=desc&page='],
    [null, null],
  ]);
});

test('the first order of an amount is the largest first', () => {
  const [, amount] = viewOf(rowsOf(1), {}).heads;
  expect(amount?.path).toBe('?sort=amount&dir=desc&page=');
});

test('a file has exact integers, ISO 8601, states in words, and texts that run nothing', () => {
  const cells = [amountCell(-(2n ** 60n), '−$1'), timeCell(0), stateCell('Paid'), textCell('=1+1')];
  expect(csvLines([cells.map(fileCell)])).toBe(
    "-1152921504606846976,1970-01-01T00:00:00.000Z,Paid,'=1+1\n",
  );
});

test('a day in an address begins and ends in UTC; a moment is what it is', () => {
  expect(momentOf('2026-11-02', 'start')).toBe(Date.parse('2026-11-02T00:00:00Z'));
  expect(momentOf('2026-11-02', 'end')).toBe(Date.parse('2026-11-02T23:59:59.999Z'));
  expect(momentOf('2026-11-01T23:00:00Z', 'end')).toBe(Date.parse('2026-11-01T23:00:00Z'));
  expect(momentOf('soon', 'start')).toBeUndefined();
});

test('at most two files of lists are downloaded at the same time', () => {
  const open = () => LIST_FILES.enter('', () => new PassThrough());
  const files = [open(), open()];
  expect(open).toThrow('Two files are being downloaded');
  const closed = files.map((file) => once(file, 'close'));
  for (const file of files) file.destroy();
  return Promise.all(closed).then(() => expect(open().destroy().destroyed).toBe(true));
});

test('differences of two generations are a row for each column', () => {
  const row = { table: 'rewards', tenant: 't', mode: 'live', account: null, key: { id: 'a' } };
  const columns = [
    { column: 'phase', live: 'AVAILABLE', new: 'PENDING' },
    { column: 'assigned', live: 7, new: null },
  ];
  const differences = [{ ...row, kind: 'changed' as const, columns }];
  expect(differingColumns({ differences }).map(({ column, live }) => [column, live])).toEqual([
    ['phase', 'AVAILABLE'],
    ['assigned', 7],
  ]);
});

test.each([
  ['assigned_credit', 1_250, '$12.50'],
  ['counted', 1_250, '1,250'],
  ['date_given', 0, '1970-01-01 00:00:00 UTC'],
  ['referred_status', 'APPROVED', 'Approved'],
  ['cancelled', false, 'No'],
  ['referral_code', null, 'None'],
  ['subscription', { status: 'PAID', counted: 1 }, 'Status: Paid, Counted: 1'],
])('a difference in %s reads %p as %s', (column, value, words) => {
  expect(valueInWords(column, value, (amount) => `$${amount / 100}0`)).toBe(words);
});
