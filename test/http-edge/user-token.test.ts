import {
  createHmac,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import jwt from 'jsonwebtoken';
import { UserTokenStrategy } from '../../src/http/credentials/user-token.strategy.js';
import type { TokenRules } from '../../src/http/credentials/user-token.js';

const NOW = Date.now();
const seconds = (ms: number): number => Math.floor((NOW + ms) / 1000);
const LIVE = {
  id: 'live',
  mode: 'live',
  secret: createSecretKey(Buffer.from('live-sécret')),
} as const;
const TEST = {
  id: 'test',
  mode: 'test',
  secret: createSecretKey(Buffer.from('test-secret')),
} as const;
const RULES: TokenRules = { tenant: 'shop', mustExpire: false, notBefore: null };

const encoded = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function signed(
  payload: unknown,
  header: unknown = { alg: 'HS256', typ: 'JWT' },
  secret: KeyObject = LIVE.secret,
): string {
  const input = `${encoded(header)}.${encoded(payload)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

const strategy = new UserTokenStrategy();
const verify = (token: string, rules: Partial<TokenRules> = {}) =>
  strategy.verify([token], [TEST, LIVE], { ...RULES, ...rules });
const USER = { id: 'u', accountId: 'a' };
const GOOD = { user: USER };

test.each([
  ['user', GOOD, { kind: 'user', accountId: 'a', userId: 'u', fields: {} }],
  [
    'user with more',
    { user: { ...USER, email: 'a@b.cc' } },
    { kind: 'user', accountId: 'a', userId: 'u', fields: { email: 'a@b.cc' } },
  ],
  [
    'user with ids that are numbers',
    { user: { id: 7, accountId: 12.5 } },
    { kind: 'user', accountId: '12.5', userId: '7', fields: {} },
  ],
  ['sub', { sub: 'a:u@shop:users' }, { kind: 'user', accountId: 'a', userId: 'u', fields: {} }],
  [
    'sub of an e-mail address',
    { sub: 'a:b:u@x.io@shop:users' },
    { kind: 'user', accountId: 'a', userId: 'b:u@x.io', fields: {} },
  ],
  [
    'user and the same sub',
    { ...GOOD, sub: 'a:u@shop:users' },
    { kind: 'user', accountId: 'a', userId: 'u', fields: {} },
  ],
  [
    'user and a sub of another form',
    { ...GOOD, sub: 'login-7' },
    { kind: 'user', accountId: 'a', userId: 'u', fields: {} },
  ],
  ['unauthenticated', { authentication: 'unauthenticated' }, { kind: 'anonymous', fields: {} }],
  ['anonymous', { allowAnonymous: true, ...GOOD }, { kind: 'anonymous', fields: {} }],
  [
    'an exp to come',
    { ...GOOD, exp: seconds(60_000) },
    { kind: 'user', accountId: 'a', userId: 'u', fields: {} },
  ],
  [
    'claims of others',
    { ...GOOD, iss: 'x', aud: 'y', jti: 'z' },
    { kind: 'user', accountId: 'a', userId: 'u', fields: {} },
  ],
])('a good token names its user: %s', async (_name, claims, subject) => {
  expect(await verify(signed(claims))).toStrictEqual({ subject, signedWith: LIVE });
});

test('a good token is verified with the secret that signed it, in UTF-8', async () => {
  expect((await verify(signed(GOOD, { alg: 'HS256' }, TEST.secret)))?.signedWith).toBe(TEST);
  expect((await verify(jwt.sign(GOOD, 'live-sécret', { algorithm: 'HS256' })))?.signedWith).toBe(
    LIVE,
  );
});

test('a good token may name a key, or an address of keys, without effect', async () => {
  const header = {
    alg: 'HS256',
    kid: '../../dev/null',
    jku: 'https://evil.example/keys',
    jwk: { kty: 'oct', k: encoded('evil') },
  };
  expect((await verify(signed(GOOD, header)))?.signedWith).toBe(LIVE);
  expect(await verify(signed(GOOD, header, createSecretKey(Buffer.from('evil'))))).toBeUndefined();
});

test('a good token must expire when the tenant requires it', async () => {
  expect(await verify(signed(GOOD), { mustExpire: true })).toBeUndefined();
  expect(
    await verify(signed({ ...GOOD, exp: seconds(60_000) }), { mustExpire: true }),
  ).toBeDefined();
});

test('the times of a token may lie a minute off, for exp and nbf, and not more', async () => {
  for (const [claims, isGood] of [
    [{ exp: seconds(-50_000) }, true],
    [{ exp: seconds(-70_000) }, false],
    [{ nbf: seconds(50_000) }, true],
    [{ nbf: seconds(70_000) }, false],
  ] as const)
    expect([claims, (await verify(signed({ ...GOOD, ...claims }))) !== undefined]).toEqual([
      claims,
      isGood,
    ]);
});

test('the times of a token may not be before the moment that the tenant names', async () => {
  const rules = { notBefore: seconds(-10_000) * 1000 };
  for (const [claims, isGood] of [
    [{ iat: seconds(-10_000) }, true],
    [{ iat: seconds(-11_000) }, false],
    [{ iat: String(seconds(0)) }, false],
    [{}, false],
  ] as const)
    expect([claims, (await verify(signed({ ...GOOD, ...claims }), rules)) !== undefined]).toEqual([
      claims,
      isGood,
    ]);
  expect(await verify(signed({ ...GOOD, iat: 1 }))).toBeDefined();
});

const [header, payload, signature] = signed(GOOD).split('.');
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const asymmetric = `${encoded({ alg: 'RS256' })}.${encoded(GOOD)}`;
const hs512 = `${encoded({ alg: 'HS512' })}.${encoded(GOOD)}`;
const kinds: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['two parts', `${header}.${payload}`],
  ['four parts', `${header}.${payload}.${signature}.${signature}`],
  ['no signature', `${header}.${payload}.`],
  ['a signature cut short', `${header}.${payload}.${signature?.slice(0, -1)}`],
  [
    'a signature with another last bit',
    `${header}.${payload}.${signature?.slice(0, -1)}${signature?.endsWith('9') ? '8' : '9'}`,
  ],
  ['padding', `${header}.${payload}.${signature}=`],
  ['a blank', ` ${header}.${payload}.${signature}`],
  ['another secret', signed(GOOD, { alg: 'HS256' }, createSecretKey(Buffer.from('guess')))],
  ['alg none', `${encoded({ alg: 'none' })}.${encoded(GOOD)}.`],
  ['alg none with a signature', signed(GOOD, { alg: 'none' })],
  ['alg in another case', signed(GOOD, { alg: 'hs256' })],
  ['no alg', signed(GOOD, {})],
  ['HS512', `${hs512}.${createHmac('sha512', LIVE.secret).update(hs512).digest('base64url')}`],
  [
    'RS256',
    `${asymmetric}.${sign('sha256', Buffer.from(asymmetric), privateKey).toString('base64url')}`,
  ],
  ['a header with crit', signed(GOOD, { alg: 'HS256', crit: ['exp'] })],
  ['a header that is no object', signed(GOOD, '"HS256"')],
  ['claims that are no JSON', signed('{')],
  ['claims that are a list', signed([GOOD])],
  [
    'no UTF-8',
    signed(GOOD).replace(encoded(GOOD), Buffer.from([0xff, 0xfe]).toString('base64url')),
  ],
  ['neither user nor sub', signed({})],
  ['user and the sub of another account', signed({ ...GOOD, sub: 'b:u@shop:users' })],
  ['user and the sub of another user', signed({ ...GOOD, sub: 'a:v@shop:users' })],
  ['user and the sub of another tenant', signed({ ...GOOD, sub: 'a:u@shoe:users' })],
  ['user null', signed({ user: null })],
  ['no id', signed({ user: { accountId: 'a' } })],
  ['no account', signed({ user: { id: 'u' } })],
  ['an empty id', signed({ user: { id: '', accountId: 'a' } })],
  ['an id with a control character', signed({ user: { id: 'a\nb', accountId: 'a' } })],
  ['an id that is an object', signed({ user: { id: {}, accountId: 'a' } })],
  ['a sub of another tenant', signed({ sub: 'a:u@shoe:users' })],
  ['a sub that hides a tenant', signed({ sub: 'a:u@shop:users@shoe:users' })],
  ['a sub without account', signed({ sub: ':u@shop:users' })],
  ['a sub of something else', signed({ sub: 'a:u@shop:accounts' })],
  ['a sub that is no text', signed({ sub: 5 })],
  ['expired', signed({ ...GOOD, exp: seconds(-120_000) })],
  ['an exp that is no number', signed({ ...GOOD, exp: String(seconds(60_000)) })],
  ['an exp in null', signed({ ...GOOD, exp: null })],
  ['not yet good', signed({ ...GOOD, nbf: seconds(120_000) })],
];

test.each(kinds)('a bad token %s', async (_name, token) => {
  expect(await verify(token)).toBeUndefined();
});
