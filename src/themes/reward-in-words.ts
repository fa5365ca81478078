import type { PromisedValue } from '../domain/program.js';

/** What follows a percentage, by language. */
const OFF: Readonly<Record<string, string>> = {
  en: 'off',
  de: 'Rabatt',
  es: 'de descuento',
  fr: 'de réduction',
  it: 'di sconto',
  nl: 'korting',
  pt: 'de desconto',
};

/**
 * A reward, promised or granted, in a few words for `reward.text` in mails and on pages:
 * `10 % off`, `$10.00`, `500 POINTS`. In a language without words here the figures alone.
 * @param locale `language` or `language_COUNTRY`.
 * @returns null for one that has no figures.
 */
export function rewardInWords(value: PromisedValue, locale: string): string | null {
  switch (value.type) {
    case 'CREDIT':
      return credit(value, locale);
    case 'PCT_DISCOUNT': {
      const months = value.monthsDiscountIsValid;
      const limit = months === null ? '' : ` (${inMonths(months, locale)})`;
      return percent(value.discountPercent, locale) + limit;
    }
    case 'FUELTANK':
      if (value.fuelTankType === 'PCT_DISCOUNT') return percent(value.amount, locale);
      return value.unit === null ? null : `${number(value.amount, locale)} ${value.unit}`;
  }
}

function percent(figure: number, locale: string): string {
  const off = OFF[locale.slice(0, 2)];
  return `${number(figure, locale)} %${off === undefined ? '' : ` ${off}`}`;
}

/** Cents are hundredths of their currency, or whatever its smallest unit is. */
function credit(
  { assignedCredit, unit, currency }: Extract<PromisedValue, { type: 'CREDIT' }>,
  locale: string,
): string {
  if (currency === null || unit.toUpperCase() !== 'CENTS')
    return `${number(assignedCredit, locale)} ${unit}`;
  const money = new Intl.NumberFormat(tagOf(locale), { style: 'currency', currency });
  const { maximumFractionDigits = 2 } = money.resolvedOptions();
  return money.format(assignedCredit / 10 ** maximumFractionDigits);
}

const inMonths = (months: number, locale: string): string =>
  number(months, locale, { style: 'unit', unit: 'month', unitDisplay: 'long' });

const number = (figure: number, locale: string, style: Intl.NumberFormatOptions = {}): string =>
  new Intl.NumberFormat(tagOf(locale), style).format(figure);

const tagOf = (locale: string): string => locale.replace('_', '-');
