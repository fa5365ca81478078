import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Operator, OperatorRole } from '../../config/operators.js';
import type { Mode, Scope } from '../../domain/scope.js';
import type { CountedCall } from '../../domain/tenant/open-rules.js';
import type { Tenant } from './tenant-directory.js';
import type { TokenSubject } from './user-token.js';

/**
 * Who may call a route. `none`: belongs to no tenant (health, metrics, this interface's
 * description). `operator`: of the service itself, for operators with one of the roles. `tenant`:
 * of an existing tenant, without credentials. `key`: with an API key. `key-open`: an open endpoint,
 * with an API key. `user-open`: an open endpoint, with an API key, or with a token of the very user
 * that the call is about (see `token`, `about`). `visitor-open`: an open endpoint, with an API key
 * or any token, also one that names nobody. `anyone-open`: an open endpoint for everybody; no
 * credentials means live mode, a key or token decides the mode.
 */
export type AccessKind =
  | 'none'
  | 'operator'
  | 'tenant'
  | 'key'
  | 'key-open'
  | 'user-open'
  | 'visitor-open'
  | 'anyone-open';

export interface AccessRule {
  readonly kind: AccessKind;
  /**
   * The specified body is empty: nothing at all, `{}`, any content type are fine. GET, HEAD and
   * DELETE are so anyway.
   */
  readonly emptyBody: boolean;
  /** Refused with API_REQUEST_NOT_SUPPORTED on a tenant that is connected to a payment provider. */
  readonly apiOnlyPrograms: boolean;
  /**
   * The token that `user-open` asks for: a write token carries more of its user than the ids.
   * Default: read.
   */
  readonly token?: 'read' | 'write';
  /** Where `user-open` finds account and user that the call is about. Default: in the path. */
  readonly about?: 'path' | 'referral-query';
  /** Of `operator`: any of these will do. */
  readonly roles?: readonly OperatorRole[];
  /** What live calls without an API key are counted as; left out: they are free. */
  readonly counted?: CountedCall;
}

export const isOpenEndpoint = ({ kind }: AccessRule): boolean =>
  kind === 'key-open' || kind === 'user-open' || kind === 'visitor-open' || kind === 'anyone-open';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: AccessRule;
  }
  interface FastifyRequest {
    caller: Caller | null;
    operator: Operator | null;
  }
}

/**
 * Behind whom a request stands: an API key, named by its id; a token, named by the secret that
 * signed it; nobody in particular.
 */
export interface Actor {
  readonly kind: 'api-key' | 'user-token' | 'anyone';
  readonly id: string;
}

/** Who calls, as far as the edge has found out before the body was read. */
export interface Caller {
  readonly tenant: Tenant;
  readonly mode: Mode;
  /** Tenant and mode, as keys of everything in the ledger. */
  readonly scope: Scope;
  readonly actor: Actor;
  /** Whom the token names, when the call came with one. */
  readonly token?: TokenSubject;
}

export const callerAs = (tenant: Tenant, mode: Mode, actor: Actor): Caller => {
  const scope = { tenant: tenant.alias, mode };
  return { tenant, mode, scope, actor };
};

/** The name of the path parameter that holds the tenant's alias. */
export const TENANT_PARAMETER = 'tenantAlias';

/** The path that every controller of a tenant's resources begins with. */
export const TENANT_PATH = `api/v1/:${TENANT_PARAMETER}`;

export const API_KEY_SCHEME = 'apiKey';
export const TOKEN_SCHEME = 'userToken';
export const BEARER_SCHEME = 'bearerToken';
export const OPERATOR_SCHEME = 'operatorKey';
export const ACCESS_EXTENSION = 'x-access';

/**
 * States who may call a route. Every route carries it: one without does not start. The rule rides
 * in the route's own configuration, so it is applied to what the router matched and cannot be
 * missed by a path that is spelled otherwise.
 */
export function Access(
  kind: AccessKind,
  options: Partial<Omit<AccessRule, 'kind'>> = {},
): MethodDecorator {
  const access: AccessRule = { kind, emptyBody: false, apiOnlyPrograms: false, ...options };
  return applyDecorators(
    RouteConfig({ access }),
    ApiExtension(ACCESS_EXTENSION, access),
    ...SECURITY[kind].map((one) => ApiSecurity(one)),
  );
}

const SECURITY: Readonly<Record<AccessKind, readonly (string | Record<string, string[]>)[]>> = {
  none: [],
  operator: [OPERATOR_SCHEME],
  tenant: [],
  key: [API_KEY_SCHEME],
  'key-open': [API_KEY_SCHEME],
  'user-open': [API_KEY_SCHEME, TOKEN_SCHEME, BEARER_SCHEME],
  'visitor-open': [API_KEY_SCHEME, TOKEN_SCHEME, BEARER_SCHEME],
  'anyone-open': [{}, API_KEY_SCHEME, TOKEN_SCHEME, BEARER_SCHEME],
};

/** @throws when the route belongs to no tenant. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null || request.caller === undefined)
    throw new Error('the route has no caller');
  return request.caller;
}

/** Hands the operator to a controller's method. @throws when the route is not for operators. */
export const CallingOperator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Operator => {
    const { operator } = context.switchToHttp().getRequest<FastifyRequest>();
    if (operator === null || operator === undefined) throw new Error('the route has no operator');
    return operator;
  },
);
