import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { shownActor } from '../../event-log/envelope.js';
import { isLocale } from '../../themes/theme-locale.js';
import type { Members } from '../../themes/merge-members.js';
import type { ThemeOutcome } from '../../themes/theme-changes.js';
import { VERSIONS_MAX, type ThemeVersion } from '../../themes/theme-rows.js';
import { Themes } from '../../themes/themes.js';
import type { StaffMeta } from '../audit.js';
import { NotDone, notDoneAbout } from '../outcome.js';

/** Operations on the themes of a tenant: each returns the document that `--json` prints. */

type ThemeCore = Pick<Core, 'themeChanges' | 'themeRows'>;

/** Versions of a locale that a history shows at most. */
export const HISTORY_MAX = VERSIONS_MAX;

/** A version of a locale's own values. */
export type ShownThemeVersion = ReturnType<typeof shownVersion>;

/** The locale of a theme; null: the default. */
export interface NamedTheme {
  readonly locale: string | null;
}

/**
 * What is shown of a locale now, as to the tenant.
 * @param version the own values of that version instead.
 * @throws {NotDone}
 */
export async function showTheme(
  core: ThemeCore,
  scope: Scope,
  { locale, version }: NamedTheme & { readonly version?: number | undefined },
): Promise<Members> {
  checkLocale(locale);
  if (version === undefined) return new Themes(core.themeRows).shown(scope, locale);
  const found = await core.themeRows.version(scope, locale, version);
  if (found === undefined) throw new ThemeNotDone({ refused: 'THEME_VERSION_NOT_FOUND' });
  if (found.values === null) throw new ThemeNotDone({ refused: 'THEME_NOT_FOUND' });
  return found.values;
}

/**
 * Replaces the own values of a locale.
 * @param expected the newest version that the operator saw: another one now is refused.
 */
export async function putTheme(
  core: ThemeCore,
  meta: StaffMeta,
  {
    locale,
    values,
    expected,
  }: NamedTheme & { readonly values?: unknown; readonly expected?: number },
) {
  checkLocale(locale);
  const edit = { by: meta.actor.name, expected };
  const result = changedBy(await core.themeChanges.put(meta, locale, values, edit), locale);
  const parameters = { locale: locale ?? undefined, version: result.version };
  return { result, parameters, completed: `version ${result.version} is published` };
}

/** Makes the values of a version current, as a new version. */
export async function rollBackTheme(
  core: ThemeCore,
  meta: StaffMeta,
  { locale, version }: NamedTheme & { readonly version: number },
) {
  checkLocale(locale);
  const edit = { locale, restores: version, by: meta.actor.name };
  const result = changedBy(await core.themeChanges.restore(meta, edit), locale);
  const parameters = { locale: locale ?? undefined, restores: version };
  return { result, parameters, completed: `the values of version ${version} are current` };
}

/** Newest first. @param limit at most `HISTORY_MAX`. @throws {NotDone} */
export async function showThemeHistory(
  core: ThemeCore,
  scope: Scope,
  { locale, limit }: NamedTheme & { readonly limit: number },
): Promise<readonly ShownThemeVersion[]> {
  checkLocale(locale);
  return (await core.themeRows.history(scope, locale, limit)).map(shownVersion);
}

const shownVersion = ({ version, at, meta, by, values, restores }: ThemeVersion) => ({
  version,
  created: new Date(at).toISOString(),
  /** A member of staff; `<kind>:<id>` of a caller with a key; null: a forgotten person. */
  by: by === null ? shownActor(meta.actor) : by.value,
  /** Whether the locale has no values of its own in it. */
  removed: values === null,
  restores,
});

/** @throws {NotDone} */
export function checkLocale(locale: string | null): void {
  if (locale !== null && !isLocale(locale))
    throw notDoneAbout('locale', (word) => `${word('locale')} takes a locale such as en or en_US`);
}

function changedBy(outcome: ThemeOutcome, locale: string | null) {
  if ('refused' in outcome) throw new ThemeNotDone(outcome);
  // The version of the values that are current now; they may have been so already.
  const { version, changed } = outcome;
  return { locale, version, changed };
}

type RefusedTheme = Extract<ThemeOutcome, { readonly refused: unknown }>;

/** Faults are shown up to this number, in one line. */
const FAULTS_SHOWN = 5;

/** A change of a theme was refused. */
export class ThemeNotDone extends NotDone {
  constructor(readonly theme: RefusedTheme) {
    super(theme.refused, [lineOf(theme)], ['values']);
  }
}

function lineOf({ refused, details = [], waitMs = 0 }: RefusedTheme): string {
  switch (refused) {
    case 'THEME_NOT_FOUND':
      return 'the locale has no values of its own';
    case 'THEME_VERSION_NOT_FOUND':
      return 'there is no such version, or it is too far back';
    case 'THEME_TOO_LARGE':
      return 'the values exceed 256 KiB as compact JSON';
    case 'THEME_CHANGED_TOO_MUCH':
      return `more of the themes was changed than a day allows: try again in ${Math.ceil(waitMs / 60_000)} minutes`;
    default: {
      const more = details.length - FAULTS_SHOWN;
      const shown = details.slice(0, FAULTS_SHOWN).join('; ') || `refused: ${refused}`;
      return more > 0 ? `${shown}; and ${more} more` : shown;
    }
  }
}
