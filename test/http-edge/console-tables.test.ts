import { differingColumns } from '../../src/console/view/projections-view.js';

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
