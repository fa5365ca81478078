import type { FastifyRequest } from 'fastify';
import { errorJson } from '../../src/http/edge/api-error.js';
import { completedError } from '../../src/http/edge/error-message.js';

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
    errorJson('ACCOUNT_NOT_FOUND'),
    { params: { accountId: 'acme' } },
    'There is no account "acme": POST /accountsync creates it',
  ],
  [
    'the value of the body',
    errorJson('USER_NOT_FOUND'),
    { params: {}, body: { userId: 'a"b' } },
    'There is no user "a\\"b": POST /user creates it',
  ],
  [
    'a long value, cut',
    errorJson('REWARD_NOT_FOUND'),
    { params: { id: 'x'.repeat(200) } },
    `There is no reward "${'x'.repeat(80)}…"`,
  ],
  [
    'the first reason',
    errorJson('BAD_REQUEST', { validationErrors: ['unit is required', 'amount is required'] }),
    {},
    'The request is malformed: unit is required (and 1 more)',
  ],
  [
    'method and path of an unknown route, without its query',
    errorJson('NOT_FOUND'),
    { routeOptions: { url: undefined } },
    'There is no route GET /x',
  ],
  ['the method', errorJson('METHOD_NOT_ALLOWED'), {}, '/x does not take GET'],
  [
    'the content type',
    errorJson('UNSUPPORTED_MEDIA_TYPE'),
    { headers: { 'content-type': 'text/plain' } },
    'The body must be JSON in UTF-8: send Content-Type: application/json instead of text/plain',
  ],
  [
    'nothing where the request names nothing',
    errorJson('ACCOUNT_NOT_FOUND'),
    { params: { accountId: '' }, body: ['acme'], query: null },
    'There is no such account',
  ],
  [
    'nothing in a message of its own',
    errorJson('ACCOUNT_NOT_FOUND', { message: 'gone' }),
    { params: { accountId: 'acme' } },
    'gone',
  ],
])('a message names %s', (_what, body, request, message) => {
  expect(completedError(body, requestOf(request))).toEqual({ ...body, message });
});
