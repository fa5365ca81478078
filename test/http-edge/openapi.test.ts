import { describeInterface } from '../../src/http/shapes/openapi.js';
import { OpenApiValidator } from '../harness/openapi-validator.js';
import { API, LIVE, startSampleApp, type SampleApp } from './sample-app.js';

let it_: SampleApp;
beforeAll(async () => {
  it_ = await startSampleApp();
});
afterAll(() => it_.app.close());

test('/openapi.json describes routes, security, errors and header fields', async () => {
  const response = await fetch(`${it_.origin}/openapi.json`);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/json; charset=utf-8',
  ]);
  const document = (await response.json()) as ReturnType<typeof describeInterface>;
  expect(document.openapi).toBe('3.1.0');
  expect(document.components?.securitySchemes).toEqual({
    apiKey: expect.objectContaining({ type: 'http', scheme: 'basic' }) as unknown,
    userToken: expect.objectContaining({
      type: 'apiKey',
      in: 'header',
      name: 'X-SaaSquatch-User-Token',
    }) as unknown,
    bearerToken: expect.objectContaining({ type: 'http', scheme: 'bearer' }) as unknown,
    operatorKey: expect.objectContaining({ type: 'http', scheme: 'basic' }) as unknown,
  });
  const account = document.paths['/api/v1/{tenantAlias}/account/{accountId}']?.get;
  expect(account?.security).toEqual([{ apiKey: [] }]);
  expect(
    account?.parameters?.map((parameter) => ('name' in parameter ? parameter.name : '')),
  ).toEqual(['accountId', 'tenantAlias', 'Ledger-Position-At-Least']);
  expect(Object.keys(account?.responses ?? {}).join(' ')).toBe('200 400 401 403 404 429 500 503');
  expect(account?.responses['404']).toMatchObject({
    content: {
      'application/json': {
        schema: {
          allOf: [
            {},
            { properties: { apiErrorCode: { enum: ['ACCOUNT_NOT_FOUND', 'TENANT_NOT_FOUND'] } } },
          ],
        },
      },
    },
  });
  const sync = document.paths['/api/v1/{tenantAlias}/accountsync']?.post;
  expect(sync?.parameters?.map((parameter) => ('name' in parameter ? parameter.name : ''))).toEqual(
    ['tenantAlias', 'Idempotency-Key'],
  );
  expect(Object.keys(sync?.responses ?? {}).join(' ')).toBe(
    '200 400 401 403 404 409 413 415 422 429 500 503',
  );
  expect(sync?.responses['200']).toMatchObject({
    headers: { 'Ledger-Position': {}, 'Idempotency-Replayed': {} },
  });
  expect(document.paths['/api/v1/{tenantAlias}/open/whoami']?.get?.security).toEqual([
    {},
    { apiKey: [] },
    { userToken: [] },
    { bearerToken: [] },
  ]);
  expect(JSON.stringify(document)).not.toMatch(/"x-(?!codeSamples")/);
});

test('the page loads from this service alone', async () => {
  for (const path of ['/docs', '/docs/']) {
    const page = await fetch(`${it_.origin}${path}`);
    const html = await page.text();
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(html).not.toMatch(/https?:/);
    const parts = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, part]) => part);
    expect(parts).toEqual([
      '/docs/reference.css',
      '/openapi.json',
      '/docs/errors',
      '/docs/viewer.js',
      '/docs/start.js',
    ]);
    for (const part of parts) {
      const loaded = await fetch(`${it_.origin}${part}`);
      expect([part, loaded.status]).toEqual([part, 200]);
      expect((await loaded.arrayBuffer()).byteLength).toBeGreaterThan(50);
    }
  }
});

describe('the validator', () => {
  const validator = () => new OpenApiValidator(describeInterface(it_.app, { version: '0.0.0' }));

  async function received(path: string, headers: Record<string, string> = LIVE) {
    const response = await fetch(`${it_.origin}${path}`, { headers });
    return { method: 'GET', path, status: response.status, body: await response.json() };
  }

  test('names the members that do not fit', async () => {
    const held = validator();
    const good = await received(`${API}/account/1`);
    const body = good.body as Record<string, unknown>;
    const problemsOf = (change: Record<string, unknown>) =>
      held.problems({ ...good, body: { ...body, ...change } });
    expect(problemsOf({})).toEqual([]);
    expect(problemsOf({ currency: 1 })).toEqual([
      expect.stringContaining('/currency must be string'),
    ]);
    expect(problemsOf({ currency: null })).toHaveLength(1);
    expect(problemsOf({ surprise: 1 })).toEqual([expect.stringContaining('additional properties')]);
    expect(problemsOf({ subscription: { status: 'NONE' } })).toHaveLength(1);
    expect(problemsOf({ referral: { code: 'A' } })).toEqual([]);
    expect(problemsOf({ referral: { code: null } }).length).toBeGreaterThan(0);
    expect(held.problems({ ...good, body: {} }).length).toBeGreaterThan(1);
    expect(held.problems({ ...good, status: 418 })).toEqual([
      expect.stringContaining('the status is not described'),
    ]);
    expect(held.problems({ ...good, path: '/elsewhere' })).toEqual([
      expect.stringContaining('is not described'),
    ]);
    const wrongCode = {
      statusCode: 404,
      message: '',
      apiErrorCode: 'REWARD_NOT_FOUND',
      rsCode: null,
    };
    expect(held.problems({ ...good, status: 404, body: wrongCode }).length).toBeGreaterThan(0);
  });
});
