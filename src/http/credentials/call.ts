import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operator } from '../../config/operators.js';
import type { CallOrigin } from '../../domain/account/users/call-origin.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { Mode, Scope } from '../../domain/scope.js';
import type { ActorKind } from '../edge/request-facts.js';
import type { TokenSubject } from './user-token.js';
import { clientAddress } from '../edge/client-address.js';

const USER_AGENT_LENGTH_MAX = 512;

/** The caller's credential: an API key, the secret of a token, or none. */
export interface Actor {
  readonly kind: ActorKind;
  readonly id: string;
}

/** The caller, before the body is read. */
export interface Caller {
  readonly tenant: OpenTenant;
  readonly mode: Mode;
  readonly scope: Scope;
  readonly actor: Actor;
  /** The token's user. */
  readonly token?: TokenSubject;
}

/** A call of a tenant's route. */
export interface Call extends Caller {
  /** Id of this request, which correlates its events. */
  readonly id: string;
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** As parsed, including members that no shape reads. */
  readonly body: unknown;
  /** The client's address, through trusted proxies. */
  readonly clientAddress: string;
  /** The user's address; only in calls with a token, because servers are not users. */
  readonly seen: CallOrigin | undefined;
  /** For the status and headers of the answer. */
  readonly reply: FastifyReply;
  /** Aborts when the client leaves before the answer. A function, because few calls need it. */
  readonly departure: () => AbortSignal;
  /** Waits without occupying the call's place. */
  readonly aside: <T>(wait: () => Promise<T>) => Promise<T>;
}

/** A call of an operator's route. */
export interface OperatorCall {
  readonly operator: Operator;
  /** For the status and headers of the answer. */
  readonly reply: FastifyReply;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    operator: Operator | null;
  }
}

/** Injects the call into a controller's method. @throws when the route has no tenant. */
export const Call = createParamDecorator((_data: unknown, context: ExecutionContext): Call => {
  const http = context.switchToHttp();
  const request = http.getRequest<FastifyRequest>();
  const reply = http.getResponse<FastifyReply>();
  const { caller, id, method, headers, raw, body } = request;
  if (!caller) throw new Error('the route has no caller');
  return {
    ...caller,
    id,
    method,
    target: raw.url ?? '',
    headers,
    body,
    clientAddress: clientAddress(request),
    seen: caller.token && seenIn(request),
    reply,
    departure: () => departureSignal(reply),
    aside: async (wait) => {
      request.place?.leave();
      try {
        return await wait();
      } finally {
        await request.takePlace(reply);
      }
    },
  };
});

/** Injects the call into a controller's method. @throws when the route is not for operators. */
export const OperatorCall = createParamDecorator(
  (_data: unknown, context: ExecutionContext): OperatorCall => {
    const http = context.switchToHttp();
    const { operator } = http.getRequest<FastifyRequest>();
    if (!operator) throw new Error('the route has no operator');
    return { operator, reply: http.getResponse<FastifyReply>() };
  },
);

/** Aborts when the request was answered or its client has left. */
export function departureSignal({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  if (raw.destroyed) leaving.abort();
  raw.once('close', () => leaving.abort());
  return leaving.signal;
}

function seenIn(request: FastifyRequest): CallOrigin {
  const { headers } = request;
  return {
    ip: clientAddress(request),
    userAgent: headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX) || null,
    source: domainOf(headers['x-saasquatch-referrer']),
  };
}

/** The domain of the referring page; the rest of its address is private. */
function domainOf(referrer: string | string[] | undefined): string | null {
  if (typeof referrer !== 'string' || !/^https?:\/\//i.test(referrer) || !URL.canParse(referrer))
    return null;
  return new URL(referrer).hostname || null;
}
