import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorJson } from '../edge/api-error.js';
import { NOT_FOUND_PAGE } from './not-found-page.js';
import { pageHeaders, type HtmlPage } from './page-document.js';

/** Prepares a page for a visitor. @returns its body. */
export function sendPage(reply: FastifyReply, { html, contentSecurityPolicy }: HtmlPage): string {
  void reply.headers(pageHeaders(contentSecurityPolicy));
  void reply.removeHeader('RateLimit').removeHeader('RateLimit-Policy');
  return html;
}

/**
 * The page of an error, the same for all causes. Not found is always a page; other errors are one
 * for browsers.
 */
export function errorPageOfVisitors(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { statusCode }: ErrorJson,
): string | undefined {
  if (statusCode === 404) return sendPage(reply, NOT_FOUND_PAGE);
  if (!(headers.accept ?? '').includes('text/html')) return undefined;
  void reply.headers(pageHeaders(NOT_FOUND_PAGE.contentSecurityPolicy));
  return NOT_FOUND_PAGE.html;
}
