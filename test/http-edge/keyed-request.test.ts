import { keyedRequest } from '../../src/http/writing/keyed-request.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import type { TokenSubject } from '../../src/http/credentials/user-token.js';

const names = new KeyedNames(Buffer.alloc(32, 1));
type Call = Parameters<typeof keyedRequest>[0];

const call = (over: Partial<Call> = {}): Call => ({
  scope: { tenant: 'acme', mode: 'live' },
  actor: { kind: 'api-key', id: 'k1' },
  method: 'POST',
  target: '/api/v1/acme/credit/r/redeem',
  headers: { 'idempotency-key': 'order-4711' },
  body: { amount: 1 },
  ...over,
});
const withToken = (subject: TokenSubject, over: Partial<Call> = {}): Call =>
  call({ actor: { kind: 'user-token', id: 's1' }, token: subject, ...over });
const user = (accountId: string, userId: string, fields = {}): TokenSubject => ({
  kind: 'user',
  accountId,
  userId,
  fields,
});
const keyOf = (one: Call) => keyedRequest(one, names)?.key;

it('the set of a key is another one for the API keys of each tenant and mode, and for each user', () => {
  const sets = [
    call(),
    call({ scope: { tenant: 'acme', mode: 'test' } }),
    call({ scope: { tenant: 'other', mode: 'live' } }),
    withToken(user('a', 'u')),
    withToken(user('a', 'v')),
    withToken(user('b', 'u')),
    withToken(user('a', 'u'), { scope: { tenant: 'acme', mode: 'test' } }),
    withToken(user('a', 'u'), { scope: { tenant: 'other', mode: 'live' } }),
  ];
  const keys = sets.map(keyOf);
  expect(keys).toEqual(keys.map(() => expect.stringMatching(/^[0-9a-f]{64}$/) as unknown));
  expect(new Set(keys).size).toBe(sets.length);
});

it('the set of a key is one for all API keys of a tenant and mode', () => {
  expect(keyOf(call({ actor: { kind: 'api-key', id: 'k2' } }))).toBe(keyOf(call()));
  // As events of earlier releases carry it.
  expect(keyOf(call())).toBe(names.digest('idempotency-key', 'acme', 'live', 'order-4711'));
});

it('the set of a key is one for all tokens of a user', () => {
  const actor = { kind: 'user-token', id: 's2' } as const;
  expect(keyOf(withToken(user('a', 'u', { firstName: 'Ann' }), { actor }))).toBe(
    keyOf(withToken(user('a', 'u'))),
  );
});

it.each(['order-4711', ''])(
  'the set of a key does not exist for an anonymous token: %j has no effect',
  (key) => {
    const anonymous = { kind: 'anonymous', fields: {} } as const;
    const headers = { 'idempotency-key': key };
    expect(keyedRequest(withToken(anonymous, { headers }), names)).toBeUndefined();
  },
);

test.each([1, 255])('a key may have %d printable characters', (length) => {
  const key = '~!"\\{}| '.repeat(32).slice(0, length);
  expect(keyOf(call({ headers: { 'idempotency-key': key } }))).toMatch(/./);
});

test.each(['x'.repeat(256), '', 'a\tb', 'clé'])('%j is no key', (key) => {
  expect(() => keyOf(call({ headers: { 'idempotency-key': key } }))).toThrow(
    expect.objectContaining({ code: 'BAD_REQUEST' }) as Error,
  );
});

const fingerprintOf = (over: Partial<Call>) => keyedRequest(call(over), names)?.fingerprint;
const at = (path: string) => ({ target: `/api/v1/acme${path}` });

it.each([
  ['/user/u/block', '/user/%75/block'],
  ['/user/u/block', '/user/u/block/'],
  ['/user/u/block', '/user/u/block?'],
  ['/user/u/block', '/user/u/block/?'],
  ['/user/a@b', '/user/a%40b'],
  ['/user/a%2Fb', '/user/a%2fb'],
  ['/user/%C3%A9', '/user/%c3%a9'],
  ['/user/u?x=%75', '/user/u?x=u'],
])('a request %s is the same one as %s', (one, other) => {
  expect(fingerprintOf(at(other))).toBe(fingerprintOf(at(one)));
});

const BODY = '{"amount":2,"unit":"CENTS","more":{"b":[1,2],"a":null}}';
const ofBody = (text: string) => fingerprintOf({ body: JSON.parse(text) as unknown });

it.each([
  '{"more":{"a":null,"b":[1,2]}, "unit":"CENTS", "amount":2}',
  '{"amount":2.0,"unit":"\\u0043ENTS","more":{"b":[1e0,2],"a":null}}',
])('a request is the same one with the body %s', (text) => expect(ofBody(text)).toBe(ofBody(BODY)));

it.each([
  '{"amount":2,"unit":"CENTS"}',
  '{"amount":2,"unit":"cents","more":{"b":[1,2],"a":null}}',
  '{"amount":2,"unit":"CENTS","more":{"b":[2,1],"a":null}}',
])('a request is another one with the body %s', (text) =>
  expect(ofBody(text)).not.toBe(ofBody(BODY)),
);

it.each([
  ['/user/a%2Fb', '/user/a/b'],
  ['/user/a%252Fb', '/user/a%2Fb'],
  ['/user/u%3Fx', '/user/u?x'],
  ['/user/u', '/user/U'],
  ['/user/u', '/user/u?x=1'],
  ['/user/u?x=1&x=2', '/user/u?x=2&x=1'],
])('a request %s is another one than %s', (one, other) => {
  expect(fingerprintOf(at(other))).not.toBe(fingerprintOf(at(one)));
});
