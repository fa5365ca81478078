import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CurrentOperators } from '../../config/operators.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import type { Caller } from '../credentials/call.js';
import { refuseBrokenEscapes, type AccessRule } from '../edge/access.js';
import { ApiError, unavailable } from '../edge/api-error.js';
import {
  authenticate,
  authenticateOperator,
  type AuthenticationParts,
} from '../credentials/authentication.js';
import {
  limitCalls,
  limitNewUsers,
  type CallCounter,
  type CountedCaller,
  type FailedCredentials,
} from './call-limit.js';
import { clientAddress, countedAddress } from '../edge/client-address.js';
import { refuseCrossSite } from '../edge/cross-origin.js';
import { checkContentType } from '../edge/json-body.js';

export interface AdmissionParts extends AuthenticationParts {
  /** Failed credentials by address, shared with other checks. */
  readonly failures: FailedCredentials;
  /** Counts calls of clients without an API key. */
  readonly calls: CallCounter;
  readonly operators: CurrentOperators;
  /** Checks access to the console. Default: refuses. */
  readonly console?: { enter(request: FastifyRequest, access: AccessRule): Promise<void> };
  /** False while read models are incomplete: tenants' routes answer 503. */
  readonly isComplete: () => boolean;
}

/** The checks before the body is read: credentials, rights, rate, media type, in this order. */
export class Admission {
  constructor(private readonly parts: AdmissionParts) {}

  /** @throws {ApiError} */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { access } = request.routeOptions.config;
    if (access === undefined) throw new ApiError('FORBIDDEN');
    if (access.kind === 'operator') return this.admitOperator(request, access);
    if (access.kind === 'console') {
      if (this.parts.console === undefined) throw new ApiError('NOT_FOUND');
      return this.parts.console.enter(request, access);
    }
    const { calls, isComplete } = this.parts;
    if (access.kind !== 'none' && !isComplete()) throw unavailable();
    const caller = await this.counted(request, authenticate(request, access, this.parts));
    request.caller = caller;
    if (caller && request.method === 'GET') showTestClock(caller, reply);
    const takesKey = access.kind === 'key' || access.kind === 'key-open';
    if (takesKey || hasBasic(request)) refuseCrossSite(request);
    if (caller && access.counted !== undefined)
      await limit({ ...caller, clientAddress: clientAddress(request), reply }, access, calls);
    checkContentType(request, access);
  }

  private async admitOperator(request: FastifyRequest, access: AccessRule): Promise<void> {
    const authenticating = authenticateOperator(request, access, this.parts.operators);
    request.operator = await this.counted(request, authenticating);
    refuseCrossSite(request);
    refuseBrokenEscapes(request);
    checkContentType(request, access);
  }

  /**
   * Counts failed credentials; missing ones do not count.
   * @throws {ApiError} RATE_LIMITED instead of UNAUTHORIZED after too many failures of an address.
   */
  private async counted<T>(request: FastifyRequest, authenticating: Promise<T>): Promise<T> {
    try {
      return await authenticating;
    } catch (error) {
      const hasFailed =
        error instanceof ApiError && error.code === 'UNAUTHORIZED' && hasCredentials(request);
      const limited =
        hasFailed && this.parts.failures.count(countedAddress(clientAddress(request)));
      throw limited || error;
    }
  }
}

/** Sets the header `Test-Clock` on the answer to a GET, in test mode with a test clock. */
export function showTestClock(
  { tenant, mode }: Pick<Caller, 'tenant' | 'mode'>,
  reply: FastifyReply,
): void {
  if (mode === 'live' || tenant.testOffsetMs === null) return;
  void reply.header('Test-Clock', new Date(ledgerTime(tenant, mode)).toISOString());
}

const hasBasic = ({ headers: { authorization = '' } }: FastifyRequest): boolean =>
  /^\s*basic\b/i.test(authorization);

const hasCredentials = ({ headers }: FastifyRequest): boolean =>
  Boolean(headers.authorization) || Boolean(headers['x-saasquatch-user-token']);

async function limit(call: CountedCaller, rule: AccessRule, calls: CallCounter): Promise<void> {
  const [{ token }, { counted, kind }] = [call, rule];
  // The user that the call may create is the token's. The route of visitors finds the user in the
  // body, and counts the call itself.
  const user = token?.kind === 'user' && kind !== 'visitor-open' ? token : undefined;
  if (counted === 'create-user') return user && limitNewUsers(call, user, calls);
  if (counted !== undefined) await limitCalls(call, counted, calls);
}
