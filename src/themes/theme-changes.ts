import {
  ThemeCommandEnvelope,
  type Commands,
  type EditedTheme,
  type ThemeEdit,
  type ThemeOutcome,
} from '../command-handling/commands.js';
import type { ThemeJournal } from '../command-handling/theme-journal.js';
import type { Personal } from '../domain/personal.js';
import { refused, type Refused } from '../domain/refusal.js';
import type { Scope } from '../domain/scope.js';
import { THEME_BYTES_MAX, type ThemesState } from '../domain/theme/theme.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { BUILT_IN_THEME } from './built-in-theme.js';
import { isMembers, mergePatch, type Members } from './merge-members.js';
import { shownTheme, type OwnValues } from './resolve-theme.js';
import { fallbacksOf } from './theme-locale.js';

/**
 * Changes of the tenants' themes, decided in the log. Refusals: `THEME_TOO_LARGE`; `THEME_INVALID`
 * with a line for each fault; `THEME_NOT_FOUND`, `THEME_VERSION_NOT_FOUND`;
 * `THEME_CHANGED_TOO_MUCH` with the time to wait.
 */
export class ThemeChanges {
  constructor(
    private readonly commands: Commands,
    private readonly journal: ThemeJournal,
    private readonly loadFaults: () => Promise<FaultsOf> = faultsBySchema,
  ) {}

  /** Replaces the own values of a locale (null: the default). */
  async put(
    meta: CommandMeta,
    locale: string | null,
    values: unknown,
    edit: Pick<ThemeEdit, 'by' | 'expected'> = {},
  ): Promise<ThemeOutcome> {
    const check = checkBy(await this.loadFaults());
    return this.send(meta, { locale, ...edit, apply: () => check(values, true) });
  }

  /** Why these values would not be taken; undefined: they would. */
  async refusalOf(values: unknown): Promise<Refused | undefined> {
    const check = checkBy(await this.loadFaults());
    const checked = check(values, true);
    return 'refused' in checked ? checked : undefined;
  }

  /**
   * A JSON merge patch on the own values of a locale. Those of a default without any are the
   * built-in ones: so it is shown.
   */
  async patch(meta: CommandMeta, locale: string | null, patch: unknown): Promise<ThemeOutcome> {
    const check = checkBy(await this.loadFaults());
    return this.send(meta, {
      locale,
      apply: (values) => {
        if (!isMembers(patch)) return check(patch, false);
        const base = values ?? (locale === null ? { ...BUILT_IN_THEME } : {});
        return check(mergePatch(base, patch), false);
      },
    });
  }

  /** Removes the own values of a locale. */
  remove(meta: CommandMeta, locale: string): Promise<ThemeOutcome> {
    return this.send(meta, { locale, apply: () => ({ values: null, bytes: 0 }) });
  }

  /** Makes the values of a version current again, as a new version. */
  async restore(
    meta: CommandMeta,
    {
      locale,
      version,
      by,
    }: {
      readonly locale: string | null;
      readonly version: number;
      readonly by: Personal<string>;
    },
  ): Promise<ThemeOutcome> {
    const check = checkBy(await this.loadFaults());
    return this.send(meta, {
      locale,
      by,
      restores: version,
      apply: (values) => (values === null ? { values, bytes: 0 } : check(values, false)),
    });
  }

  /** What is shown of a locale, after all changes or those of a state. */
  async shown(
    scope: Scope,
    locale: string | null,
    state?: Pick<ThemesState, 'locales'>,
  ): Promise<Members> {
    return shownTheme(await this.ownValues(scope, fallbacksOf(locale), state), locale);
  }

  /** The own values of these locales, after all changes or those of a state. */
  async ownValues(
    scope: Scope,
    locales: readonly (string | null)[],
    state?: Pick<ThemesState, 'locales'>,
  ): Promise<OwnValues> {
    const of = state ?? (await this.journal.state(scope));
    const own = new Map<string | null, Members>();
    for (const one of locales) {
      const values = await this.journal.valuesOf(scope, of, one);
      if (values !== null) own.set(one, values);
    }
    return own;
  }

  private send(meta: CommandMeta, edit: ThemeEdit): Promise<ThemeOutcome> {
    return this.commands.execute(new ThemeCommandEnvelope(meta, edit));
  }
}

/** What is wrong with a theme's values, one line for each fault. */
type FaultsOf = (values: unknown, of: { readonly isWhole: boolean }) => readonly string[];

type Check = (values: unknown, isWhole: boolean) => EditedTheme | Refused;

/** Loaded with the first change: most commands of operators need neither schema nor templates. */
const faultsBySchema = async (): Promise<FaultsOf> =>
  (await import('./theme-faults.js')).themeFaults;

const checkBy =
  (faultsOf: FaultsOf): Check =>
  (values, isWhole) => {
    const bytes = bytesOf(values);
    if (bytes === undefined) return refused('THEME_INVALID', '/ is nested too deep');
    if (bytes > THEME_BYTES_MAX) return refused('THEME_TOO_LARGE');
    const faults = faultsOf(values, { isWhole });
    if (faults.length > 0) return refused('THEME_INVALID', ...faults);
    if (!isMembers(values)) throw new Error('the schema takes nothing but objects');
    return { values, bytes };
  };

/** As compact JSON. Undefined: nested deeper than the stack is. */
function bytesOf(values: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(values ?? null));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
