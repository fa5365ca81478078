import type { FastifyReply, FastifyRequest } from 'fastify';

/** Header fields of every answer; the pages of the docs set their own cache control. */
export const plainHeaders = (requestId: string): Readonly<Record<string, string>> => ({
  'Request-Id': requestId,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
});

/**
 * The client's own request id is echoed and used nowhere else: it may contain anything, and logs
 * and events are kept.
 */
export function setHeadersOfEveryAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const own = request.headers['request-id'];
  const isUsable = typeof own === 'string' && /^[\x20-\x7e]{1,128}$/.test(own);
  void reply.headers(plainHeaders(isUsable ? own : request.id));
}
