import type { FastifyRequest } from 'fastify';
import type { Seen } from '../../domain/account/seen.js';
import { callerOf } from './access.js';
import { clientAddress } from './client-address.js';

const USER_AGENT_LENGTH_MAX = 512;

/** From where a user called: of calls with a token alone. A server that calls with its key is not where its users are. */
export function seenOf(request: FastifyRequest): Seen | undefined {
  if (callerOf(request).token === undefined) return undefined;
  return {
    ip: clientAddress(request),
    userAgent: request.headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX) || null,
    source: domainOf(request.headers['x-saasquatch-referrer']),
  };
}

/** The domain of the page that a client says it is on; what else is in such an address is nobody's business. */
function domainOf(referrer: string | string[] | undefined): string | null {
  if (typeof referrer !== 'string' || !/^https?:\/\//i.test(referrer) || !URL.canParse(referrer)) return null;
  return new URL(referrer).hostname || null;
}
