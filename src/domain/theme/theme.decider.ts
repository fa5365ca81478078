import { Map } from 'immutable';
import type { Decision } from '../decision.js';
import type { Personal } from '../personal.js';
import { refused, type Refused } from '../refusal.js';

/**
 * The themes of a tenant and mode: every change of a locale's own values, in a chain of streams
 * ("chapters") of `CHANGES_PER_CHAPTER` events each. A full chapter never changes, so that a
 * decision folds one chapter, however many changes there were. The values stay in the events: the
 * state knows where they are.
 */
export type ThemeEvent =
  | ({ readonly type: 'ThemePublished' } & ThemeChangeFacts & {
        readonly values: ThemeValues;
        /** UTF-8 bytes of the values as JSON. */
        readonly bytes: number;
        /** The version whose values these are; null: they were given. */
        readonly restores: number | null;
      })
  /** The locale has no values of its own any more. */
  | ({ readonly type: 'ThemeRemoved' } & ThemeChangeFacts);

interface ThemeChangeFacts {
  readonly at: number;
  /** The place of the change among all of the tenant and mode, from 0. */
  readonly change: number;
  /** Null: the default. */
  readonly locale: string | null;
  /** Of the locale, from 1. */
  readonly version: number;
  /** The place of the version before; null: there is none. */
  readonly before: number | null;
  /** The member of staff; null: a caller with a key, whom the envelope names. */
  readonly by: Personal<string> | null;
  /** First event of a chapter: what the chapters before it amount to. Null: there are none. */
  readonly opening: ThemesOpening | null;
}

/** A JSON object. */
export type ThemeValues = Readonly<Record<string, unknown>>;

/** The state between two chapters, as JSON. */
export interface ThemesOpening extends ChangeAllowance {
  readonly locales: readonly (KnownLocale & { readonly locale: string | null })[];
}

/** How much was changed lately: drained at `CHANGED_BYTES_PER_DAY`. */
interface ChangeAllowance {
  readonly usedBytes: number;
  /** When `usedBytes` was as it is. */
  readonly usedAt: number;
}

/** The newest version of a locale's own values. */
export interface KnownLocale {
  readonly version: number;
  /** Its place. */
  readonly change: number;
  /** Of its values; null: they were removed. */
  readonly bytes: number | null;
}

export interface ThemesState extends ChangeAllowance {
  /** All changes so far: the place of the next one. 0 in a chapter that was not begun. */
  readonly changes: number;
  /** Null: the default. */
  readonly locales: Map<string | null, KnownLocale>;
}

export const CHANGES_PER_CHAPTER = 32;
/** Locales with values of their own, besides the default. */
export const LOCALES_MAX = 100;
/** UTF-8 bytes of the values of a locale, as JSON. */
export const THEME_BYTES_MAX = 256 * 1024;
/** Of the values of all locales together. */
export const ALL_THEMES_BYTES_MAX = 4 * 1024 * 1024;
/** What may be changed at once, and within a day. */
export const CHANGED_BYTES_PER_DAY = 16 * 1024 * 1024;
/** A small change counts as this many bytes, which limits their number, too. */
const CHANGE_BYTES_MIN = 1024;
/** The versions of locales that were removed long ago are no longer counted on. */
const KNOWN_LOCALES_MAX = 2 * LOCALES_MAX;

const DAY_MS = 24 * 3_600_000;
const DRAINED_PER_MS = CHANGED_BYTES_PER_DAY / DAY_MS;

export const initialState: ThemesState = {
  changes: 0,
  locales: Map(),
  usedBytes: 0,
  usedAt: 0,
};

export function evolve(before: ThemesState, event: ThemeEvent): ThemesState {
  const { opening, at, change, locale, version } = event;
  const state = opening === null ? before : openedBy(opening, change);
  const bytes = event.type === 'ThemePublished' ? event.bytes : null;
  return {
    changes: change + 1,
    locales: withoutLongGone(state.locales.set(locale, { version, change, bytes })),
    usedBytes: usedAt(state, at) + chargeOf(bytes),
    usedAt: Math.max(at, state.usedAt),
  };
}

const openedBy = (
  { locales, usedBytes, usedAt: at }: ThemesOpening,
  changes: number,
): ThemesState => ({
  changes,
  locales: Map(
    locales.map(({ locale, version, change, bytes }) => [locale, { version, change, bytes }]),
  ),
  usedBytes,
  usedAt: at,
});

function openingOf({ locales, usedBytes, usedAt: at }: ThemesState): ThemesOpening {
  return {
    locales: [...locales].map(([locale, known]) => ({ locale, ...known })),
    usedBytes,
    usedAt: at,
  };
}

function withoutLongGone(locales: ThemesState['locales']): ThemesState['locales'] {
  if (locales.size <= KNOWN_LOCALES_MAX) return locales;
  const gone = [...locales].filter(([, { bytes }]) => bytes === null);
  const [oldest] = gone.sort(([, a], [, b]) => a.change - b.change);
  return oldest === undefined ? locales : locales.delete(oldest[0]);
}

const usedAt = ({ usedBytes, usedAt: since }: ChangeAllowance, now: number): number =>
  Math.max(0, usedBytes - Math.max(0, now - since) * DRAINED_PER_MS);

const chargeOf = (bytes: number | null): number => Math.max(bytes ?? 0, CHANGE_BYTES_MIN);

/** Whether the chapter has no place for another change. */
export const isFull = ({ changes }: ThemesState, chapter: number): boolean =>
  changes >= (chapter + 1) * CHANGES_PER_CHAPTER;

/** Where an event with this place is. */
export const placeOf = (
  change: number,
): { readonly chapter: number; readonly revision: bigint } => ({
  chapter: Math.floor(change / CHANGES_PER_CHAPTER),
  revision: BigInt(change % CHANGES_PER_CHAPTER),
});

export interface ChangeTheme {
  readonly locale: string | null;
  /** The own values now; null: there are none. */
  readonly current: ThemeValues | null;
  /** The own values wanted; null: none. */
  readonly values: ThemeValues | null;
  /** UTF-8 bytes of `values` as JSON. */
  readonly bytes: number;
  readonly restores: number | null;
  readonly by: Personal<string> | null;
  readonly now: number;
}

/**
 * @param state of all changes so far, those of the chapters before included.
 * @param opens whether the event is the first one of a chapter behind another.
 */
export function decide(
  state: ThemesState,
  command: ChangeTheme,
  opens: boolean,
): Decision<ThemeEvent> {
  const { locale, values, bytes, restores, by, current, now: at } = command;
  const known = state.locales.get(locale);
  if (values === null && current === null) return refused('THEME_NOT_FOUND');
  // A locale without values of its own, and nothing to remember of it, stays one.
  const isUnchanged = values !== null && JSON.stringify(values) === JSON.stringify(current ?? {});
  if (isUnchanged) return { events: [] };
  const problem = values === null ? undefined : refusalOfSize(state, locale, bytes);
  if (problem) return problem;
  if (waitForChange(state, values === null ? null : bytes, at) > 0)
    return refused('THEME_CHANGED_TOO_MUCH');
  const facts: ThemeChangeFacts = {
    at,
    change: state.changes,
    locale,
    version: (known?.version ?? 0) + 1,
    before: known?.change ?? null,
    by,
    opening: opens ? openingOf(state) : null,
  };
  return {
    events: [
      values === null
        ? { type: 'ThemeRemoved', ...facts }
        : { type: 'ThemePublished', ...facts, values, bytes, restores },
    ],
  };
}

function refusalOfSize(
  { locales }: ThemesState,
  locale: string | null,
  bytes: number,
): Refused | undefined {
  if (bytes > THEME_BYTES_MAX)
    return refused(
      'THEME_TOO_LARGE',
      `The values have ${bytes} bytes as compact JSON, more than ${THEME_BYTES_MAX}: shorten texts`,
    );
  const others = locales.filter((known, name) => name !== locale && known.bytes !== null);
  const named = others.filter((_, name) => name !== null);
  if (locale !== null && named.size >= LOCALES_MAX)
    return refused(
      'THEME_INVALID',
      `at most ${LOCALES_MAX} locales have values of their own: remove one first`,
    );
  const all = others.reduce((sum, known) => sum + (known.bytes ?? 0), bytes);
  return all > ALL_THEMES_BYTES_MAX
    ? refused(
        'THEME_INVALID',
        `the values of all locales have ${all} bytes, more than ${ALL_THEMES_BYTES_MAX}: shorten texts`,
      )
    : undefined;
}

/**
 * Milliseconds until a change of this size is taken; 0: it is taken now.
 * @param bytes of the new values; null: they are removed.
 */
export function waitForChange(state: ChangeAllowance, bytes: number | null, now: number): number {
  const over = usedAt(state, now) + chargeOf(bytes) - CHANGED_BYTES_PER_DAY;
  return over <= 0 ? 0 : Math.ceil(over / DRAINED_PER_MS);
}
