import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtension } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperatorRole } from '../../config/operators.js';
import type { CountedCall } from '../../domain/tenant/open-rules.js';
import { badRequest, type ErrorJson } from './api-error.js';

/**
 * Access to a route. `none`: without a tenant (health, metrics, the OpenAPI document). `operator`:
 * operators with one of the roles. `console`: the same, signed in, or anyone with `open`. `tenant`:
 * an existing tenant, without credentials. `key`: an API key. Open endpoints: `key-open` with an
 * API key; `user-open` with an API key or a token of the user in the call (see `token`, `about`);
 * `visitor-open` with an API key or any token; `public-open` without credentials in live mode,
 * while a key or token selects the mode.
 */
export type AccessKind =
  | 'none'
  | 'operator'
  | 'console'
  | 'tenant'
  | 'key'
  | 'key-open'
  | 'user-open'
  | 'visitor-open'
  | 'public-open';

/** Answers an error as a page. @returns its body; undefined: the client gets JSON. */
export type ErrorPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: ErrorJson,
) => string | undefined;

export interface AccessRule {
  readonly kind: AccessKind;
  /**
   * The body may be missing or `{}`, with any content type; JSON with members is parsed as usual.
   * Always true for GET, HEAD and DELETE.
   */
  readonly emptyBody: boolean;
  /** API_REQUEST_NOT_SUPPORTED for a tenant with a payment provider. */
  readonly apiOnlyPrograms: boolean;
  /** Token kind for `user-open`: a write token has fields besides the ids. Default: read. */
  readonly token?: 'read' | 'write';
  /** Where `user-open` finds the user of the call. Default: in the path. */
  readonly about?: 'path' | 'referral-query';
  /** For `operator` and `console`: the required roles, one of which suffices. */
  readonly roles?: readonly OperatorRole[];
  /** For `none`: the only listener that serves the route. Default: both. */
  readonly listener?: 'operations' | 'public';
  /** For `console`: no sign-in required. */
  readonly open?: boolean;
  /** The body is passed as bytes, because a signature covers them. */
  readonly rawBody?: boolean;
  /** The body is a file of any size, passed as a stream. */
  readonly upload?: boolean;
  /** The answer is a stream: its deadline ends with its head, and the client sets the pace. */
  readonly streams?: boolean;
  /** Answers and errors are pages for people. */
  readonly page?: ErrorPage;
  /** The rate limit of calls without an API key (see `limitCalls`). */
  readonly counted?: CountedCall;
}

export const isOpenEndpoint = ({ kind }: AccessRule): boolean => kind.endsWith('-open');

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: AccessRule;
  }
}

/**
 * The framework passes invalid UTF-8 escapes on as text, which would match nothing.
 * @throws {ApiError} BAD_REQUEST.
 */
export function refuseBrokenEscapes({ raw }: FastifyRequest): void {
  try {
    decodeURIComponent(raw.url ?? '');
  } catch {
    throw badRequest('the query is not percent-encoded UTF-8');
  }
}

/** The path parameter of the tenant's alias. */
export const TENANT_PARAMETER = 'tenantAlias';

/** The tenant's alias among a route's parameters; undefined: missing or malformed. */
export function aliasIn(params: unknown): string | undefined {
  const alias: unknown = Reflect.get(Object(params), TENANT_PARAMETER);
  return typeof alias === 'string' && /^[a-z0-9_-]{1,64}$/.test(alias) ? alias : undefined;
}

/** The path prefix of tenants' routes. */
export const TENANT_PATH = `api/v1/:${TENANT_PARAMETER}`;

export const ACCESS_EXTENSION = 'x-access';

/**
 * Declares the access to a route; the service does not start without it. Part of the route's
 * configuration, so that another spelling of the path cannot avoid it.
 */
export function Access(
  kind: AccessKind,
  options: Partial<Omit<AccessRule, 'kind'>> = {},
): MethodDecorator {
  const access: AccessRule = { kind, emptyBody: false, apiOnlyPrograms: false, ...options };
  return applyDecorators(RouteConfig({ access }), ApiExtension(ACCESS_EXTENSION, access));
}
