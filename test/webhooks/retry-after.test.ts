import { retryAfterMs } from '../../src/webhooks/sending/retry-after.js';

/** What `Retry-After` asks for, in the forms of RFC 9110. */

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 6, 7, 49, 37);

it.each([
  ['Fri, 06 Nov 2026 08:49:37 GMT', HOUR],
  ['Friday, 06-Nov-26 08:49:37 GMT', HOUR],
  ['Fri Nov  6 08:49:37 2026', HOUR],
  ['Fri Nov 06 08:49:37 2026', HOUR],
  ['Wednesday, 18-Nov-26 07:49:37 GMT', 12 * 24 * HOUR],
  ['Wed Nov 18 07:49:37 2026', 12 * 24 * HOUR],
  ['3600', HOUR],
])('%j is an hour, or twelve days, ahead', (value, expected) => {
  expect(retryAfterMs(value, NOW)).toBe(expected);
});

it('a time in the past requires no pause', () => {
  expect(retryAfterMs('Sunday, 06-Nov-94 08:49:37 GMT', NOW)).toBe(0);
  expect(retryAfterMs('Sun Nov  6 08:49:37 1994', NOW)).toBe(0);
});

it.each([
  'Fri, 06 Nov 2026 08:49:37 CET',
  'Friday, 06-Foo-26 08:49:37 GMT',
  'Fri Nov  6 25:49:37 2026',
  ' 3600',
])('%j is no time', (value) => {
  expect(retryAfterMs(value, NOW)).toBeNull();
});

it('the first of several counts, and none is none', () => {
  expect(retryAfterMs(['60', '120'], NOW)).toBe(60_000);
  expect(retryAfterMs(undefined, NOW)).toBeNull();
});
