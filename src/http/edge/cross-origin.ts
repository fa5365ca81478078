import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from './api-error.js';
import type { Tenant } from './tenant-directory.js';

/**
 * Pages of other origins may call the open endpoints and read what they answer, errors too. Cookies
 * are never part of it.
 */

const ALLOWED_HEADERS =
  'content-type, authorization, x-saasquatch-user-token, x-saasquatch-referrer, idempotency-key';
const EXPOSED_HEADERS =
  'Retry-After, Ledger-Position, Ledger-Stale, Request-Id, Idempotency-Replayed, RateLimit, RateLimit-Policy';
const PREFLIGHT_SECONDS = '600';

/** By the path alone: also what is refused before a route is found is to be readable. */
const isOpenPath = (target: string): boolean => /^\/api\/v1\/[^/?]+\/open(?:[/?]|$)/.test(target);

/** To be called before anything can fail. */
export function allowOtherOrigins(request: FastifyRequest, reply: FastifyReply): void {
  if (!isOpenPath(request.raw.url ?? '')) return;
  void reply
    .header('Access-Control-Allow-Origin', '*')
    .header('Access-Control-Expose-Headers', EXPOSED_HEADERS);
}

/** A tenant may name the origins whose pages are its own; others get no leave. */
export function narrowOrigins(
  request: FastifyRequest,
  reply: FastifyReply,
  { openRules }: Pick<Tenant, 'openRules'>,
): void {
  if (openRules.allowedOrigins.length === 0 || !reply.hasHeader('Access-Control-Allow-Origin'))
    return;
  const { origin } = request.headers;
  void reply.header('Vary', 'Origin');
  if (origin !== undefined && openRules.allowedOrigins.includes(origin))
    void reply.header('Access-Control-Allow-Origin', origin);
  else reply.removeHeader('Access-Control-Allow-Origin');
}

/**
 * A browser that holds a key (a person typed it once) sends it along wherever a page points; its
 * own mark says that the page was another site's. @throws {ApiError} FORBIDDEN.
 */
export function refuseOtherSites({ headers }: FastifyRequest): void {
  const site = [headers['sec-fetch-site'] ?? []].flat().join(',').toLowerCase();
  if (/\b(?:cross|same)-site\b/.test(site)) throw new ApiError('FORBIDDEN');
}

/** A browser asks before it sends a page's call. */
export const isPreflight = (request: FastifyRequest): boolean =>
  request.method === 'OPTIONS' &&
  request.headers.origin !== undefined &&
  isOpenPath(request.raw.url ?? '');

/** @param methods that the path has. */
export function answerPreflight(reply: FastifyReply, methods: readonly string[]): void {
  void reply
    .code(204)
    .header('Access-Control-Allow-Methods', methods.join(', '))
    .header('Access-Control-Allow-Headers', ALLOWED_HEADERS)
    .header('Access-Control-Max-Age', PREFLIGHT_SECONDS)
    .send();
}
