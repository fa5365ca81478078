import { BUILT_IN_THEME } from './built-in-theme.js';
import { mergeMembers, type Members } from './merge-members.js';
import type { ThemeInstance } from './theme-instance.js';
import { fallbacksOf } from './theme-locale.js';

/** The own values of a locale, by locale; null: the default. */
export type OwnValues = ReadonlyMap<string | null, Members>;

/**
 * The theme of a locale, member by member: its own values, its language's, the default's, the
 * built-in ones. Complete, with members that the schema does not know.
 * @param layers own values that fit the schema, nearest first.
 */
export const resolveTheme = (...layers: readonly Members[]): ThemeInstance =>
  // Own values fit the schema, so that merging them keeps the type of every member.
  mergeMembers(...layers, { ...BUILT_IN_THEME }) as unknown as ThemeInstance;

/**
 * What tenants are shown of a locale: own values, its language's, the default's, member by member.
 * A default without own values is the built-in one.
 */
export const shownTheme = (own: OwnValues, locale: string | null): Members =>
  mergeMembers(
    ...fallbacksOf(locale).map(
      (one) => own.get(one) ?? (one === null ? { ...BUILT_IN_THEME } : {}),
    ),
    { jsOptions: {}, widget: {}, email: {} },
  );
