import type { Scope } from '../../domain/scope.js';
import type { CountedCall } from '../../domain/tenant/open-rules.js';
import type { Caller } from './access.js';
import { ApiError } from './api-error.js';
import type { Call } from './call.js';
import type { CallCount, ClientCall } from './rate-limits.js';

/** Where calls are counted. */
export interface CallCounter {
  count(call: ClientCall): Promise<CallCount>;
  /** Whether there is such a user; a write is then no new one. Ids as the client gave them. */
  isKnown(scope: Scope, accountId: string, userId: string): Promise<boolean>;
}

/**
 * Calls of clients on live data are counted; servers with their key, and trying things out, are
 * free.
 */
const isCounted = ({ actor, mode }: Caller): boolean => actor.kind !== 'api-key' && mode === 'live';

/** Counts a call and says in the answer how many are left. @throws {ApiError} RATE_LIMITED. */
export async function limitCalls(
  call: Call,
  counted: CountedCall,
  counter: CallCounter,
): Promise<void> {
  if (!isCounted(call)) return;
  const { limit, windowSeconds, left, resetSeconds, isExceeded } = await counter.count({
    tenant: call.tenant,
    call: counted,
    address: call.clientAddress,
  });
  void call.reply
    .header('RateLimit-Policy', `"${counted}";q=${limit};w=${windowSeconds}`)
    .header('RateLimit', `"${counted}";r=${left};t=${resetSeconds}`);
  if (isExceeded)
    throw new ApiError('RATE_LIMITED', { headers: { 'Retry-After': String(resetSeconds) } });
}

/** The same, for a write that counts only when its user is new. */
export async function limitNewUsers(
  call: Call,
  user: { readonly accountId: string; readonly userId: string },
  counter: CallCounter,
): Promise<void> {
  if (!isCounted(call) || (await counter.isKnown(call.scope, user.accountId, user.userId))) return;
  await limitCalls(call, 'create-user', counter);
}
