import { moneyText } from '../domain/money.js';
import type { PromisedValue } from '../domain/program.js';
import { formatOf, type UnitSettings } from '../domain/tenant/unit-settings.js';

/** Words after a percentage, by language. */
const OFF: Readonly<Record<string, string>> = {
  en: 'off',
  de: 'Rabatt',
  es: 'de descuento',
  fr: 'de réduction',
  it: 'di sconto',
  nl: 'korting',
  pt: 'de desconto',
};

interface UnitsOfReward extends Pick<UnitSettings, 'formats'> {
  readonly currency?: string | null;
}

/**
 * A reward in words, for `reward.text` in mails and on pages: `10 % off`, `$10.00`, `500 POINTS`.
 * Other languages get figures only. @param locale `language` or `language_COUNTRY`.
 * @param of formats of the tenant's units, and the account's currency.
 * @returns null without figures.
 */
export function rewardInWords(
  value: PromisedValue,
  locale: string,
  { formats, currency: ofAccount = null }: UnitsOfReward,
): string | null {
  const inUnit = (amount: number, unit: string, currency: string | null): string => {
    const format = Number.isInteger(amount)
      ? formatOf(formats, unit, currency ?? ofAccount)
      : undefined;
    return format === undefined
      ? `${number(amount, locale)} ${unit}`
      : moneyText(format, tagOf(locale))(amount);
  };
  switch (value.type) {
    case 'CREDIT':
      return inUnit(value.assignedCredit, value.unit, value.currency);
    case 'PCT_DISCOUNT': {
      const months = value.monthsDiscountIsValid;
      const limit = months === null ? '' : ` (${inMonths(months, locale)})`;
      return percent(value.discountPercent, locale) + limit;
    }
    case 'FUELTANK':
      if (value.fuelTankType === 'PCT_DISCOUNT') return percent(value.amount, locale);
      return value.unit === null ? null : inUnit(value.amount, value.unit, null);
  }
}

function percent(figure: number, locale: string): string {
  const off = OFF[locale.slice(0, 2)];
  return `${number(figure, locale)} %${off === undefined ? '' : ` ${off}`}`;
}

const inMonths = (months: number, locale: string): string =>
  number(months, locale, { style: 'unit', unit: 'month', unitDisplay: 'long' });

const number = (figure: number, locale: string, style: Intl.NumberFormatOptions = {}): string =>
  new Intl.NumberFormat(tagOf(locale), style).format(figure);

const tagOf = (locale: string): string => locale.replace('_', '-');
