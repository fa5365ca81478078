import { typedAmount } from '../../src/console/view/typed-amount.js';

const DOLLARS = { currency: 'USD', digits: 2 };

test.each([
  ['12.50', DOLLARS, 1_250],
  ['12,5', DOLLARS, 1_250],
  ['125', DOLLARS, 12_500],
  ['-3', DOLLARS, -300],
  ['−3', DOLLARS, -300],
  ['1.250', { currency: 'KWD', digits: 3 }, 1_250],
  ['1250', undefined, 1_250],
])('%s is read in the decimals of its unit', (typed, format, amount) => {
  expect(typedAmount(typed, format)).toEqual({ amount });
});

test.each([
  ['1,250.00', DOLLARS, '1250.00 or 1.25'],
  ['1.250,00', DOLLARS, '1250.00 or 1.25'],
  ['1,250', DOLLARS, '1250.00 or 1.25'],
  ['1,250', undefined, '1250 or 1.25'],
  ['12.505', DOLLARS, '12505.00 or 12.505'],
  ['1.2345', DOLLARS, 'USD has 2 decimals'],
  ['12.5', undefined, 'whole number'],
  ['0', DOLLARS, 'must not be 0'],
  ['five', DOLLARS, 'such as 12.50'],
  ['', undefined, 'such as 500'],
])('%s is refused with what to type', (typed, format, problem) => {
  expect(typedAmount(typed, format)).toEqual({ problem: expect.stringContaining(problem) });
});
