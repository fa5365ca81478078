import type { CountedCall } from '../../domain/tenant/open-rules.js';
import type { Call, Caller } from '../credentials/call.js';
import { ApiError } from '../edge/api-error.js';
import { countedAddress } from '../edge/client-address.js';
import type { CallCount, RateLimits } from './rate-limits.js';
import { WindowCounts } from './window-counts.js';

export type CallCounter = Pick<RateLimits, 'count' | 'isKnown'>;

/** The unit that shares a limit. Default: the address. */
const COUNTED_PER: Partial<Record<CountedCall, 'user' | 'tenant'>> = {
  // Each event is stored, and users may share an address.
  'post-events': 'user',
  // Each call makes the service call or mail others.
  'test-webhook': 'tenant',
  'preview-mail': 'tenant',
};

/** What is known before the body is read. */
export type CountedCaller = Caller & Pick<Call, 'clientAddress' | 'reply'>;

/** Undefined: not limited. */
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
      // Servers with a key and the test mode are not limited.
      return actor.kind === 'api-key' || mode === 'test'
        ? undefined
        : [countedAddress(clientAddress)];
  }
}

/** Counts a call and sets the headers of the remaining ones. @throws {ApiError} RATE_LIMITED. */
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

/** Counts a write only if it creates the user. */
export async function limitNewUsers(
  call: CountedCaller,
  user: { readonly accountId: string; readonly userId: string },
  counter: CallCounter,
): Promise<void> {
  if (clientOf(call, 'create-user') === undefined) return;
  if (await counter.isKnown(call.scope, user.accountId, user.userId)) return;
  await limitCalls(call, 'create-user', counter);
}

const rateHeaders = (
  name: string,
  { limit, windowSeconds, left, resetSeconds }: Omit<CallCount, 'isExceeded'>,
): Readonly<Record<string, string>> => ({
  'RateLimit-Policy': `"${name}";q=${limit};w=${windowSeconds}`,
  RateLimit: `"${name}";r=${left};t=${resetSeconds}`,
});

/** @param rule the exceeded limit. */
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
 * Counts failed credentials per address in this process, for tenants and operators together. Counts
 * after the check, so that valid credentials pass from the same address.
 */
export class FailedCredentials {
  constructor(
    private readonly perMinute: number,
    private readonly counts = new WindowCounts(),
  ) {}

  /** Counts a failure of an address (see `countedAddress`). @returns the error beyond the limit. */
  count(address: string): ApiError | undefined {
    const limit = this.perMinute;
    const { calls, leftSeconds: resetSeconds } = this.counts.add(address, 60);
    if (calls <= limit) return undefined;
    const window = { limit, windowSeconds: 60, left: 0, resetSeconds };
    const rule = `at most ${limit} wrong credentials of an address in a minute`;
    return rateLimited(rule, resetSeconds, rateHeaders('failed-credentials', window));
  }
}
