import type { FastifyRequest } from 'fastify';
import type { Mode } from '../../domain/scope.js';
import type { ApiErrorCode } from './api-error.js';

/** The authentication of a tenant's caller. */
export type ActorKind = 'api-key' | 'user-token' | 'anyone';

/**
 * Facts for log line, metrics and span: ids from the service or its operators, never a client's.
 */
export interface RequestFacts {
  /** An existing tenant, even if the credentials were wrong. */
  readonly tenant?: string;
  readonly mode?: Mode;
  readonly actor?: ActorKind | 'operator';
  /** Id of the key or token secret, or the operator's name. */
  readonly actorId?: string;
  /** The code of an error. */
  readonly code?: ApiErrorCode;
}

declare module 'fastify' {
  interface FastifyRequest {
    facts: RequestFacts | null;
  }
}

export const factsOf = ({ facts }: FastifyRequest): RequestFacts => facts ?? {};

export function addFacts(request: FastifyRequest, facts: RequestFacts): void {
  request.facts = { ...request.facts, ...facts };
}
