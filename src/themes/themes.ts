import type { LedgerMode, Scope } from '../domain/scope.js';
import type { Members } from './merge-members.js';
import { resolveTheme, shownTheme } from './resolve-theme.js';
import type { ThemeInstance } from './theme-instance.js';
import { DEFAULT_LANGUAGE, fallbacksOf } from './theme-locale.js';
import type { ThemeRows } from './theme-rows.js';

export interface LocalizedTheme {
  readonly theme: ThemeInstance;
  /**
   * `language` or `language_COUNTRY`, in which its texts are: the one that was asked for, unless
   * neither it nor its language has values.
   */
  readonly locale: string;
}

/** The themes of all tenants, as they are published. */
export class Themes {
  constructor(private readonly stored: Pick<ThemeRows, 'ownValues'>) {}

  /**
   * The theme of a locale: complete, each member from the nearest of locale, language, default and
   * built-in values that has it.
   * @param locale `language` or `language_COUNTRY`; null, or one of another form: the default.
   * @throws when the read model cannot be read.
   */
  async themeFor(tenant: string, mode: LedgerMode, locale: string | null): Promise<LocalizedTheme> {
    const fallbacks = fallbacksOf(locale);
    const own = await this.stored.ownValues({ tenant, mode }, fallbacks);
    const theme = resolveTheme(...fallbacks.map((one) => own.get(one) ?? {}));
    const isTranslated = fallbacks.some(
      (one) => one !== null && (one === DEFAULT_LANGUAGE || own.has(one)),
    );
    return { theme, locale: isTranslated && locale !== null ? locale : DEFAULT_LANGUAGE };
  }

  /**
   * What a tenant is shown of a locale: without built-in values for what its default leaves out.
   */
  async shown(scope: Scope, locale: string | null): Promise<Members> {
    return shownTheme(await this.stored.ownValues(scope, fallbacksOf(locale)), locale);
  }
}
