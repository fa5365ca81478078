import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorPage } from '../../http/edge/access.js';
import type { ErrorJson } from '../../http/edge/api-error.js';
import { wantedCookie } from '../sessions/wanted-page.js';
import { TEXTS } from '../texts.js';
import { page } from './layout.js';
import { tenantPath } from './navigation.js';
import { PAGE_HEADERS } from './page-headers.js';
import { template } from './templates.js';

const content = template('error');

/** For a page whose head was sent: it can have no header any more. */

const TITLES: Readonly<Record<number, string>> = {
  400: TEXTS.errors.refused,
  403: TEXTS.errors.forbidden,
  404: TEXTS.errors.notFound,
  413: TEXTS.errors.tooLarge,
  429: TEXTS.errors.wait,
  503: TEXTS.errors.unavailable,
};
const AGAIN_SECONDS = 5;

/**
 * Prepares the page of an error; whoever is not signed in is led to the page for that.
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
    title: TITLES[statusCode] ?? TEXTS.errors.other,
    session: request.console?.session ?? null,
    ...(scope && { scope }),
  };
  return page(
    shown,
    content({
      message: isUnknown ? TEXTS.errors.noPage : message,
      reasons: validationErrors,
      requestId: request.id,
      back: scope ? tenantPath(scope) : '/console',
      backTo: scope ? `the overview of ${scope.tenant}` : 'the tenants',
      comesBack: comesBack(request, statusCode),
    }),
  );
}
