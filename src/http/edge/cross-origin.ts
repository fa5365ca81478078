import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from './api-error.js';

/**
 * Pages of any origin may call the open endpoints and read answers and errors. No cookies are used.
 */

const ALLOWED_HEADERS =
  'content-type, authorization, x-saasquatch-user-token, x-saasquatch-referrer, idempotency-key, ledger-position-at-least';
const EXPOSED_HEADERS =
  'Retry-After, Ledger-Position, Ledger-Stale, Request-Id, Idempotency-Replayed, RateLimit, RateLimit-Policy, Test-Clock';
const PREFLIGHT_SECONDS = 600;

/** Origins allowed by a tenant; empty: any; undefined: unknown tenant. */
export type AllowedOrigins = (alias: string) => Promise<readonly string[] | undefined>;

/** Uses the path only, because errors before routing must be readable too. */
const openAliasIn = (target: string): string | undefined =>
  /^\/api\/v1\/([^/?]+)\/open(?:[/?]|$)/.exec(target)?.[1];

/** For answers without hooks. */
export function allowCrossOrigin({ raw: { url = '' } }: FastifyRequest, reply: FastifyReply): void {
  if (openAliasIn(url) === undefined) return;
  void reply.header('Access-Control-Allow-Origin', '*');
  void reply.header('Access-Control-Expose-Headers', EXPOSED_HEADERS);
}

/**
 * Answers preflight requests of open endpoints, without credentials and even if the tenant has
 * disabled them, and sets the headers of all their answers.
 */
export function installCrossOrigin(
  server: FastifyInstance,
  parts: {
    readonly allowedOrigins: AllowedOrigins;
    /** Methods of the request's target on its listener. */
    readonly methodsOf: (request: FastifyRequest) => readonly string[];
  },
): void {
  const delegator = async (request: FastifyRequest): Promise<FastifyCorsOptions> => {
    const { url = '/', headers } = request.raw;
    const alias = decodeURIComponent(openAliasIn(url) ?? '');
    const origins = await parts.allowedOrigins(alias).catch(() => []);
    const methods = [...parts.methodsOf(request)];
    const isPreflight =
      request.method === 'OPTIONS' && headers.origin !== undefined && methods.length > 0;
    if (isPreflight && origins === undefined) throw new ApiError('TENANT_NOT_FOUND');
    return {
      origin: origins === undefined || origins.length === 0 ? '*' : [...origins],
      methods,
      allowedHeaders: ALLOWED_HEADERS,
      exposedHeaders: EXPOSED_HEADERS,
      maxAge: PREFLIGHT_SECONDS,
      preflight: isPreflight,
      strictPreflight: false,
    };
  };
  // Called directly, because checks are added after its hook. Other paths skip the hook, which
  // copies its options for each request.
  type Hook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void;
  const addHook = (_name: string, hook: Hook): FastifyInstance =>
    server.addHook('onRequest', (request, reply, done) =>
      openAliasIn(request.raw.url ?? '') === undefined ? done() : hook(request, reply, done),
    );
  const forOpenPaths = Object.create(server, { addHook: { value: addHook } }) as FastifyInstance;
  cors(forOpenPaths, { delegator }, (error) => {
    if (error) throw error;
  });
}

/**
 * A browser that remembers a key sends it from any page; `Sec-Fetch-Site` reveals another site.
 * @throws {ApiError} FORBIDDEN.
 */
export function refuseCrossSite({ headers }: FastifyRequest): void {
  const site = [headers['sec-fetch-site'] ?? []].flat().join(',').toLowerCase();
  if (/\b(?:cross|same)-site\b/.test(site))
    throw new ApiError('FORBIDDEN', {
      message:
        'A page of another site sent the request (Sec-Fetch-Site), and keys belong in no page: call the service from a server',
    });
}
