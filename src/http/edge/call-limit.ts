import type { Scope } from '../../domain/scope.js';
import type { CountedCall } from '../../domain/tenant/open-rules.js';
import type { Caller } from './access.js';
import { ApiError } from './api-error.js';
import type { Call } from './call.js';
import type { CallCount, ClientCall } from './rate-limits.js';

/** The counters of calls. */
export interface CallCounter {
  count(call: ClientCall): Promise<CallCount>;
  /** Whether the user exists; such a write is not counted. Ids as the client sent them. */
  isKnown(scope: Scope, accountId: string, userId: string): Promise<boolean>;
}

/** Limits live calls of clients. Servers with a key, and the test mode, are not limited. */
const isCounted = ({ actor, mode }: Caller): boolean => actor.kind !== 'api-key' && mode === 'live';

/** Counts a call and reports the remaining ones in the answer. @throws {ApiError} RATE_LIMITED. */
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

/** The same for a write that counts only when it creates the user. */
export async function limitNewUsers(
  call: Call,
  user: { readonly accountId: string; readonly userId: string },
  counter: CallCounter,
): Promise<void> {
  if (!isCounted(call) || (await counter.isKnown(call.scope, user.accountId, user.userId))) return;
  await limitCalls(call, 'create-user', counter);
}
