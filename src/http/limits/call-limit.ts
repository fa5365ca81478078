import type { Scope } from '../../domain/scope.js';
import type { CountedCall } from '../../domain/tenant/open-rules.js';
import type { Caller } from '../credentials/caller.js';
import { ApiError } from '../edge/api-error.js';
import type { Call } from '../credentials/call.js';
import { countedAddress } from '../edge/client-address.js';
import type { CallCount, ClientCall } from './rate-limits.js';

/** The counters of calls. */
export interface CallCounter {
  count(call: ClientCall): Promise<CallCount>;
  /** Whether the user exists; such a write is not counted. Ids as the client sent them. */
  isKnown(scope: Scope, accountId: string, userId: string): Promise<boolean>;
}

/** Limits live calls of clients. Servers with a key, and the test mode, are not limited. */
const isCounted = ({ actor, mode }: Caller): boolean => actor.kind !== 'api-key' && mode === 'live';

/**
 * Limits a user's own calls in both modes: each of them is stored for good. Counted by user: many
 * users share an address.
 */
export async function limitCallsOfUser(
  call: Call,
  counted: CountedCall,
  counter: CallCounter,
): Promise<void> {
  const { token, mode } = call;
  if (token?.kind === 'user')
    await countCall(call, counted, [mode, token.accountId, token.userId], counter);
}

/**
 * Limits all calls of a tenant, those with a key and in test mode included: each of them makes the
 * service call somebody.
 */
export const limitCallsOfTenant = (
  call: Call,
  counted: CountedCall,
  counter: CallCounter,
): Promise<void> => countCall(call, counted, [], counter);

/**
 * Limits all calls of a tenant and mode, those with a key included: what they change is read with
 * the tenant for good, also by others' requests.
 */
export const limitCallsOfMode = (
  call: Call,
  counted: CountedCall,
  counter: CallCounter,
): Promise<void> => countCall(call, counted, [call.mode], counter);

/** Counts a call and reports the remaining ones in the answer. @throws {ApiError} RATE_LIMITED. */
export async function limitCalls(
  call: Call,
  counted: CountedCall,
  counter: CallCounter,
): Promise<void> {
  if (isCounted(call))
    await countCall(call, counted, [countedAddress(call.clientAddress)], counter);
}

async function countCall(
  call: Call,
  counted: CountedCall,
  client: readonly string[],
  counter: CallCounter,
): Promise<void> {
  const { limit, windowSeconds, left, resetSeconds, isExceeded } = await counter.count({
    tenant: call.tenant,
    call: counted,
    client,
  });
  void call.reply.headers(rateHeaders(counted, { limit, windowSeconds, left, resetSeconds }));
  if (isExceeded)
    throw rateLimited(`${counted}: at most ${limit} calls in ${windowSeconds} s`, resetSeconds);
}

/** The fields that tell a client its limit and what is left of it. */
export const rateHeaders = (
  name: string,
  { limit, windowSeconds, left, resetSeconds }: Omit<CallCount, 'isExceeded'>,
): Readonly<Record<string, string>> => ({
  'RateLimit-Policy': `"${name}";q=${limit};w=${windowSeconds}`,
  RateLimit: `"${name}";r=${left};t=${resetSeconds}`,
});

/** @param rule that the call breaks. */
export const rateLimited = (
  rule: string,
  retryAfterSeconds: number,
  headers: Readonly<Record<string, string>> = {},
): ApiError =>
  new ApiError('RATE_LIMITED', {
    message: `Too many requests (${rule}): repeat the call in ${retryAfterSeconds} s`,
    headers: { ...headers, 'Retry-After': String(retryAfterSeconds) },
  });

/** The same for a write that counts only when it creates the user. */
export async function limitNewUsers(
  call: Call,
  user: { readonly accountId: string; readonly userId: string },
  counter: CallCounter,
): Promise<void> {
  if (!isCounted(call) || (await counter.isKnown(call.scope, user.accountId, user.userId))) return;
  await limitCalls(call, 'create-user', counter);
}
