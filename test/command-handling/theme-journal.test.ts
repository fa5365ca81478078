import type { ThemeEdit, ThemeOutcome } from '../../src/command-handling/commands.js';
import { CHANGES_PER_CHAPTER, type ThemeValues } from '../../src/domain/theme/theme.decider.js';
import { aRequest, SharedLedger, type TestProcess } from './support/processes.js';

/** Chapters of themes: changes in order, whoever makes them, found again by place and version. */

let ledger: SharedLedger;
let here: TestProcess;
let there: TestProcess;
beforeAll(async () => {
  ledger = await SharedLedger.open();
  here = await ledger.process();
  there = await ledger.process();
});
afterAll(() => ledger.close());

type Accepted = Exclude<ThemeOutcome, { readonly refused: unknown }>;
const accepted = (outcome: ThemeOutcome): Accepted => {
  if ('refused' in outcome) throw new Error(`refused: ${outcome.refused}`);
  return outcome;
};
const put = (locale: string | null, values: ThemeValues): ThemeEdit => ({
  locale,
  apply: () => ({ values, bytes: JSON.stringify(values).length }),
});
const { scope } = aRequest();

test('changes of two processes follow each other through the chapters, and none is lost', async () => {
  const rounds = CHANGES_PER_CHAPTER + 5;
  const places: number[] = [];
  const publish = async (process: TestProcess, locale: string): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const { state, after, changed } = accepted(await process.theme(put(locale, { round })));
      expect([changed, after]).toEqual([true, { round }]);
      places.push(state.locales.get(locale)?.change ?? -1);
    }
  };
  await Promise.all([publish(here, 'fr'), publish(there, 'de')]);
  expect(places.sort((a, b) => a - b)).toEqual(Array.from({ length: 2 * rounds }, (_, at) => at));

  // A process that has read nothing yet finds the newest chapter.
  const { themeJournal } = await ledger.process();
  const state = await themeJournal.state(scope);
  expect(state.changes).toBe(2 * rounds);
  expect(await themeJournal.head(scope)).toBe(2);
  for (const locale of ['fr', 'de']) {
    expect(state.locales.get(locale)?.version).toBe(rounds);
    expect(await themeJournal.valuesOf(scope, state, locale)).toEqual({ round: rounds - 1 });
    const versions: number[] = [];
    for await (const { event } of themeJournal.history(
      scope,
      state.locales.get(locale)?.change ?? 0,
    ))
      versions.push(event.version);
    expect(versions).toEqual(Array.from({ length: rounds }, (_, index) => rounds - index));
    const third = await themeJournal.version(scope, state, locale, 3);
    expect(third?.event).toMatchObject({ locale, version: 3, values: { round: 2 } });
    expect(await themeJournal.version(scope, state, locale, rounds + 1)).toBeUndefined();
  }
});

test('a change whose answer was lost is found in an earlier chapter, and not made again', async () => {
  const idempotency = { key: 'a key', fingerprint: 'a request' };
  const meta = { ...aRequest(), idempotency };
  const first = accepted(await here.theme(put('it', { a: 1 }), meta));
  for (let more = 0; more < CHANGES_PER_CHAPTER; more++)
    accepted(await here.theme(put('it', { more })));

  const process = await ledger.process();
  // Another attempt has an id of its own: the key finds it.
  const again = { ...aRequest(), idempotency };
  expect(accepted(await process.theme(put('it', { a: 1 }), again))).toMatchObject({
    position: first.position,
    before: null,
    after: { a: 1 },
    changed: true,
    replayed: true,
  });
  const other = { ...again, idempotency: { ...idempotency, fingerprint: 'another' } };
  expect(await process.theme(put('it', { a: 2 }), other)).toMatchObject({
    refused: 'IDEMPOTENCY_KEY_REUSED',
  });
});

test('a change to the values that are there changes nothing, and answers with them', async () => {
  accepted(await here.theme(put('pt', { v: 1 })));
  expect(accepted(await here.theme(put('pt', { v: 1 })))).toMatchObject({
    before: { v: 1 },
    after: { v: 1 },
    changed: false,
  });
});

test('a version is restored as a new one, a removal too', async () => {
  accepted(await here.theme(put('es', { v: 1 })));
  accepted(await here.theme(put('es', { v: 2 })));
  const restoring = (restores: number): ThemeEdit => ({
    locale: 'es',
    restores,
    apply: (values) => ({ values, bytes: 7 }),
  });
  const restored = accepted(await here.theme(restoring(1)));
  expect(restored).toMatchObject({ before: { v: 2 }, after: { v: 1 } });
  expect(restored.state.locales.get('es')?.version).toBe(3);
  accepted(await here.theme({ locale: 'es', apply: () => ({ values: null, bytes: 0 }) }));
  accepted(await here.theme(put('es', { v: 5 })));
  expect(accepted(await here.theme(restoring(4)))).toMatchObject({ before: { v: 5 }, after: null });
  expect(await here.theme(restoring(9))).toMatchObject({ refused: 'THEME_VERSION_NOT_FOUND' });
  expect(await here.theme(restoring(0))).toMatchObject({ refused: 'THEME_VERSION_NOT_FOUND' });
});
