import type { LedgerMode, Scope } from '../domain/scope.js';
import type { Members } from './merge-members.js';
import { resolveTheme, shownTheme } from './resolve-theme.js';
import type { ThemeInstance } from './theme-instance.js';
import { DEFAULT_LANGUAGE, fallbacksOf } from './theme-locale.js';
import type { ThemeRows } from './theme-rows.js';

export interface LocalizedTheme {
  readonly theme: ThemeInstance;
  /** Locale of the texts: the requested one, its language, or the default. */
  readonly locale: string;
}

/** The published themes of all tenants. */
export class Themes {
  constructor(private readonly stored: Pick<ThemeRows, 'ownValues'>) {}

  /**
   * The complete theme of a locale, from its own, its language's, the default and built-in values.
   * @param locale `language` or `language_COUNTRY`; otherwise the default. @throws on failed reads.
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

  /** A locale's theme as its tenant sees it, without built-in values under an own default. */
  async shown(scope: Scope, locale: string | null): Promise<Members> {
    return shownTheme(await this.stored.ownValues(scope, fallbacksOf(locale)), locale);
  }
}
