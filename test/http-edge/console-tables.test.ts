import { differingColumns } from '../../src/console/view/projections-view.js';
import { onPage, ROWS_OF_A_PAGE } from '../../src/console/view/paging.js';
import { inOrder } from '../../src/console/view/sorting.js';

const pathOf = (page: string): string => `?page=${page}`;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe('a list in pages', () => {
  test('one that fits has no pager', () => {
    const fitting = numbers(ROWS_OF_A_PAGE);
    expect(onPage(fitting, '7', pathOf)).toEqual({ rows: fitting, pager: null });
  });

  test.each([
    ['', 0, { first: 1, last: 200, total: 401, previousPath: null, nextPath: '?page=2' }],
    ['2', 200, { first: 201, last: 400, total: 401, previousPath: '?page=1', nextPath: '?page=3' }],
    ['3', 400, { first: 401, last: 401, total: 401, previousPath: '?page=2', nextPath: null }],
    ['99', 400, { first: 401, last: 401, total: 401, previousPath: '?page=2', nextPath: null }],
    ['-1', 0, { first: 1, last: 200, total: 401, previousPath: null, nextPath: '?page=2' }],
  ])('page "%s" of it', (page, first, pager) => {
    const paged = onPage(numbers(401), page, pathOf);
    expect(paged.pager).toEqual(pager);
    expect(paged.rows[0]).toBe(first);
    expect(paged.rows).toHaveLength(pager.last - pager.first + 1);
  });
});

describe('the differences of two generations', () => {
  const row = { table: 'rewards', tenant: 't', mode: 'live', account: null, key: { id: 'a' } };
  const differences = [
    {
      ...row,
      kind: 'changed' as const,
      columns: [
        { column: 'phase', live: 'AVAILABLE', new: 'PENDING' },
        { column: 'assigned', live: 7, new: null },
      ],
    },
  ];

  test('are a row for each column, with both values', () => {
    expect(differingColumns({ differences })).toEqual([
      {
        table: 'rewards',
        kind: 'changed',
        row: '{"id":"a"}',
        column: 'phase',
        live: '"AVAILABLE"',
        built: '"PENDING"',
      },
      {
        table: 'rewards',
        kind: 'changed',
        row: '{"id":"a"}',
        column: 'assigned',
        live: '7',
        built: 'null',
      },
    ]);
  });
});

test('of two tables on a page, one is in the order of the address, the other as it is listed', () => {
  const asked = { sort: 'b.value', dir: 'desc' };
  const column = (key: string) => [{ label: 'Value', key, value: (value: number) => value }];
  const order = (key: string) => inOrder([2, 3, 1], column(key), asked, () => '').rows;
  expect(order('a.value')).toEqual([2, 3, 1]);
  expect(order('b.value')).toEqual([3, 2, 1]);
});
