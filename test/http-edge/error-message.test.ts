import type { FastifyRequest } from 'fastify';
import { ROUNDED } from '../../src/foundation/json-text.js';
import { API_ERROR_CODES, API_ERRORS, ApiError } from '../../src/http/edge/api-error.js';
import { completedError } from '../../src/http/writing/error-message.js';

const requestOf = (given: object): FastifyRequest =>
  ({
    method: 'GET',
    raw: { url: '/x?y=1' },
    routeOptions: { url: '/x' },
    headers: {},
    ...given,
  }) as never;

test.each([
  [
    'the value of the path',
    new ApiError('ACCOUNT_NOT_FOUND').body,
    { params: { accountId: 'acme' } },
    'There is no account "acme" in the mode of the request (live or test): check the id and the key',
  ],
  [
    'the value of the body',
    new ApiError('ACCOUNT_NOT_FOUND').body,
    { params: {}, body: { id: 'jane', accountId: 'a"b' } },
    'There is no account "a\\"b" for the user "jane": create it first, with POST /accountsync',
  ],
  [
    'a long value, cut',
    new ApiError('PROGRAM_NOT_FOUND').body,
    { query: { programId: 'x'.repeat(200) } },
    `There is no program "${'x'.repeat(80)}…": leave programId out for the default program`,
  ],
  [
    'the first reason',
    new ApiError('BAD_REQUEST', { validationErrors: ['unit is required', 'amount is required'] })
      .body,
    {},
    'The request is malformed: unit is required (and 1 more)',
  ],
  [
    'the value of the member that the reason is about',
    new ApiError('BAD_REQUEST', { validationErrors: ['events[1].key must be a text'] }).body,
    { body: { events: [{ key: 'a' }, { key: 7 }] } },
    'The request is malformed: events[1].key must be a text; the request has "7"',
  ],
  [
    'no value that has members',
    new ApiError('BAD_REQUEST', { validationErrors: ['digest is none'] }).body,
    { body: { digest: { tenant: 'acme' } } },
    'The request is malformed: digest is none',
  ],
  [
    'no value where the reason begins with no member',
    new ApiError('BAD_REQUEST', { validationErrors: ['/ lacks email'] }).body,
    { params: { tenant: 'acme' } },
    'The request is malformed: / lacks email',
  ],
  [
    'no rounded value',
    new ApiError('BAD_REQUEST', {
      validationErrors: [`id ${ROUNDED}`, 'id must be 1 to 255 characters'],
    }).body,
    { body: { id: 2 ** 53 } },
    `The request is malformed: id ${ROUNDED} (and 1 more)`,
  ],
  [
    'no secret',
    new ApiError('BAD_REQUEST', { validationErrors: ['secretKey: must be a text'] }).body,
    { body: { secretKey: 'sk_live_1' } },
    'The request is malformed: secretKey: must be a text',
  ],
  [
    'method and path of an unknown route, without its query',
    new ApiError('NOT_FOUND').body,
    { routeOptions: { url: undefined } },
    'There is no route GET /x: /docs lists all routes',
  ],
  [
    'the content type',
    new ApiError('UNSUPPORTED_MEDIA_TYPE').body,
    { headers: { 'content-type': 'text/plain' } },
    'The body of Content-Type "text/plain" is no uncompressed JSON in UTF-8: send it as application/json',
  ],
  [
    'nothing where the request names nothing',
    new ApiError('ACCOUNT_NOT_FOUND').body,
    { params: { accountId: '' }, body: ['acme'], query: null },
    'There is no such account',
  ],
  [
    'nothing in a message of its own',
    new ApiError('ACCOUNT_NOT_FOUND', { message: 'gone' }).body,
    { params: { accountId: 'acme' } },
    'gone',
  ],
])('a message names %s', (_what, body, request, message) => {
  expect(completedError(body, requestOf(request))).toEqual({ ...body, message });
});

const VALUE = 'constructor';
const MEMBERS = new Map(
  `accountId userId id code referralCode paymentProviderId endpointUrl tenantAlias referralId
  exportId type url programId idempotencyKey idempotency-key ledger-position-at-least
  content-length content-type runId proposal delivery projection account user tenant import`
    .split(/\s+/)
    .map((name) => [name, VALUE]),
);

/** Their messages come from the decision or the check, or are fixed. */
const OTHERS =
  `BAD_REQUEST VALIDATION_FAILED INVALD_REWARD_REDEMPTION REWARD_NOT_CANCELLABLE MODERATION_NOT_POSSIBLE
  USER_EXISTS AMOUNT_TOO_LARGE EXPORT_NOT_READY UNAUTHORIZED FORBIDDEN RATE_LIMITED`.split(/\s+/);

test.each(
  API_ERROR_CODES.filter((code) => API_ERRORS[code].status < 500 && !OTHERS.includes(code)),
)('the message of %s names a value and a remedy', (code) => {
  const request = requestOf({
    params: Object.fromEntries(MEMBERS),
    raw: { url: `/${VALUE}` },
    headers: {},
  });
  const { message } = completedError(new ApiError(code).body, request, { Allow: 'PUT' });
  expect(message).toMatch(new RegExp(`${VALUE}.*: .`));
});
