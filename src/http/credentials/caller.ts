import type { Operator } from '../../config/operators.js';
import type { Mode, Scope } from '../../domain/scope.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { ActorKind } from '../edge/request-facts.js';
import type { TokenSubject } from './user-token.js';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    operator: Operator | null;
  }
}

/** The facts of a tenant that the edge needs. */
export type Tenant = Pick<
  OpenTenant,
  'alias' | 'openEndpoints' | 'openRules' | 'suspended' | 'programType'
>;

/** The caller's credential: an API key, the secret that signed a token, or none. */
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
