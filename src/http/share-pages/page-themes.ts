import type { Scope } from '../../domain/scope.js';
import { DEFAULT_LANGUAGE, fallbacksOf } from '../../themes/theme-locale.js';
import type { PageTheme } from '../../themes/theme-instance.js';
import type { Themes } from '../../themes/themes.js';
import { acceptedLocales } from './accept-language.js';
import { TenantCaches } from './tenant-caches.js';

const CACHED_MS_MAX = 60_000;

/** Reads which locales of a tenant have values of their own, without the values. */
export interface PublishedThemes {
  /** By locale, null for the default: the version of its own values. */
  versions(scope: Scope): Promise<ReadonlyMap<string | null, number>>;
}

export interface ThemeOfVisitor {
  readonly page: PageTheme;
  /** `language` or `language_COUNTRY`: that of the texts. */
  readonly locale: string;
}

/**
 * What themes say about the page behind a share link. A theme has up to 256 KiB: its page is kept
 * until the theme changes.
 */
export class PageThemes {
  private readonly pages = new TenantCaches<PageTheme>(
    (page) => JSON.stringify(page).length,
    CACHED_MS_MAX,
  );

  constructor(
    private readonly published: PublishedThemes,
    private readonly themes: Themes,
  ) {}

  /** @throws when the read model cannot be read. */
  async find(scope: Scope, acceptLanguage: string | undefined): Promise<ThemeOfVisitor> {
    const versions = await this.published.versions(scope);
    const found = localeFor(acceptedLocales(acceptLanguage), (locale) => versions.has(locale));
    const layers = fallbacksOf(found).map((locale) => [locale, versions.get(locale) ?? null]);
    const key = JSON.stringify([scope.mode, layers]);
    const locale = found ?? DEFAULT_LANGUAGE;
    const cached = this.pages.get(scope.tenant, key);
    if (cached !== undefined) return { page: cached, locale };
    const { page } = (await this.themes.themeFor(scope.tenant, scope.mode, found)).theme;
    this.pages.set(scope.tenant, key, page);
    return { page, locale };
  }
}

/**
 * The first of these locales that has values of its own, or whose language has. Null: none has
 * before English, which is the language of a theme's default.
 */
export function localeFor(
  locales: readonly string[],
  isPublished: (locale: string) => boolean,
): string | null {
  for (const locale of locales) {
    const found = fallbacksOf(locale).find((one) => one !== null && isPublished(one));
    if (found !== undefined) return found;
    if (locale.startsWith(DEFAULT_LANGUAGE)) return null;
  }
  return null;
}
