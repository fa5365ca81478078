import { LRUCache } from 'lru-cache';
import type { Scope } from '../../domain/scope.js';
import { fallbacksOf } from '../../themes/theme-locale.js';
import type { PageTheme } from '../../themes/theme-instance.js';
import type { Themes } from '../../themes/themes.js';
import { acceptedLocales } from './accept-language.js';

const CACHE_BYTES_MAX = 8 * 1024 * 1024;
const CACHED_MS_MAX = 60_000;
const BYTES_PER_ENTRY = 1024;
const BYTES_PER_CHARACTER = 2;
/** Of the built-in texts, and of what is said in the words of a theme without a locale. */
const DEFAULT_LOCALE = 'en';

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
  private readonly pages = new LRUCache<string, PageTheme>({
    maxSize: CACHE_BYTES_MAX,
    maxEntrySize: CACHE_BYTES_MAX / 8,
    ttl: CACHED_MS_MAX,
    sizeCalculation: (page, key) =>
      BYTES_PER_ENTRY + BYTES_PER_CHARACTER * (JSON.stringify(page).length + key.length),
  });

  constructor(
    private readonly published: PublishedThemes,
    private readonly themes: Themes,
  ) {}

  /** @throws when the read model cannot be read. */
  async find(scope: Scope, acceptLanguage: string | undefined): Promise<ThemeOfVisitor> {
    const versions = await this.published.versions(scope);
    const found = localeFor(acceptedLocales(acceptLanguage), (locale) => versions.has(locale));
    const layers = fallbacksOf(found).map((locale) => [locale, versions.get(locale) ?? null]);
    const key = JSON.stringify([scope.tenant, scope.mode, layers]);
    const locale = found ?? DEFAULT_LOCALE;
    const cached = this.pages.get(key);
    if (cached !== undefined) return { page: cached, locale };
    const { page } = await this.themes.themeFor(scope.tenant, scope.mode, found);
    this.pages.set(key, page);
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
    if (locale.startsWith(DEFAULT_LOCALE)) return null;
  }
  return null;
}
