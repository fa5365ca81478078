import type { FastifyReply, FastifyRequest } from 'fastify';

/** What every answer carries, whatever it says. */

const OWN_REQUEST_ID = /^[\x20-\x7e]{1,128}$/;

/** For answers of which nothing but their request's id is known. */
export const plainHeaders = (requestId: string): Readonly<Record<string, string>> => ({
  'Request-Id': requestId,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
});

/**
 * The client's own request id is given back and goes nowhere else: it may hold anything, and the
 * log and the events keep what they are given. What is nobody's (health, metrics, the description
 * of the interface) says itself how long it may be kept.
 */
export function setHeadersOfEveryAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const own = request.headers['request-id'];
  const { 'Cache-Control': noStore, ...headers } = plainHeaders(
    typeof own === 'string' && OWN_REQUEST_ID.test(own) ? own : request.id,
  );
  void reply.headers(headers);
  if (request.routeOptions.config?.access?.kind !== 'none')
    void reply.header('Cache-Control', noStore);
}
