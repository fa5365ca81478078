import fc from 'fast-check';
import {
  ALL_THEMES_BYTES_MAX,
  CHANGED_BYTES_PER_DAY,
  CHANGES_PER_CHAPTER,
  decide,
  evolve,
  initialState,
  isFull,
  LOCALES_MAX,
  placeOf,
  THEME_BYTES_MAX,
  waitForChange,
  type ChangeTheme,
  type ThemeEvent,
  type ThemesState,
} from '../../src/domain/theme/theme.decider.js';

const DAY_MS = 24 * 3_600_000;

const change = (over: Partial<ChangeTheme> = {}): ChangeTheme => ({
  locale: null,
  current: null,
  values: { a: 1 },
  bytes: 7,
  restores: null,
  by: null,
  now: 1_000,
  ...over,
});

const published = (
  over: Partial<Extract<ThemeEvent, { type: 'ThemePublished' }>> = {},
): ThemeEvent => ({
  type: 'ThemePublished',
  at: 1_000,
  change: 0,
  locale: null,
  version: 1,
  before: null,
  by: null,
  opening: null,
  values: { a: 1 },
  bytes: 7,
  restores: null,
  ...over,
});

const removed = (over: Partial<Extract<ThemeEvent, { type: 'ThemeRemoved' }>>): ThemeEvent => ({
  type: 'ThemeRemoved',
  at: 1_000,
  change: 1,
  locale: 'fr',
  version: 2,
  before: 0,
  by: null,
  opening: null,
  ...over,
});

const given = (...events: readonly ThemeEvent[]) => {
  const state = events.reduce(evolve, initialState);
  return {
    state,
    when: (command: ChangeTheme, opens = false) => decide(state, command, opens),
  };
};

test('values are published as the first version', () => {
  expect(given().when(change())).toEqual({ events: [published()] });
});

test('each locale counts its own versions, and leads to the one before', () => {
  const french = published({ change: 1, locale: 'fr', version: 1 });
  const command = change({ current: { a: 1 }, values: { a: 2 }, restores: 1 });
  expect(given(published(), french).when(command)).toEqual({
    events: [published({ change: 2, version: 2, before: 0, values: { a: 2 }, restores: 1 })],
  });
});

test('the values that are there are not published again', () => {
  expect(given(published()).when(change({ current: { a: 1 } }))).toEqual({ events: [] });
});

test('values are removed once', () => {
  const removing = change({ locale: 'fr', values: null, bytes: 0 });
  const french = published({ locale: 'fr' });
  expect(given().when(removing)).toEqual({ refused: 'THEME_NOT_FOUND' });
  expect(given(french).when({ ...removing, current: { a: 1 } })).toEqual({ events: [removed({})] });
});

test('the first event of a further chapter holds what those before amount to', () => {
  const before = given(published(), published({ change: 1, locale: 'fr', bytes: 9 }));
  const outcome = before.when(change({ locale: 'de' }), true);
  if (!('events' in outcome)) throw new Error('it was not decided');
  const [event] = outcome.events;
  expect(event?.opening?.locales).toEqual([
    { locale: null, version: 1, change: 0, bytes: 7 },
    { locale: 'fr', version: 1, change: 1, bytes: 9 },
  ]);
  // Folded alone, it leads to the same state as behind the others.
  expect(given(...outcome.events).state).toEqual(outcome.events.reduce(evolve, before.state));
});

test('values that are too large are refused, alone and together', () => {
  expect(given().when(change({ bytes: THEME_BYTES_MAX }))).toHaveProperty('events');
  expect(given().when(change({ bytes: THEME_BYTES_MAX + 1 }))).toEqual({
    refused: 'THEME_TOO_LARGE',
    details: ['The values have 262145 bytes as compact JSON, more than 262144: shorten texts'],
  });
  const locales = Array.from({ length: 16 }, (_, index) => `l${index}`);
  expect(locales.length * THEME_BYTES_MAX).toBe(ALL_THEMES_BYTES_MAX);
  const full = given(
    ...locales.map((locale, index) => published({ change: index, locale, bytes: THEME_BYTES_MAX })),
  );
  expect(full.when(change())).toMatchObject({
    refused: 'THEME_INVALID',
    details: ['the values of all locales have 4194311 bytes, more than 4194304: shorten texts'],
  });
  // Instead of values of the same size.
  expect(full.when(change({ locale: 'l0', current: { a: 2 } }))).toHaveProperty('events');
});

test('removed locales are forgotten in the order of their removal, so that the state is bounded', () => {
  let state = given(published()).state;
  for (let made = 0; made < 3 * LOCALES_MAX; made++) {
    const locale = `l${made}`;
    state = evolve(state, published({ change: state.changes, locale }));
    state = evolve(state, removed({ change: state.changes, locale }));
  }
  expect(state.locales.size).toBe(2 * LOCALES_MAX);
  expect(state.locales.has(null)).toBe(true);
  expect(state.locales.has('l299')).toBe(true);
  expect(state.locales.has('l100')).toBe(false);
});

test('a day allows so many bytes, and says when the next change is taken', () => {
  const full = given(published({ bytes: CHANGED_BYTES_PER_DAY - 1024 }));
  const next = change({ current: { a: 1 }, values: { a: 2 } });
  const refused = { refused: 'THEME_CHANGED_TOO_MUCH' };
  expect(full.when(next)).toHaveProperty('events');
  const over = given(
    published({ bytes: CHANGED_BYTES_PER_DAY - 1024 }),
    published({ change: 1, version: 2, before: 0 }),
  );
  expect(over.when(next)).toEqual(refused);
  const waitMs = waitForChange(over.state, 7, 1_000);
  expect(waitMs).toBe(Math.ceil(DAY_MS / 16_384));
  expect(over.when({ ...next, now: 1_000 + waitMs - 1_000 })).toEqual(refused);
  expect(over.when({ ...next, now: 1_000 + waitMs })).toHaveProperty('events');
  // A clock that went back gives nothing back.
  expect(over.when({ ...next, now: 0 })).toEqual(refused);
});

test('a place is a chapter and a revision in it', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), (place) => {
      const { chapter, revision } = placeOf(place);
      expect(chapter * CHANGES_PER_CHAPTER + Number(revision)).toBe(place);
      const state: ThemesState = { ...initialState, changes: place };
      expect(isFull(state, chapter)).toBe(false);
      if (chapter > 0) expect(isFull(state, chapter - 1)).toBe(true);
    }),
  );
});
