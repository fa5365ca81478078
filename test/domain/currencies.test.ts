import { CURRENCIES, isCurrency } from '../../src/domain/currencies.js';

it('the list has the currencies that ISO 4217 lists or listed, each once, in upper case', () => {
  expect(['USD', 'XCG', 'ZWG', 'SLE', 'DEM', 'HRK'].filter(isCurrency)).toHaveLength(6);
  expect(['usd', 'ABC', 'EURO', '', 'constructor'].filter(isCurrency)).toEqual([]);
  expect(new Set(CURRENCIES).size).toBe(CURRENCIES.length);
  expect(CURRENCIES.filter((code) => !/^[A-Z]{3}$/.test(code))).toEqual([]);
});
