import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operator } from '../../config/operators.js';
import type { Seen } from '../../domain/account/seen.js';
import { callerOf, type Caller } from './caller.js';
import { clientAddress } from '../edge/client-address.js';
import { departureOf } from '../edge/departures.js';
import type { TokenSubject } from './user-token.js';

const USER_AGENT_LENGTH_MAX = 512;

/**
 * One call of a tenant's route: the caller, the client's address, and what was sent besides path,
 * query and body.
 */
export interface Call extends Caller {
  /** Of this request; correlates its events. */
  readonly id: string;
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** As parsed, including members that no shape reads. */
  readonly body: unknown;
  /** The client's address, through trusted proxies. */
  readonly clientAddress: string;
  /** The user's address: only for calls with a token. A server's address is not its users'. */
  readonly seen: Seen | undefined;
  /** For the status and headers of the answer. */
  readonly reply: FastifyReply;
  /** Aborts when the client leaves before the answer. */
  readonly departure: AbortSignal;
  /** Waits for what others do, and leaves the call's place to other calls meanwhile. */
  readonly aside: <T>(wait: () => Promise<T>) => Promise<T>;
}

/** One call of a route for operators. */
export interface OperatorCall {
  readonly operator: Operator;
  /** For the status and headers of the answer. */
  readonly reply: FastifyReply;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Made once, when it is first asked for. */
    call: Call | null;
  }
}

/** Injects the call into a controller's method. @throws when the route belongs to no tenant. */
export const Call = createParamDecorator((_data: unknown, context: ExecutionContext): Call => {
  const http = context.switchToHttp();
  return callOf(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
});

/** Injects the call into a controller's method. @throws when the route is not for operators. */
export const OperatorCall = createParamDecorator(
  (_data: unknown, context: ExecutionContext): OperatorCall => {
    const http = context.switchToHttp();
    const { operator } = http.getRequest<FastifyRequest>();
    if (operator === null || operator === undefined) throw new Error('the route has no operator');
    return { operator, reply: http.getResponse<FastifyReply>() };
  },
);

/** The call of this request; the same object for every caller of this function. */
export const callOf = (request: FastifyRequest, reply: FastifyReply): Call =>
  (request.call ??= new CallOfRequest(request, reply));

/** A class: getters of an object of its own would be defined anew for each request. */
class CallOfRequest implements Call {
  readonly tenant: Call['tenant'];
  readonly mode: Call['mode'];
  readonly scope: Call['scope'];
  readonly actor: Call['actor'];
  readonly token?: TokenSubject;
  readonly seen: Seen | undefined;
  readonly id: string;
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;

  constructor(
    private readonly request: FastifyRequest,
    readonly reply: FastifyReply,
  ) {
    const { tenant, mode, scope, actor, token } = callerOf(request);
    this.tenant = tenant;
    this.mode = mode;
    this.scope = scope;
    this.actor = actor;
    if (token !== undefined) this.token = token;
    this.seen = token && seenIn(request);
    this.id = request.id;
    this.method = request.method;
    this.target = request.raw.url ?? '';
    this.headers = request.headers;
  }

  /** Calls are counted before their bodies are read. */
  get body(): unknown {
    return this.request.body;
  }

  get clientAddress(): string {
    return clientAddress(this.request);
  }

  get departure(): AbortSignal {
    return departureOf(this.reply);
  }

  async aside<T>(wait: () => Promise<T>): Promise<T> {
    const { request } = this;
    request.place?.leave();
    try {
      return await wait();
    } finally {
      await request.takePlace(this.reply);
    }
  }
}

function seenIn(request: FastifyRequest): Seen {
  const { headers } = request;
  return {
    ip: clientAddress(request),
    userAgent: headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX) || null,
    source: domainOf(headers['x-saasquatch-referrer']),
  };
}

/** The domain of the page that the client names; the rest of the address is private. */
function domainOf(referrer: string | string[] | undefined): string | null {
  if (typeof referrer !== 'string' || !/^https?:\/\//i.test(referrer) || !URL.canParse(referrer))
    return null;
  return new URL(referrer).hostname || null;
}
