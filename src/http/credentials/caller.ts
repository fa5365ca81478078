import type { FastifyRequest } from 'fastify';
import type { Operator } from '../../config/operators.js';
import type { Mode, Scope } from '../../domain/scope.js';
import type { ActorKind } from '../edge/request-facts.js';
import type { Tenant } from './tenant-directory.js';
import type { TokenSubject } from './user-token.js';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    operator: Operator | null;
  }
}

/**
 * Who authenticated the request: an API key, by its id; a token, by the secret that signed it; or
 * no one.
 */
export interface Actor {
  readonly kind: ActorKind;
  readonly id: string;
}

/** The caller, as known before the body is read. */
export interface Caller {
  readonly tenant: Tenant;
  readonly mode: Mode;
  /** Tenant and mode, in the form of the ledger's keys. */
  readonly scope: Scope;
  readonly actor: Actor;
  /** The user that the token names; undefined without a token. */
  readonly token?: TokenSubject;
}

export const callerAs = (tenant: Tenant, mode: Mode, actor: Actor): Caller => {
  const scope = { tenant: tenant.alias, mode };
  return { tenant, mode, scope, actor };
};

/** @throws when the route belongs to no tenant. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null || request.caller === undefined)
    throw new Error('the route has no caller');
  return request.caller;
}
