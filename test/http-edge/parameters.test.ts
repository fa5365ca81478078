import { digitsUpTo } from '../../src/foundation/digits-up-to.js';
import { DURATION_PATTERN, durationMs } from '../../src/foundation/duration.js';
import { instant, ISO_TIME } from '../../src/foundation/instant.js';
import { isIdentifier } from '../../src/foundation/identifier.js';
import fc from 'fast-check';
import { ApiError } from '../../src/http/edge/api-error.js';
import {
  booleanQuery,
  choiceQuery,
  dateFilter,
  fieldSelection,
  identifierQuery,
  page,
  requiredCodeQuery,
  resourceId,
  textQuery,
  type Query,
} from '../../src/http/shapes/parameters.js';
import { BAD_IDS } from '../support/bad-values.js';

const codeOf = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error instanceof ApiError ? error.code : error;
  }
};

test('a time is milliseconds, a day or an ISO time that exists', () => {
  const cases: readonly (readonly [string, number | null])[] = [
    ['0', 0],
    ['1700000000000', 1_700_000_000_000],
    ['-1', -1],
    ['2026-03-01', Date.UTC(2026, 2, 1)],
    ['2026-03-01T10:20:30', Date.UTC(2026, 2, 1, 10, 20, 30)],
    ['2026-03-01T10:20:30.123Z', Date.UTC(2026, 2, 1, 10, 20, 30, 123)],
    ['2026-03-01T10:20:30.123456Z', Date.UTC(2026, 2, 1, 10, 20, 30, 123)],
    ['2026-03-01T10:20:30+02:00', Date.UTC(2026, 2, 1, 8, 20, 30)],
    ['2026-03-01T10:20:30 02:00', Date.UTC(2026, 2, 1, 8, 20, 30)],
    ['2026-03-01T10:20:30-0230', Date.UTC(2026, 2, 1, 12, 50, 30)],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
    ['2026-02-29', null],
    ['2026-13-01', null],
    ['2026-03-01T25:00Z', null],
    ['1e3', null],
    ['1.5', null],
    ['8640000000000001', null],
    ['NaN', null],
    ['01/02/2026', null],
  ];
  for (const [text, expected] of cases) expect([text, instant(text)]).toEqual([text, expected]);
});

test('the patterns of the description are those of the parsers', () => {
  const time = new RegExp(`^${ISO_TIME}$`);
  for (const year of ['1900', '2000', '2023', '2024'])
    for (let day = 1; day <= 31; day++)
      for (const month of ['01', '02', '04', '12']) {
        const text = `${year}-${month}-${String(day).padStart(2, '0')}`;
        expect([text, time.test(text)]).toEqual([text, instant(text) !== null]);
      }
  const duration = new RegExp(DURATION_PATTERN);
  for (const text of [
    '',
    '0',
    '00',
    's',
    '0s',
    '366d',
    '367d',
    '8784h',
    '8785h',
    '031622401s',
    '1w',
  ])
    expect([text, duration.test(text)]).toEqual([text, durationMs(text) !== undefined]);
  const safe = new RegExp(`^${digitsUpTo(Number.MAX_SAFE_INTEGER)}$`);
  for (const text of ['0', '9007199254740990', '9007199254740991', '1000000000000000'])
    expect([text, safe.test(text)]).toEqual([text, true]);
  for (const text of ['', '9007199254740992', '9100000000000000', '10000000000000000'])
    expect([text, safe.test(text)]).toEqual([text, false]);
});

test('a date filter is a time or a range that may be open on either side', () => {
  const of = (date: unknown) => codeOf(() => dateFilter({ date }, 'date'));
  expect(of(undefined)).toBeUndefined();
  expect(of('')).toBeUndefined();
  expect(of('5')).toEqual({ from: 5, to: 5 });
  expect(of('5,')).toEqual({ from: 5 });
  expect(of(',7')).toEqual({ to: 7 });
  expect(of('7,5')).toEqual({ from: 7, to: 5 });
  expect(of(' 5 , 2026-01-01T00:00Z ')).toEqual({ from: 5, to: Date.UTC(2026, 0, 1) });
  const day = { from: Date.UTC(2026, 0, 31), to: Date.UTC(2026, 1, 1) - 1 };
  expect(of('2026-01-31')).toEqual(day);
  expect(of('2026-01-31,2026-01-31')).toEqual(day);
  expect(of(',2026-01-31')).toEqual({ to: day.to });
  for (const wrong of ['x', '5,x', '1,2,3', ['1', '2']]) expect(of(wrong)).toBe('BAD_REQUEST');
});

test('any text in a query is read or refused', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('1', 'true', 'a,b', '2026-01-01T00:00:00 01:00', ','),
    fc.array(fc.string()),
    fc.constant(undefined),
  );
  fc.assert(
    fc.property(anything, (value) => {
      const query: Query = { limit: value, offset: value, v: value, fields: value };
      for (const read of [
        () => page(query),
        () => dateFilter(query, 'v'),
        () => booleanQuery(query, 'v', true),
        () => choiceQuery(query, 'v', ['a']),
        () => textQuery(query, 'v'),
        () => identifierQuery(query, 'v'),
        () => fieldSelection(query, { standard: ['a'], extra: ['b'] }),
      ]) {
        const outcome = codeOf(read);
        expect(outcome).not.toBeInstanceOf(Error);
      }
    }),
  );
});

test('a malformed boolean, choice or text is refused', () => {
  expect(booleanQuery({}, 'b', true)).toBe(true);
  expect(booleanQuery({ b: 'false' }, 'b', true)).toBe(false);
  for (const wrong of ['', 'TRUE', '1', 'yes', ['true', 'true']])
    expect(codeOf(() => booleanQuery({ b: wrong }, 'b', true))).toBe('BAD_REQUEST');
  expect(choiceQuery({ c: 'A' }, 'c', ['A', 'B'])).toBe('A');
  expect(choiceQuery({ c: '' }, 'c', ['A', 'B'])).toBeUndefined();
  expect(codeOf(() => choiceQuery({ c: 'a' }, 'c', ['A', 'B']))).toBe('BAD_REQUEST');
  expect(codeOf(() => requiredCodeQuery({ t: ' ' }, 't'))).toBe('BAD_REQUEST');
  expect(codeOf(() => requiredCodeQuery({ t: 'a\0' }, 't'))).toBe('REFERRAL_CODE_NOT_FOUND');
  expect(codeOf(() => textQuery({ t: 'a\0' }, 't'))).toBe('BAD_REQUEST');
  expect(textQuery({ t: ' a ' }, 't')).toBe('a');
  expect(codeOf(() => resourceId('a\0', 'REWARD_NOT_FOUND'))).toBe('REWARD_NOT_FOUND');
});

test('fields replaces the standard fields, extraFields adds to them, and unknown names are refused', () => {
  const known = { standard: ['id', 'email'], extra: ['dateBlocked'] };
  const of = (query: Query) => codeOf(() => fieldSelection(query, known));
  expect(of({})).toEqual(['id', 'email']);
  expect(of({ fields: '', extraFields: '' })).toEqual(['id', 'email']);
  expect(of({ fields: 'email , dateBlocked' })).toEqual(['email', 'dateBlocked']);
  expect(of({ extraFields: 'dateBlocked,id' })).toEqual(['id', 'email', 'dateBlocked']);
  expect(of({ fields: 'id', extraFields: '' })).toEqual(['id']);
  for (const wrong of [
    { fields: 'nope' },
    { extraFields: 'constructor' },
    { fields: 'id', extraFields: 'dateBlocked' },
    { fields: ['id', 'id'] },
  ])
    expect(of(wrong)).toBe('BAD_REQUEST');
});

test('an id has 1 to 255 characters, none of them a control character', () => {
  for (const id of [
    '1',
    'ann@example.com',
    'ä ö',
    '😀'.repeat(255),
    '/',
    '%2F',
    '"',
    'x'.repeat(255),
  ])
    expect([id, isIdentifier(id)]).toEqual([id, true]);
  for (const id of ['', '\ud800', ...BAD_IDS]) expect([id, isIdentifier(id)]).toEqual([id, false]);
});
