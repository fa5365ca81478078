/** The form of every locale, as a pattern: `language` or `language_COUNTRY`. */
export const LOCALE = '[a-z]{2}(?:_[A-Z]{2})?';
const FORM = new RegExp(`^${LOCALE}$`);
export const isLocale = (text: string): boolean => FORM.test(text);

/**
 * Whose own values make up the theme of a locale, the nearest first: the locale, its language, the
 * default (null).
 * @param locale one of another form falls back to the default at once.
 */
export function fallbacksOf(locale: string | null): readonly (string | null)[] {
  if (locale === null || !isLocale(locale)) return [null];
  const language = locale.slice(0, 2);
  return language === locale ? [locale, null] : [locale, language, null];
}

/** Of the built-in texts, and of a default's, which does not name its language. */
export const DEFAULT_LANGUAGE = 'en';
