import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorJson } from '../edge/api-error.js';
import { noPage } from './no-page.js';
import { pageHeaders, type HtmlPage } from './page-document.js';

/**
 * Prepares the answer with a page, which caches keep: nothing in it is about its first visitor.
 * @returns its body.
 */
export function pageSent(reply: FastifyReply, page: HtmlPage): string {
  void reply.removeHeader('RateLimit').removeHeader('RateLimit-Policy').headers(pageHeaders(page));
  return page.html;
}

/** Whether an error is answered with a page: all that is not found, and the rest to browsers. */
export const isShownAsPage = (
  { routeOptions, headers }: FastifyRequest,
  { statusCode }: ErrorJson,
): boolean =>
  routeOptions.config?.access?.page === true &&
  (statusCode === 404 || (headers.accept ?? '').includes('text/html'));

/**
 * Prepares the page of an error: the same bytes to visitors of a language, whatever is wrong.
 * @returns its body.
 */
export function errorPageSent(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { statusCode }: ErrorJson,
): string {
  const page = noPage(headers['accept-language']);
  if (statusCode === 404) return pageSent(reply, page);
  void reply.headers({ ...pageHeaders(page), 'Cache-Control': 'no-store' });
  return page.html;
}
