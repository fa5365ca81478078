import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorPage } from '../../http/edge/access.js';
import type { ErrorJson } from '../../http/edge/api-error.js';
import { wantedCookie } from '../sessions/wanted-page.js';
import { page } from './layout.js';
import { tenantPath } from './navigation.js';
import { PAGE_HEADERS } from './page-headers.js';
import { template } from './templates.js';

const content = template('error');

const TITLES: Readonly<Record<number, string>> = {
  400: 'This cannot be done',
  403: 'Not allowed',
  404: 'Not found',
  413: 'Too large',
  429: 'Please wait',
  503: 'Not available at the moment',
};
const AGAIN_SECONDS = 5;

/**
 * Prepares the page of an error; without a session, redirects to the page that signs in.
 * @returns its body.
 */
export function consoleErrorSent(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ErrorJson,
): string {
  const { statusCode, apiErrorCode } = error;
  if (apiErrorCode === 'UNAUTHORIZED') {
    void reply.removeHeader('WWW-Authenticate');
    void reply.code(303).header('Location', '/console/sign-in');
    const wanted = isOpened(request)
      ? wantedCookie(request.url, request.protocol === 'https')
      : undefined;
    if (wanted !== undefined) void reply.header('Set-Cookie', wanted);
    return '';
  }
  void reply.headers(PAGE_HEADERS);
  if (comesBack(request, statusCode)) void reply.header('Refresh', String(AGAIN_SECONDS));
  return errorPage(request, error);
}

/** Of a path that is no route: a page below the console alone. */
export const pageOfUnmatched: ErrorPage = (request, reply, error) =>
  /^\/console(?:[/?]|$)/.test(request.raw.url ?? '')
    ? consoleErrorSent(request, reply, error)
    : undefined;

/** In a window of a browser, not by a script of a page. */
const isOpened = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && (headers['sec-fetch-dest'] ?? 'document') === 'document';

const comesBack = ({ method }: FastifyRequest, statusCode: number): boolean =>
  statusCode === 503 && method === 'GET';

function errorPage(
  request: FastifyRequest,
  { statusCode, apiErrorCode, message, validationErrors = [] }: ErrorJson,
): string {
  const scope = request.console?.session ? request.console.scope : undefined;
  const isUnknown = request.is404 && apiErrorCode === 'NOT_FOUND';
  const shown = {
    title: TITLES[statusCode] ?? 'Something went wrong',
    session: request.console?.session ?? null,
    ...(scope && { scope }),
  };
  return page(
    shown,
    content({
      message: isUnknown ? 'There is no such page.' : message,
      reasons: validationErrors,
      requestId: request.id,
      back: scope ? tenantPath(scope) : '/console',
      backTo: scope ? `the overview of ${scope.tenant}` : 'the tenants',
      comesBack: comesBack(request, statusCode),
    }),
  );
}
