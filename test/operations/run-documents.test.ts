import { mayNamePeople } from '../../src/runs/recorded-runs.js';

test.each<[string, object]>([
  ['a replay of one account', { account: 'acc', position: 'p', differences: [] }],
  ['a comparison with differences', { differences: [{ readModel: 'rewards' }] }],
  ['balances of accounts', [{ account: 'acc', unit: 'EUR', available: 100, pending: 0 }]],
  ['a forecast', { rules: [], accounts: [{ account: 'acc', unit: 'EUR', live: 1, candidate: 2 }] }],
])('%s may name people', (_, document) => {
  expect(mayNamePeople(document)).toBe(true);
});

test.each<[string, unknown]>([
  ['nothing', null],
  ['no balances', []],
  ['a comparison without differences', { position: 'p', events: 1, differences: [] }],
  ['sums of all accounts', [{ account: null, unit: 'EUR', available: 100, pending: 0 }]],
  ['the counts of an import', { kind: 'users', rows: 2, control: [{ unit: 'EUR', sum: '1' }] }],
])('%s names no person', (_, document) => {
  expect(mayNamePeople(document)).toBe(false);
});
