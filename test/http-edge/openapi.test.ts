import type { describeInterface } from '../../src/http/shapes/openapi.js';
import { useSampleApp } from './sample-app.js';

const it_ = useSampleApp();

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
