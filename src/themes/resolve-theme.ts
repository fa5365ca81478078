import { BUILT_IN_THEME } from './built-in-theme.js';
import { isMembers, mergeMembers, type Members } from './merge-members.js';
import type { ThemeInstance } from './theme-instance.js';
import { fallbacksOf } from './theme-locale.js';

/** The own values of a locale, by locale; null: the default. */
export type OwnValues = ReadonlyMap<string | null, Members>;

/**
 * The theme of a locale, member by member: its own values, its language's, the default's, the
 * built-in ones. Complete, with members that the schema does not know.
 * @param layers own values, nearest first. Where they were stored under another schema and do not
 * fit this one, the built-in theme is returned.
 */
export function resolveTheme(...layers: readonly Members[]): ThemeInstance {
  const merged: unknown = mergeMembers(...layers, { ...BUILT_IN_THEME });
  return isLike(BUILT_IN_THEME, merged) ? merged : BUILT_IN_THEME;
}

/** Whether a value has all members of a model, with values of their types. */
function isLike<Model>(model: Model, value: unknown): value is Model {
  if (Array.isArray(model)) return Array.isArray(value);
  if (!isMembers(model)) return typeof value === typeof model;
  return (
    isMembers(value) &&
    Object.entries(model).every(
      ([name, member]) => Object.hasOwn(value, name) && isLike(member, value[name]),
    )
  );
}

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
