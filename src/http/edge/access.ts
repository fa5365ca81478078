import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Mode, Scope } from '../../domain/scope.js';
import type { Tenant } from '../tenant-directory.js';

/**
 * Who may call a route.
 * `none`: belongs to no tenant (health, metrics, this interface's description).
 * `tenant`: of an existing tenant, without credentials.
 * `key`: with an API key. `key-open`: an open endpoint, with an API key.
 * `anyone-open`: an open endpoint for everybody; no credentials means live mode, a key decides the mode.
 */
export type AccessKind = 'none' | 'tenant' | 'key' | 'key-open' | 'anyone-open';

export interface AccessRule {
  readonly kind: AccessKind;
  /** The specified body is empty: nothing at all, `{}`, any content type are fine. GET, HEAD and DELETE are so anyway. */
  readonly emptyBody: boolean;
  /** Refused with API_REQUEST_NOT_SUPPORTED on a tenant that is connected to a payment provider. */
  readonly apiOnlyPrograms: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: AccessRule;
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** Behind whom a request stands. `key`: an API key, named by its id. `anyone`: nobody in particular. */
export interface Actor {
  readonly kind: 'api-key' | 'anyone';
  readonly id: string;
}

/** Who calls, as far as the edge has found out before the body was read. */
export interface Caller {
  readonly tenant: Tenant;
  readonly mode: Mode;
  /** Tenant and mode, as keys of everything in the ledger. */
  readonly scope: Scope;
  readonly actor: Actor;
}

/** The name of the path parameter that holds the tenant's alias. */
export const TENANT_PARAMETER = 'tenantAlias';

/** The path that every controller of a tenant's resources begins with. */
export const TENANT_PATH = `api/v1/:${TENANT_PARAMETER}`;

export const API_KEY_SCHEME = 'apiKey';
export const ACCESS_EXTENSION = 'x-access';

/**
 * States who may call a route. Every route carries it: one without does not start.
 * The rule rides in the route's own configuration, so it is applied to what the router matched and cannot be missed by a path that is spelled otherwise.
 */
export function Access(
  kind: AccessKind,
  options: { readonly emptyBody?: boolean; readonly apiOnlyPrograms?: boolean } = {},
): MethodDecorator {
  const access: AccessRule = { kind, emptyBody: options.emptyBody ?? false, apiOnlyPrograms: options.apiOnlyPrograms ?? false };
  const security =
    kind === 'key' || kind === 'key-open'
      ? [ApiSecurity(API_KEY_SCHEME)]
      : kind === 'anyone-open'
        ? [ApiSecurity({}), ApiSecurity(API_KEY_SCHEME)]
        : [];
  return applyDecorators(RouteConfig({ access }), ApiExtension(ACCESS_EXTENSION, access), ...security);
}

/** Hands the caller to a controller's method. @throws when the route belongs to no tenant. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller =>
  callerOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null || request.caller === undefined) throw new Error('the route has no caller');
  return request.caller;
}
