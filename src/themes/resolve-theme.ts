import { BUILT_IN_THEME } from './built-in-theme.js';
import { isMembers, mergeMembers, type Members } from './merge-members.js';
import type { ThemeInstance } from './theme-instance.js';
import { fallbacksOf } from './theme-locale.js';

/** Own values by locale; null: the default. */
export type OwnValues = ReadonlyMap<string | null, Members>;

/**
 * Merges a theme: own values, its language's, the default's, the built-in ones. Members that the
 * schema does not define are kept. @param layers own values, highest precedence first. If older
 * values do not fit the schema, the built-in theme is returned.
 */
export function resolveTheme(...layers: readonly Members[]): ThemeInstance {
  const merged: unknown = mergeMembers(...layers, { ...BUILT_IN_THEME });
  return matchesModel(BUILT_IN_THEME, merged) ? merged : BUILT_IN_THEME;
}

/** Whether a value has all members of a model with values of the same types. */
function matchesModel<Model>(model: Model, value: unknown): value is Model {
  if (Array.isArray(model)) return Array.isArray(value);
  if (!isMembers(model)) return typeof value === typeof model;
  return (
    isMembers(value) &&
    Object.entries(model).every(
      ([name, member]) => Object.hasOwn(value, name) && matchesModel(member, value[name]),
    )
  );
}

/** The theme as a tenant sees it: own values, its language's and the default's, or the built-in. */
export const shownTheme = (own: OwnValues, locale: string | null): Members =>
  mergeMembers(
    ...fallbacksOf(locale).map(
      (one) => own.get(one) ?? (one === null ? { ...BUILT_IN_THEME } : {}),
    ),
    { jsOptions: {}, widget: {}, email: {} },
  );
