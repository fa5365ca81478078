/** Currencies of ISO 4217 whose minor unit is not a hundredth, by its digits. */
const DIGITS: ReadonlyMap<string, number> = new Map([
  ...digits(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...digits(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...digits(4, 'CLF UYW'),
]);

function digits(count: number, currencies: string): readonly (readonly [string, number])[] {
  return currencies.split(' ').map((currency) => [currency, count] as const);
}

/** Digits of the minor unit. @param currency in upper case. */
export const minorDigitsOf = (currency: string): number => DIGITS.get(currency) ?? 2;
