import type { CountedCall } from '../../domain/tenant/open-rules.js';
import type { Call, Caller } from '../credentials/call.js';
import { ApiError } from '../edge/api-error.js';
import { countedAddress } from '../edge/client-address.js';
import type { CallCount, RateLimits } from './rate-limits.js';
import { WindowCounts } from './window-counts.js';

export type CallCounter = Pick<RateLimits, 'count' | 'isKnown'>;

/** Whose calls share a count. Other calls: `address`. */
const COUNTED_PER: Partial<Record<CountedCall, 'user' | 'tenant'>> = {
  // Each event is stored, and many users share an address.
  'post-events': 'user',
  // Each call makes the service call or write to others.
  'test-webhook': 'tenant',
  'preview-mail': 'tenant',
};

/** What is known of a call before its body is read. */
export type CountedCaller = Caller & Pick<Call, 'clientAddress' | 'reply'>;

/** Undefined: the call is free. */
function clientOf(
  { mode, token, actor, clientAddress }: CountedCaller,
  counted: CountedCall,
): readonly string[] | undefined {
  switch (COUNTED_PER[counted]) {
    case 'tenant':
      return [];
    case 'user':
      return token?.kind === 'user' ? [mode, token.accountId, token.userId] : undefined;
    case undefined:
      // Servers with a key, and the test mode, are not limited.
      return actor.kind === 'api-key' || mode === 'test'
        ? undefined
        : [countedAddress(clientAddress)];
  }
}

/** Counts a call and reports the remaining ones in the answer. @throws {ApiError} RATE_LIMITED. */
export async function limitCalls(
  call: CountedCaller,
  counted: CountedCall,
  counter: CallCounter,
): Promise<void> {
  const client = clientOf(call, counted);
  if (client === undefined) return;
  const count = await counter.count({ tenant: call.tenant, call: counted, client });
  void call.reply.headers(rateHeaders(counted, count));
  const { isExceeded, limit, windowSeconds, resetSeconds } = count;
  if (isExceeded)
    throw rateLimited(`${counted}: at most ${limit} calls in ${windowSeconds} s`, resetSeconds);
}

/** The same for a write that counts only when it creates the user. */
export async function limitNewUsers(
  call: CountedCaller,
  user: { readonly accountId: string; readonly userId: string },
  counter: CallCounter,
): Promise<void> {
  if (clientOf(call, 'create-user') === undefined) return;
  if (await counter.isKnown(call.scope, user.accountId, user.userId)) return;
  await limitCalls(call, 'create-user', counter);
}

/** The fields that show a client its limit and what is left of it. */
const rateHeaders = (
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

/**
 * Counts the failed credentials of each address in this process, over all tenants and operators. It
 * is counted after the check, so that good credentials pass from the same address.
 */
export class FailedCredentials {
  constructor(
    private readonly perMinute: number,
    private readonly counts = new WindowCounts(),
  ) {}

  /**
   * Counts a failure of this address (see `countedAddress`).
   * @returns the answer in place of 401 beyond the limit.
   */
  count(address: string): ApiError | undefined {
    const limit = this.perMinute;
    const { calls, leftSeconds: resetSeconds } = this.counts.add(address, 60);
    if (calls <= limit) return undefined;
    const window = { limit, windowSeconds: 60, left: 0, resetSeconds };
    const rule = `at most ${limit} wrong credentials of an address in a minute`;
    return rateLimited(rule, resetSeconds, rateHeaders('failed-credentials', window));
  }
}
