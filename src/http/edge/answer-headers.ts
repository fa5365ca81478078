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
 * The client's request id is echoed and used nowhere else: it may contain anything, and logs and
 * events are kept. Routes outside of tenants (health, metrics, OpenAPI) set their own cache
 * control.
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
