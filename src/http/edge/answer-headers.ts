import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Header fields of every answer. */

const OWN_REQUEST_ID = /^[\x20-\x7e]{1,128}$/;

/** For answers outside of a route. */
export const plainHeaders = (requestId: string): Readonly<Record<string, string>> => ({
  'Request-Id': requestId,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
});

/**
 * The id that an answer shows. The client's is echoed and used nowhere else: it may contain
 * anything, and logs and events are kept.
 */
export function requestIdShown(headers: IncomingHttpHeaders, id: string): string {
  const own = headers['request-id'];
  return typeof own === 'string' && OWN_REQUEST_ID.test(own) ? own : id;
}

/** The pages of the docs set their own cache control. */
export function setHeadersOfEveryAnswer(request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(plainHeaders(requestIdShown(request.headers, request.id)));
}
