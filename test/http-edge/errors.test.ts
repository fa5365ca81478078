import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { API_ERROR_CODES, API_ERRORS, ApiError } from '../../src/http/edge/api-error.js';
import { errorTexts } from '../../src/http/reference/error-texts.js';
import { errorBody } from '../support/error-body.js';
import { API, LIVE, useSampleApp } from './sample-app.js';

const it_ = useSampleApp();

const get = async (path: string) => {
  const response = await fetch(`${it_.origin}${API}${path}`, { headers: LIVE });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    retryAfter: response.headers.get('retry-after'),
    json: await response.json(),
  };
};

test.each([
  ['/fail/any', 500, { ...errorBody(500, 'INTERNAL'), message: 'Internal error' }],
  ['/fail/string', 500, { ...errorBody(500, 'INTERNAL'), message: 'Internal error' }],
  ['/fail/away', 503, errorBody(503, 'UNAVAILABLE')],
  ['/fail/nest', 400, { ...errorBody(400, 'BAD_REQUEST'), validationErrors: [] }],
  ['/account/missing', 404, errorBody(404, 'ACCOUNT_NOT_FOUND', 'RS041')],
])('%s: %i as JSON', async (path, status, json) => {
  const answer = await get(path);
  expect(answer).toMatchObject({ status, type: 'application/json; charset=utf-8', json });
  expect(answer.json).toEqual(json);
  if (status === 503) expect(answer.retryAfter).toBe('1');
});

test('a failure is logged by its kind and place, without its message', async () => {
  await get('/fail/any');
  const line = it_.logged.findLast(({ msg }) => msg === 'request failed');
  expect(line).toMatchObject({
    level: 50,
    method: 'GET',
    route: '/api/v1/:tenantAlias/fail/:how',
    error: { name: 'Error', frames: expect.any(Array) },
  });
  expect(it_.logText()).not.toMatch(/secret|ann@|10\.0\.0\.1/);
});

test('a request leaves one line with nothing of the client in it', async () => {
  const unmatched = {
    level: 30,
    method: 'GET',
    route: 'unmatched',
    address: '127.0.0.0/24',
    msg: 'request',
  };
  const before = it_.logged.length;
  await fetch(`${it_.origin}${API}/account/ann%40example.com/user/bob?secret=x`, {
    headers: { ...LIVE, 'x-request-id': 'mine', 'user-agent': 'curious' },
  });
  await fetch(`${it_.origin}/ann%40example.com?secret=x`);
  await fetch(`${it_.origin}${API}/account/%zz`);
  // The line is written when the answer has gone out, which the client may see first.
  while (it_.logged.length < before + 3) await new Promise((resolve) => setImmediate(resolve));
  const lines = it_.logged.slice(before);
  expect(lines.map(({ time, pid, hostname, requestId, durationMs, ...line }) => line)).toEqual([
    {
      level: 30,
      method: 'GET',
      route: '/api/v1/:tenantAlias/account/:accountId/user/:userId',
      status: 200,
      address: '127.0.0.0/24',
      tenant: 'acme',
      mode: 'live',
      actor: 'api-key',
      actorId: 'key-live-acme',
      msg: 'request',
    },
    { ...unmatched, status: 404, code: 'NOT_FOUND' },
    { ...unmatched, status: 400, code: 'BAD_REQUEST' },
  ]);
  for (const line of lines)
    expect(line).toMatchObject({
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      durationMs: expect.any(Number),
    });
  expect(it_.logText()).not.toMatch(/ann|bob|secret|mine|curious|LIVE_/);
});

// What the contract lists, by status.
const LISTED: Readonly<Record<number, string>> = {
  400: `BAD_REQUEST VALIDATION_FAILED SELF_REFERRAL ALREADY_REFERRED NOT_ATTRIBUTABLE NOT_REFERABLE REFERRAL_CODE_TAKEN INVALD_REWARD_REDEMPTION
      REWARD_NOT_CANCELLABLE MODERATION_NOT_POSSIBLE USER_EXISTS DO_NOT_TRACK TOO_MANY_USERS PAYMENT_PROVIDER_ID_SET PAYMENT_PROVIDER_ID_USED
      AMOUNT_TOO_LARGE EXPORT_NOT_READY ENDPOINT_NOT_ALLOWED POSITION_INVALID`,
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN OPEN_ENDPOINTS_DISABLED API_REQUEST_NOT_SUPPORTED USER_ALREADY_BLOCKED USER_NOT_BLOCKED',
  404: `NOT_FOUND TENANT_NOT_FOUND ACCOUNT_NOT_FOUND USER_NOT_FOUND REFERRAL_CODE_NOT_FOUND REFERRAL_NOT_FOUND REWARD_NOT_FOUND EXPORT_NOT_FOUND
      THEME_NOT_FOUND SUBSCRIPTION_NOT_FOUND PROGRAM_NOT_FOUND RUN_NOT_FOUND PROPOSAL_NOT_FOUND DELIVERY_NOT_FOUND MAIL_NOT_FOUND
      PROJECTION_NOT_FOUND IMPORT_NOT_FOUND REACTION_NOT_FOUND`,
  405: 'METHOD_NOT_ALLOWED',
  409: 'EVENTS_ALREADY_RECEIVED REQUEST_IN_PROGRESS',
  410: 'EXPORT_EXPIRED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'IDEMPOTENCY_KEY_REUSED',
  429: 'RATE_LIMITED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE POSITION_NOT_REACHED',
};

test('the list of codes is the contract’s', () => {
  const listed = Object.entries(LISTED).flatMap(([status, codes]) =>
    codes.split(/\s+/).map((code) => [code, Number(status)]),
  );
  expect(
    Object.fromEntries(API_ERROR_CODES.map((code) => [code, API_ERRORS[code].status])),
  ).toEqual(Object.fromEntries(listed));
});

test('the list of codes is documented, each with its status, numeric code, sentence, cause and cure', () => {
  const documentation = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8');
  const texts = errorTexts(documentation);
  expect([...texts.keys()].sort()).toEqual([...API_ERROR_CODES].sort());
  for (const code of API_ERROR_CODES) {
    const { status, message, rsCode } = API_ERRORS[code];
    const [, facts = ''] = new RegExp(`^### \`${code}\`\n\n(.*)$`, 'm').exec(documentation) ?? [];
    expect(facts).toMatch(new RegExp(`^${status} · `));
    expect(facts).toContain(`"${message}"`);
    expect(facts).toContain(rsCode === undefined ? '' : `\`${rsCode}\``);
    expect(texts.get(code)).toMatchObject({
      cause: expect.stringMatching(/\.$/) as unknown,
      cure: expect.stringMatching(/\.$/) as unknown,
    });
  }
});

test('the list of codes lists reasons in every answer that may have them', () => {
  expect(new ApiError('BAD_REQUEST').body).toHaveProperty('validationErrors', []);
  expect(
    new ApiError('MODERATION_NOT_POSSIBLE', { validationErrors: ['r1 is unknown'] }).body,
  ).toHaveProperty('validationErrors', ['r1 is unknown']);
  expect(new ApiError('INTERNAL').body).not.toHaveProperty('validationErrors');
});
