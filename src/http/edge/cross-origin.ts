import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from './api-error.js';
import type { Tenant } from './tenant-directory.js';

/**
 * Pages of other origins may call the open endpoints and read the answers, errors included. Cookies
 * are never used.
 */

const ALLOWED_HEADERS =
  'content-type, authorization, x-saasquatch-user-token, x-saasquatch-referrer, idempotency-key';
const EXPOSED_HEADERS =
  'Retry-After, Ledger-Position, Ledger-Stale, Request-Id, Idempotency-Replayed, RateLimit, RateLimit-Policy';
const PREFLIGHT_SECONDS = '600';

/** By the path alone: errors before routing must be readable, too. */
const isOpenPath = (target: string): boolean => /^\/api\/v1\/[^/?]+\/open(?:[/?]|$)/.test(target);

const OPEN_TO_ALL = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED_HEADERS,
};

/** Of an answer to this target that is made before anything is known of its tenant. */
export const crossOriginHeaders = (target: string): Readonly<Record<string, string>> =>
  isOpenPath(target) ? OPEN_TO_ALL : {};

/** Call it before any check that can fail. */
export function allowCrossOrigin(request: FastifyRequest, reply: FastifyReply): void {
  if (isOpenPath(request.raw.url ?? '')) void reply.headers(OPEN_TO_ALL);
}

/** A tenant may list its own origins; other origins are then not allowed. */
export function restrictOrigins(
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
 * A browser that remembers an operator's key sends it wherever a page points; `Sec-Fetch-Site` says
 * that the page was another site's. @throws {ApiError} FORBIDDEN.
 */
export function refuseCrossSite({ headers }: FastifyRequest): void {
  const site = [headers['sec-fetch-site'] ?? []].flat().join(',').toLowerCase();
  if (/\b(?:cross|same)-site\b/.test(site)) throw new ApiError('FORBIDDEN');
}

/** A browser sends a preflight request before a page's call. */
export const isPreflight = (request: FastifyRequest): boolean =>
  request.method === 'OPTIONS' &&
  request.headers.origin !== undefined &&
  isOpenPath(request.raw.url ?? '');

/** @param methods of the path. */
export function answerPreflight(reply: FastifyReply, methods: readonly string[]): void {
  void reply
    .code(204)
    .header('Access-Control-Allow-Methods', methods.join(', '))
    .header('Access-Control-Allow-Headers', ALLOWED_HEADERS)
    .header('Access-Control-Max-Age', PREFLIGHT_SECONDS)
    .send();
}
