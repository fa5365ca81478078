import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../domain/scope.js';
import type { CountedCall } from '../../domain/tenant/open-rules.js';
import type { Caller } from './access.js';
import { ApiError } from './api-error.js';
import { clientAddress } from './client-address.js';
import type { CallCount, ClientCall } from './rate-limits.js';

/** Where calls are counted. */
export interface CallCounter {
  count(call: ClientCall): Promise<CallCount>;
  /** Whether there is such a user; a write is then no new one. Ids as the client gave them. */
  isKnown(scope: Scope, accountId: string, userId: string): Promise<boolean>;
}

/** Calls of clients on live data are counted; servers with their key, and trying things out, are free. */
const isCounted = ({ actor, mode }: Caller): boolean => actor.kind !== 'api-key' && mode === 'live';

/** Counts a call and says in the answer how many are left. @throws {ApiError} RATE_LIMITED. */
export async function limitCalls(
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Caller,
  call: CountedCall,
  counter: CallCounter,
): Promise<void> {
  if (!isCounted(caller)) return;
  const { limit, windowSeconds, left, resetSeconds, isExceeded } = await counter.count({
    tenant: caller.tenant,
    call,
    address: clientAddress(request),
  });
  void reply
    .header('RateLimit-Policy', `"${call}";q=${limit};w=${windowSeconds}`)
    .header('RateLimit', `"${call}";r=${left};t=${resetSeconds}`);
  if (isExceeded) throw new ApiError('RATE_LIMITED', { headers: { 'Retry-After': String(resetSeconds) } });
}

/** The same, for a write that counts only when its user is new. */
export async function limitNewUsers(
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Caller,
  user: { readonly accountId: string; readonly userId: string },
  counter: CallCounter,
): Promise<void> {
  if (!isCounted(caller) || (await counter.isKnown(caller.scope, user.accountId, user.userId))) return;
  await limitCalls(request, reply, caller, 'create-user', counter);
}
