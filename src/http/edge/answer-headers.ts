import type { FastifyReply, FastifyRequest } from 'fastify';

/** Headers of every answer; pages of the docs set their own cache control. */
export const plainHeaders = (requestId: string): Readonly<Record<string, string>> => ({
  'Request-Id': requestId,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
});

/** Echoes the client's request id, which is never stored because it may contain anything. */
export function setHeadersOfEveryAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const own = request.headers['request-id'];
  const isUsable = typeof own === 'string' && /^[\x20-\x7e]{1,128}$/.test(own);
  void reply.headers(plainHeaders(isUsable ? own : request.id));
}
