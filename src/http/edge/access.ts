import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtension } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperatorRole } from '../../config/operators.js';
import type { CountedCall } from '../../domain/tenant/open-rules.js';
import { badRequest, type ErrorJson } from './api-error.js';

/**
 * Who may call a route. `none`: belongs to no tenant (health, metrics, the OpenAPI document).
 * `operator`: operators of the service with one of the roles. `console`: the same, signed in to the
 * console, or anyone where `open`. `tenant`: of an existing tenant, without credentials. `key`:
 * with an API key. `key-open`: an open endpoint, with an API key. `user-open`: an open endpoint,
 * with an API key, or with a token of the user that the call is about (see `token`, `about`).
 * `visitor-open`: an open endpoint, with an API key or any token, also an anonymous one. `public-
 * open`: an open endpoint without credentials in live mode; a key or token decides the mode.
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

/**
 * Prepares the answer to an error as a page. @returns its body; undefined: the client gets JSON.
 */
export type ErrorPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: ErrorJson,
) => string | undefined;

export interface AccessRule {
  readonly kind: AccessKind;
  /**
   * The body may be empty: none, or `{}`, with any content type. A JSON body with members is parsed
   * as on other routes. Always so for GET, HEAD and DELETE.
   */
  readonly emptyBody: boolean;
  /** API_REQUEST_NOT_SUPPORTED on a tenant that is connected to a payment provider. */
  readonly apiOnlyPrograms: boolean;
  /**
   * The kind of token that `user-open` requires: a write token carries fields of its user besides
   * the ids. Default: read.
   */
  readonly token?: 'read' | 'write';
  /** Where `user-open` finds the account and user of the call. Default: in the path. */
  readonly about?: 'path' | 'referral-query';
  /** Of `operator` and `console`: one of these is required. */
  readonly roles?: readonly OperatorRole[];
  /** Of `none`: answered by this listener alone, where there are two. Default: by both. */
  readonly listener?: 'operations' | 'public';
  /** Of `console`: for anybody, signed in or not. */
  readonly open?: boolean;
  /** The body is handed on as its bytes, which a signature covers. */
  readonly rawBody?: boolean;
  /** The body is a file of any size, handed on as it arrives. */
  readonly upload?: boolean;
  /**
   * The answer is sent while it is read: it may take as long as its client does, and is no longer
   * worked on once its head is there.
   */
  readonly streams?: boolean;
  /** The answer is a page for people, and so are its errors. */
  readonly page?: ErrorPage;
  /** The rate limit for calls without an API key (see `limitCalls`); undefined: unlimited. */
  readonly counted?: CountedCall;
}

export const isOpenEndpoint = ({ kind }: AccessRule): boolean => kind.endsWith('-open');

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: AccessRule;
  }
}

/**
 * The framework passes an escape that is no UTF-8 on as it is written: a filter that matches
 * nothing. @throws {ApiError} BAD_REQUEST.
 */
export function refuseBrokenEscapes({ raw }: FastifyRequest): void {
  try {
    decodeURIComponent(raw.url ?? '');
  } catch {
    throw badRequest('the query is not percent-encoded UTF-8');
  }
}

/** The path parameter with the tenant's alias. */
export const TENANT_PARAMETER = 'tenantAlias';

/** The alias of the tenant in a route's parameters; undefined: none, or malformed. */
export function aliasIn(params: unknown): string | undefined {
  const alias: unknown = Reflect.get(Object(params), TENANT_PARAMETER);
  return typeof alias === 'string' && /^[a-z0-9_-]{1,64}$/.test(alias) ? alias : undefined;
}

/** The path prefix of every controller of a tenant's resources. */
export const TENANT_PATH = `api/v1/:${TENANT_PARAMETER}`;

export const ACCESS_EXTENSION = 'x-access';

/**
 * States who may call a route; the service does not start with a route that lacks it. The rule is
 * part of the route's own configuration, so another spelling of the path cannot evade it.
 */
export function Access(
  kind: AccessKind,
  options: Partial<Omit<AccessRule, 'kind'>> = {},
): MethodDecorator {
  const access: AccessRule = { kind, emptyBody: false, apiOnlyPrograms: false, ...options };
  return applyDecorators(RouteConfig({ access }), ApiExtension(ACCESS_EXTENSION, access));
}
