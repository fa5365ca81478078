import Negotiator from 'negotiator';

const HEADER_CHARACTERS_MAX = 1000;
const LOCALES_MAX = 10;
const TAG = /^([a-z]{2})(?:-[a-z]{4})?(?:-([a-z]{2}))?(?:-[a-z0-9-]+)?$/i;

/** The visitor's locales (`de_CH`, `de`), best first; empty for an invalid header. */
export function acceptedLocales(header = ''): readonly string[] {
  const headers = { 'accept-language': header.slice(0, HEADER_CHARACTERS_MAX) };
  const locales = new Negotiator({ headers }).languages().flatMap((tag) => {
    const [, language, country] = TAG.exec(tag) ?? [];
    if (language === undefined) return [];
    return language.toLowerCase() + (country ? `_${country.toUpperCase()}` : '');
  });
  return [...new Set(locales)].slice(0, LOCALES_MAX);
}
