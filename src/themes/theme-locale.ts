/** Pattern of locales: `language` or `language_COUNTRY`. */
export const LOCALE = '[a-z]{2}(?:_[A-Z]{2})?';
const FORM = new RegExp(`^${LOCALE}$`);
export const isLocale = (text: string): boolean => FORM.test(text);

/** The locale, its language and the default (null); for another form the default only. */
export function fallbacksOf(locale: string | null): readonly (string | null)[] {
  if (locale === null || !isLocale(locale)) return [null];
  const language = locale.slice(0, 2);
  return language === locale ? [locale, null] : [locale, language, null];
}

/** Language of built-in and default texts. */
export const DEFAULT_LANGUAGE = 'en';
