import { sessionTokensIn } from '../../src/console/sessions/session-cookie.js';
import { ownPage } from '../../src/console/sessions/wanted-page.js';

test.each([
  ['/console/demo/live/users?q=ann', '/console/demo/live/users?q=ann'],
  ['/console/a/../b', '/console/b'],
  ['/console/%2e%2e/%2E%2e/evil', undefined],
  ['/console/..\\..\\evil', undefined],
  ['/console/../api/v1', undefined],
  ['/console//evil.example', undefined],
  ['/console/%2fevil.example', undefined],
  ['//evil.example/console/', undefined],
  ['/console', undefined],
  ['/console/a b', undefined],
  ['/console/ü', undefined],
  [`/console/${'x'.repeat(1_000)}`, undefined],
])('the page %s before sign-in leads to %s after it', (path, page) => {
  expect(ownPage(path)).toBe(page);
});

test('every session cookie counts, up to eight', () => {
  const token = (n: number): string => String(n).padEnd(43, 'x');
  const cookies = Array.from({ length: 9 }, (_, n) => `ledger_console=${token(n)}`);
  expect(sessionTokensIn(['a=b', 'ledger_console=short', ...cookies].join('; '))).toEqual(
    Array.from({ length: 8 }, (_, n) => token(n)),
  );
  expect(sessionTokensIn(undefined)).toEqual([]);
});
