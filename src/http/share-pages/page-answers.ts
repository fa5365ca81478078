import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorJson } from '../edge/api-error.js';
import { notFoundPage } from './not-found-page.js';
import { pageHeaders, type HtmlPage } from './page-document.js';

/** Prepares a cacheable page, which contains nothing about its visitor. @returns its body. */
export function sendPage(reply: FastifyReply, page: HtmlPage): string {
  void reply.removeHeader('RateLimit').removeHeader('RateLimit-Policy').headers(pageHeaders(page));
  return page.html;
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
  if (statusCode !== 404 && !(headers.accept ?? '').includes('text/html')) return undefined;
  const page = notFoundPage(headers['accept-language']);
  if (statusCode === 404) return sendPage(reply, page);
  void reply.headers({ ...pageHeaders(page), 'Cache-Control': 'no-store' });
  return page.html;
}
