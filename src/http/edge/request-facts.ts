import type { FastifyRequest } from 'fastify';
import type { Mode } from '../../domain/scope.js';
import type { ApiErrorCode } from './api-error.js';

/** How a caller of a tenant's route was authenticated. */
export type ActorKind = 'api-key' | 'user-token' | 'anyone';

/**
 * What became known about a request, for its log line, metrics and span. Names and ids that the
 * service or its operators gave out, nothing that a client chose.
 */
export interface RequestFacts {
  /** An existing tenant, whether or not the credentials were right. */
  readonly tenant?: string;
  readonly mode?: Mode;
  readonly actor?: ActorKind | 'operator';
  /** Of the key, of the secret that signed the token, or the operator's name. */
  readonly actorId?: string;
  /** Of an answer that is an error. */
  readonly code?: ApiErrorCode;
}

declare module 'fastify' {
  interface FastifyRequest {
    facts: RequestFacts | null;
  }
}

export const factsOf = ({ facts }: FastifyRequest): RequestFacts => facts ?? {};

export function noteFacts(request: FastifyRequest, facts: RequestFacts): void {
  request.facts = { ...request.facts, ...facts };
}
