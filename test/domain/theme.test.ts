import {
  ALL_THEMES_BYTES_MAX,
  CHANGED_BYTES_PER_DAY,
  evolve,
  initialState,
  LOCALES_MAX,
  record,
  refusalOfChange,
  THEME_BYTES_MAX,
  type ThemeEvent,
} from '../../src/domain/theme/theme.decider.js';

const published = (over: object = {}): ThemeEvent => ({
  type: 'ThemePublished',
  at: 1_000,
  locale: null,
  version: 1,
  by: null,
  digest: 'd',
  restores: null,
  ...over,
});

test('A version of a locale is recorded once.', () => {
  const recorded = evolve(initialState, published());
  expect(record(initialState, published())).toEqual({ events: [published()] });
  expect(record(recorded, published())).toEqual({ events: [] });
  for (const other of [published({ version: 2 }), published({ locale: 'fr' })])
    expect(record(recorded, other)).toEqual({ events: [other] });
});

const limits = (all: readonly (readonly [string | null, number])[] = [], changedBytes = 0) => ({
  bytes: new Map(all),
  changedBytes,
});
const locales = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, index) => [`l${index}`, bytes] as const);

test('Values that are too large together with those of other locales are refused.', () => {
  const full = limits(locales(ALL_THEMES_BYTES_MAX / THEME_BYTES_MAX, THEME_BYTES_MAX));
  expect(refusalOfChange(full, null, 7)).toMatchObject({
    refused: 'THEME_INVALID',
    details: ['the values of all locales have 4194311 bytes, more than 4194304: shorten texts'],
  });
  expect(refusalOfChange(full, 'l0', 7)).toBeUndefined();
  expect(refusalOfChange(full, 'l0', null)).toBeUndefined();
});

test('A further locale is refused when as many as may be have values; the default is none of them.', () => {
  const full = limits(locales(LOCALES_MAX, 7));
  expect(refusalOfChange(full, 'fr', 7)).toMatchObject({ refused: 'THEME_INVALID' });
  expect(refusalOfChange(full, null, 7)).toBeUndefined();
});

test('A day allows a number of bytes, and each change counts for at least 1 KiB.', () => {
  const refused = { refused: 'THEME_CHANGED_TOO_MUCH' };
  for (const bytes of [7, 1024, null]) {
    expect(refusalOfChange(limits([], CHANGED_BYTES_PER_DAY - 1024), null, bytes)).toBeUndefined();
    expect(refusalOfChange(limits([], CHANGED_BYTES_PER_DAY - 1023), null, bytes)).toEqual(refused);
  }
});
