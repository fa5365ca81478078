/** 1250 with 2 digits is 12.50. */
export interface MoneyFormat {
  readonly currency: string;
  readonly digits: number;
}

/** For people: `$12.50`. Exact for every integer. */
export function moneyText(
  { currency, digits }: MoneyFormat,
  locale = 'en-US',
): (amount: number | bigint) => string {
  const money = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return (amount) => money.format(`${amount}E-${digits}` as `${number}`);
}
