import { Controller, Get } from '@nestjs/common';
import { apiKeyIn } from '../../src/http/credentials/api-key.strategy.js';
import { errorBody } from '../support/error-body.js';
import { API, basic, LIVE, startSampleApp, useSampleApp } from './sample-app.js';

const it_ = useSampleApp();

async function call(path: string, init: RequestInit = {}) {
  const response = await fetch(`${it_.origin}${path}`, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: (text === '' ? undefined : JSON.parse(text)) as Record<string, unknown>,
  };
}

const withKey = (credentials: string): RequestInit => ({
  headers: { authorization: basic(credentials) },
});

const routes = [
  `${API}/whoami`,
  `${API}/nowhere`,
  '/nowhere',
  `${API}/account/%`,
  '/health/live',
  '/openapi.json',
  `${API}/open/whoami`,
];

test("every answer carries the id of its request: the client's own where it can be one", async () => {
  for (const route of routes) {
    for (const own of ['a', 'My request 7!', 'x'.repeat(128)]) {
      expect(
        (await call(route, { headers: { 'request-id': own } })).headers.get('request-id'),
      ).toBe(own);
    }
    for (const own of ['', 'x'.repeat(129), '\u00e9']) {
      const { headers } = await call(route, { headers: { 'request-id': own } });
      expect(headers.get('request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect((await call(route)).headers.get('request-id')).not.toBe(
      (await call(route)).headers.get('request-id'),
    );
  }
  // Whatever it holds, it is not kept.
  expect(it_.logText()).not.toContain('My request 7!');
});

test('every answer may not be sniffed for its type, and not be cached when it may name a person', async () => {
  for (const route of routes) {
    const { headers } = await call(route);
    expect([route, headers.get('x-content-type-options')]).toEqual([route, 'nosniff']);
    const cached = route === '/openapi.json' ? 'public, max-age=300' : 'no-store';
    expect([route, headers.get('cache-control')]).toEqual([route, cached]);
  }
});

const from = (site: string, path: string) =>
  call(path, { headers: { ...LIVE, 'sec-fetch-site': site } });

test.each(['cross-site', 'same-site'])(
  'a page of another site may not use a key that the browser remembers (%s)',
  async (site) => {
    for (const path of [
      `${API}/whoami`,
      `${API}/open/keyed`,
      `${API}/open/whoami`,
      '/openapi.json',
    ]) {
      expect(await from(site, path)).toMatchObject({
        status: 403,
        json: { apiErrorCode: 'FORBIDDEN' },
      });
      const without = await call(path, { headers: { 'sec-fetch-site': site } });
      expect(without.status).toBe(/open\/whoami|openapi/.test(path) ? 200 : 401);
    }
  },
);

test.each(['same-origin', 'none'])(
  'a page of another site is none where the browser says so (%s)',
  async (site) => {
    expect((await from(site, `${API}/whoami`)).status).toBe(200);
  },
);

test.each([
  [':LIVE_acme', 'live'],
  ['LIVE_acme:', 'live'],
  [':TEST_acme', 'test'],
])('the key %s opens %s mode', async (credentials, mode) => {
  const { status, json } = await call(`${API}/whoami`, withKey(credentials));
  expect(status).toBe(200);
  expect(json).toEqual({
    tenant: 'acme',
    mode,
    scope: { tenant: 'acme', mode },
    actor: { kind: 'api-key', id: `key-${mode}-acme` },
  });
});

test.each([
  ['no credentials', {}, 'RS045'],
  ['a wrong key', { authorization: basic(':nope') }, null],
  ["another tenant's key", { authorization: basic(':LIVE_closed') }, null],
  ['a user with a colon', { authorization: basic('a:b:LIVE_acme') }, null],
  ['no colon', { authorization: basic('LIVE_acme') }, null],
  ['another scheme', { authorization: 'Digest abc' }, null],
  ['a bearer token', { authorization: 'Bearer abc.def.ghi' }, 'RS045'],
  ['a user token', { 'x-saasquatch-user-token': 'abc.def.ghi' }, 'RS045'],
  ['a user token next to a key', { ...LIVE, 'x-saasquatch-user-token': 'abc.def.ghi' }, 'RS045'],
])('%s instead of the key: 401 with a challenge', async (_name, headers, rsCode) => {
  for (const path of ['/whoami', '/open/keyed', '/account/1']) {
    const answer = await call(`${API}${path}`, { headers });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
    expect(answer.json).toEqual(errorBody(401, 'UNAUTHORIZED', rsCode));
  }
});

test('the scheme of the key may be in any case', () => {
  expect(apiKeyIn('bAsIc OmtleQ==')).toBe('key');
});

const tooLarge = {
  method: 'POST',
  headers: { 'content-type': 'text/plain' },
  body: 'x'.repeat(1024 * 1024 + 1),
};

test.each([
  ['an unknown route before all', '/api/v1/missing/nowhere', tooLarge, 404, 'NOT_FOUND'],
  [
    'another method before the tenant',
    '/api/v1/missing/whoami',
    tooLarge,
    405,
    'METHOD_NOT_ALLOWED',
  ],
  ['the tenant before credentials', '/api/v1/missing/echo', tooLarge, 404, 'TENANT_NOT_FOUND'],
  ['credentials before the body', '/api/v1/acme/echo', tooLarge, 401, 'UNAUTHORIZED'],
  [
    'the content type before the size',
    '/api/v1/acme/echo',
    { ...tooLarge, headers: { ...tooLarge.headers, ...LIVE } },
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ],
  [
    'the size before the content',
    '/api/v1/acme/echo',
    { ...tooLarge, headers: { 'content-type': 'application/json', ...LIVE } },
    413,
    'PAYLOAD_TOO_LARGE',
  ],
  [
    'what the program allows before the body',
    '/api/v1/payments/accountsync',
    {
      method: 'POST',
      headers: { authorization: basic(':LIVE_payments'), 'content-type': 'application/json' },
      body: '{',
    },
    403,
    'API_REQUEST_NOT_SUPPORTED',
  ],
] as const)('the order of checks: %s', async (_name, path, init, status, code) => {
  const answer = await call(path, init);
  expect([answer.status, answer.json['apiErrorCode']]).toEqual([status, code]);
  expect(it_.sample.entered).not.toContain('echo');
});

test.each(['Acme', 'ac%20me', 'a'.repeat(65), '%F0%9F%98%80', 'missing', '%00'])(
  'the tenant %s: 404 RS015',
  async (alias) => {
    const { status, json } = await call(`/api/v1/${alias}/whoami`, { headers: LIVE });
    expect(status).toBe(404);
    expect(json).toMatchObject({ apiErrorCode: 'TENANT_NOT_FOUND', rsCode: 'RS015' });
  },
);

test('a public open endpoint is live without credentials, and a key decides the mode', async () => {
  expect((await call(`${API}/open/whoami`)).json).toMatchObject({
    mode: 'live',
    actor: { kind: 'anyone' },
  });
  expect((await call(`${API}/open/whoami`, withKey(':TEST_acme'))).json).toMatchObject({
    mode: 'test',
    actor: { kind: 'api-key' },
  });
});

test('a route without an access rule prevents the start', async () => {
  @Controller('forgotten')
  class Forgotten {
    @Get()
    get() {
      return {};
    }
  }
  await expect(startSampleApp({}, [Forgotten])).rejects.toThrow(
    'GET /forgotten does not say who may call it',
  );
});
