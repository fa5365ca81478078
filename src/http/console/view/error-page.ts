import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorJson } from '../../edge/api-error.js';
import { TEXTS } from '../texts.js';
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
{{#if comesBack}}<p>${TEXTS.errors.comesBack}</p>{{/if}}
<p><a href="/console">${TEXTS.errors.back}</a></p>
<p class="note">${TEXTS.errors.request('{{requestId}}')}</p>`);

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
    title: TITLES[statusCode] ?? TEXTS.errors.other,
    session: request.console?.session ?? null,
  };
  return page(
    shown,
    content({
      message: isUnknown ? TEXTS.errors.noPage : message,
      reasons: validationErrors,
      requestId: request.id,
      comesBack,
    }),
  );
}
