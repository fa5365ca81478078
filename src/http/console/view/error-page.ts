import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorJson } from '../../edge/api-error.js';
import { page } from './layout.js';
import { PAGE_HEADERS } from './page-headers.js';
import { template } from './templates.js';

const content = template<{
  message: string;
  reasons: readonly string[];
  requestId: string;
  comesBack: boolean;
}>(`<p class="problem" role="alert">{{message}}</p>
{{#if reasons.length}}<ul>{{#each reasons}}<li>{{this}}</li>{{/each}}</ul>{{/if}}
{{#if comesBack}}<p>This page is loaded again by itself.</p>{{/if}}
<p><a href="/console">Back to the tenants</a></p>
<p class="note">Request {{requestId}}</p>`);

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
 * Prepares the page of an error; whoever is not signed in is led to the page for that.
 * @returns its body.
 */
export function consoleErrorSent(
  request: FastifyRequest,
  reply: FastifyReply,
  { statusCode, apiErrorCode, message, validationErrors = [] }: ErrorJson,
): string {
  if (apiErrorCode === 'UNAUTHORIZED') {
    void reply.removeHeader('WWW-Authenticate');
    void reply.code(303).header('Location', '/console/sign-in');
    return '';
  }
  const isUnknown = request.is404 && apiErrorCode === 'NOT_FOUND';
  const comesBack = statusCode === 503 && request.method === 'GET';
  void reply.headers(PAGE_HEADERS);
  if (comesBack) void reply.header('Refresh', String(AGAIN_SECONDS));
  const shown = {
    title: TITLES[statusCode] ?? 'Something went wrong',
    session: request.console?.session ?? null,
  };
  return page(
    shown,
    content({
      message: isUnknown ? 'There is no such page.' : message,
      reasons: validationErrors,
      requestId: request.id,
      comesBack,
    }),
  );
}
