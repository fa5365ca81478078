import { grantLimitOf, type UnitSettings } from '../../src/domain/tenant/unit-settings.js';

const settings: UnitSettings = {
  formats: [
    { unit: 'MILLIS', currency: 'USD', digits: 3 },
    { unit: 'YEN', currency: 'JPY', digits: 0 },
  ],
  grantLimits: [{ unit: 'POINTS', amount: 500 }],
};

test.each([
  ['POINTS', 500],
  ['points', 500],
  ['MILLIS', 100_000],
  ['yen', 100],
  ['CENTS', 10_000],
  ['STARS', 10_000],
])('support grants %s up to %d by the settings, or 100.00 of a currency', (unit, limit) => {
  expect(grantLimitOf(settings, unit)).toBe(limit);
});
