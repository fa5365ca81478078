const HEADER_CHARACTERS_MAX = 1000;
const LOCALES_MAX = 10;
const RANGE = /^([a-z]{2})(?:-[a-z]{4})?(?:-([a-z]{2}))?(?:-[a-z0-9-]+)?$/i;

/** The visitor's locales (`de_CH`, `de`), best first; empty for an invalid header. */
export function acceptedLocales(header: string | undefined): readonly string[] {
  const ranges = (header ?? '').slice(0, HEADER_CHARACTERS_MAX).split(',');
  const accepted = ranges.flatMap((range) => {
    const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
    const [, language, country] = RANGE.exec(tag) ?? [];
    const quality = qualityIn(parameters);
    if (language === undefined || !(quality > 0)) return [];
    const locale = language.toLowerCase() + (country ? `_${country.toUpperCase()}` : '');
    return [{ locale, quality }];
  });
  const sorted = accepted.sort((a, b) => b.quality - a.quality).map(({ locale }) => locale);
  return [...new Set(sorted)].slice(0, LOCALES_MAX);
}

/** Default 1; NaN for invalid text. */
function qualityIn(parameters: readonly string[]): number {
  const named = parameters.find((parameter) => /^q=/i.test(parameter));
  return named === undefined ? 1 : Number(named.slice(2));
}
