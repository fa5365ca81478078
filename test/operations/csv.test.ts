import type { UnitFormat } from '../../src/domain/tenant/unit-settings.js';
import { statementCsv, tenantStatementCsv } from '../../src/operations/ledger/ledger-tables.js';
import { parseBalances } from '../../src/operations/ledger/balance-file.js';
import { outcomeOf } from '../../src/operations/outcome.js';
import { done } from '../support/operations.js';

test('a reduction of the credit has a minus sign in the CSV of a tenant', () => {
  const line = {
    day: '2026-01-01',
    issued: 9,
    redeemed: 4,
    expired: 2,
    cancelled: 1,
    restored: 1,
    imported: 5,
  };
  const unit = { unit: 'CENTS', opening: 0, closing: 8, due: 0, lines: [{ ...line, balance: 8 }] };
  expect(tenantStatementCsv({ units: [unit] }).split('\r\n')[2]).toBe(
    'CENTS,2026-01-01,9,-4,-2,-1,1,5,8',
  );
});

const line = {
  eventId: 'e-1',
  position: '7',
  recordedAt: '2026-01-01T00:00:00.000Z',
  effectiveAt: '2026-01-01T00:00:00.000Z',
  type: 'CreditRedeemed',
  actor: 'api-key:live',
  rewardId: 'r-1',
  amount: -5,
  balance: -2,
};
const statement = (actor: string, unit = 'CENTS') => ({
  account: 'a',
  position: '7',
  digest: 'd',
  units: [{ unit, opening: 3, closing: -2, lines: [{ ...line, actor }] }],
});
const cellOf = (actor: string): string => {
  const csv = statementCsv(statement(actor) as never);
  return csv.slice(csv.indexOf('CreditRedeemed,') + 'CreditRedeemed,'.length, csv.indexOf(',r-1,'));
};

test('a statement as CSV has the bytes of earlier releases', () => {
  expect(statementCsv(statement('=cmd "x", é', '') as never)).toBe(
    'unit,eventId,position,recordedAt,effectiveAt,type,actor,rewardId,amount,balance\r\n' +
      ',,,,,opening,,,,3\r\n' +
      `,e-1,7,2026-01-01T00:00:00.000Z,2026-01-01T00:00:00.000Z,CreditRedeemed,"'=cmd ""x"", é",r-1,-5,-2\r\n` +
      ',,,,,closing,,,,-2\r\n',
  );
  expect(statementCsv({ units: [] })).toBe(
    'unit,eventId,position,recordedAt,effectiveAt,type,actor,rewardId,amount,balance\r\n',
  );
});

test.each([
  ['a"b', '"a""b"'],
  ['a\nb', 'a b'],
  ['a\r\nb', 'a b'],
  ['a\n\rb', 'a  b'],
  ['=1+1', "'=1+1"],
  ['-1', '-1'],
])('a statement as CSV writes the cell %j as %j', (text, cell) => {
  expect(cellOf(text)).toBe(cell);
});

const HEAD = 'account,unit,balance\n';
const balancesIn = async (text: string, formats: readonly UnitFormat[] = []) =>
  [...(await parseBalances(text, 'f', formats)).accounts].flatMap(([account, units]) =>
    [...units.values()].map(({ unit, balance }) => [account, unit, balance]),
  );

test.each([
  ['line feeds', `${HEAD}a,CENTS,5\nb,CENTS,-7`],
  ['carriage returns before them', 'account,unit,balance\r\na,CENTS,5\r\nb,CENTS,-7\r\n'],
  ['a byte order mark', `\uFEFF${HEAD}a,CENTS,5\nb,CENTS,-7\n`],
  ['quotes', '"account",Unit,"BALANCE"\n"a","CENTS","5"\nb,CENTS, -7 \n'],
  ['semicolons', 'account;unit;balance\na;CENTS;5\nb;CENTS;-7\n'],
  ['amounts in the currency', 'account;unit;balance\na;CENTS;0,05\nb;CENTS;-0.07\n'],
  [
    'columns of an export',
    'userId,accountId,type,amount,unit,pending\nu,a,CREDIT,2,CENTS,0\nv,a,CREDIT,3,cents,0\nw,b,CREDIT,-7,CENTS,9\nw,b,PCT_DISCOUNT,10,,\n',
  ],
  ['empty lines', `\n${HEAD}\r\n\na,CENTS,5\n""\nb,CENTS,-7\n\n`],
])('a balance file is read with %s', async (_what, text) => {
  expect(await balancesIn(text)).toEqual([
    ['a', 'CENTS', 5],
    ['b', 'CENTS', -7],
  ]);
});

test('a balance file takes every balance of a unit as an amount in the currency when one has decimals', async () => {
  expect(await balancesIn('account;unit;balance\na;CENTS;12,50\nb;CENTS;8\nb;POINTS;8\n')).toEqual([
    ['a', 'CENTS', 1_250],
    ['b', 'CENTS', 800],
    ['b', 'POINTS', 8],
  ]);
  expect(await balancesIn(`${HEAD}'=1+1,CENTS,1\n`)).toEqual([['=1+1', 'CENTS', 1]]);
});

test('a balance file takes as many decimals of a unit as its format has digits', async () => {
  const formats = [
    { unit: 'Fils', currency: 'KWD', digits: 3 },
    { unit: 'CENTS', currency: 'JPY', digits: 0 },
  ];
  const file = 'account;unit;balance\na;FILS;12,5\nb;fils;1,234\nc;Fils;8\nd;CENTS;8\n';
  expect(await balancesIn(file, formats)).toEqual([
    ['a', 'FILS', 12_500],
    ['b', 'fils', 1_234],
    ['c', 'Fils', 8_000],
    ['d', 'CENTS', 8],
  ]);
  const refused = await outcomeOf(() => balancesIn(`${HEAD}a,CENTS,12.50\n`, formats));
  expect(() => done(refused)).toThrow('f: line 2 is no account, unit and balance');
});

test('a balance file keeps commas, quotes and line breaks in quotes, and blanks', async () => {
  expect(await balancesIn(`${HEAD}"a,""b""\r\nc", u ,1\n`)).toEqual([['a,"b"\r\nc', ' u ', 1]]);
});

test.each([
  ['account,unit,balance\na"b,CENTS,1\n', 'f: line 2 is no CSV'],
  ['account,unit,balance\n"a,CENTS,1\n', 'f: line 2 is no CSV'],
  ['account,unit,balance\n"a"b,CENTS,1\n', 'f: line 2 is no CSV'],
  ['account,unit,balance\ra,CENTS,1\r', 'f must begin with the line account,unit,balance'],
  ['account,unit,balance\na,CENTS,1,2\n', 'f: line 2 is no account, unit and balance'],
  ['account;unit;balance\na;CENTS;1.234,50\n', 'f: line 2 is no account, unit and balance'],
  ['account;unit;balance\na;CENTS;1,5\nb;CENTS;1,234\n', 'f: line 3 is no account, unit'],
  ['account;unit;balance\na;POINTS;1,5\n', 'f: line 2 is no account, unit and balance'],
  ['account,unit,balance\na,CENTS,\n', 'f: line 2 is no account, unit and balance'],
])('a balance file is refused: %j', async (text, message) => {
  const refused = await outcomeOf(() => parseBalances(text, 'f'));
  expect(() => done(refused)).toThrow(message);
});

test.each([
  ['many accounts', Array.from({ length: 20_000 }, (_, index) => `account-${index},C,1\n`)],
  ['a record of commas', [','.repeat(400_000)]],
  ['a cell that does not end', ['"', 'a'.repeat(400_000)]],
])('a balance file with %s leaves turns to other work', async (_what, rows) => {
  let turns = 0;
  let counting = setImmediate(function count() {
    turns += 1;
    counting = setImmediate(count);
  });
  await outcomeOf(() => parseBalances(`${HEAD}${rows.join('')}`, 'f'));
  clearImmediate(counting);
  expect(turns).toBeGreaterThan(80);
});
