import type { FastifyRequest } from 'fastify';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import type { TokenSecrets } from '../../tenants/token-secrets.js';
import type { CurrentOperators, Operator } from '../../config/operators.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { aliasIn, isOpenEndpoint, type AccessRule } from '../edge/access.js';
import { ApiError, unauthorized } from '../edge/api-error.js';
import { addFacts } from '../edge/request-facts.js';
import type { Actor, Caller } from './call.js';
import { CredentialsGuard } from './credentials.guard.js';
import { forbidden, takesTokens, type IsWriteToken } from './rights.js';
import { tokensIn, type VerifyToken } from './user-token.strategy.js';

export interface AuthenticationParts {
  readonly tenants: Pick<TenantDirectory, 'find' | 'authenticate'>;
  readonly tokenSecrets: Pick<TokenSecrets, 'verify'>;
  readonly isWriteToken: IsWriteToken;
}

const guard = new CredentialsGuard();

/**
 * Finds tenant and caller, in the contract's order: tenant, credentials, suspension, open switch,
 * rights, features of the program.
 * @throws {ApiError} TENANT_NOT_FOUND, UNAUTHORIZED, OPEN_ENDPOINTS_DISABLED, FORBIDDEN,
 * API_REQUEST_NOT_SUPPORTED.
 */
export async function authenticate(
  request: FastifyRequest,
  access: AccessRule,
  parts: AuthenticationParts,
): Promise<Caller | null> {
  if (access.kind === 'none') return null;
  const alias = aliasIn(request.params);
  const tenant = alias === undefined ? undefined : await parts.tenants.find(alias);
  if (tenant === undefined) throw new ApiError('TENANT_NOT_FOUND');
  addFacts(request, { tenant: tenant.alias });
  const caller = await callerOf(tenant, access, request, parts);
  const { kind: actor, id: actorId } = caller.actor;
  addFacts(request, { mode: caller.mode, actor, actorId });
  if (tenant.suspended)
    throw new ApiError('FORBIDDEN', {
      message: `The tenant "${tenant.alias}" is suspended: the operator of the service can resume it`,
    });
  if (isOpenEndpoint(access) && !tenant.openEndpoints)
    throw new ApiError('OPEN_ENDPOINTS_DISABLED');
  const message = forbidden(caller, access, request, parts.isWriteToken);
  if (message !== undefined) throw new ApiError('FORBIDDEN', { message });
  if (access.apiOnlyPrograms && tenant.programType !== 'API_ONLY')
    throw new ApiError('API_REQUEST_NOT_SUPPORTED');
  return caller;
}

/**
 * Finds the operator of a request, whose key is the password. @throws {ApiError} UNAUTHORIZED,
 * FORBIDDEN.
 */
export async function authenticateOperator(
  request: FastifyRequest,
  { roles = [] }: AccessRule,
  operators: CurrentOperators,
): Promise<Operator> {
  const findKey = async (key: string): Promise<Operator | undefined> =>
    (await operators.now()).holderOf(key)?.operator;
  const operator = await guard.holderOf({ headers: request.headers, findKey });
  if (operator === undefined) throw unauthorized(null);
  addFacts(request, { actor: 'operator', actorId: operator.name });
  if (!operator.roles.some((role) => roles.includes(role)))
    throw new ApiError('FORBIDDEN', {
      message: `The route needs the role ${roles.join(' or ')}, and ${operator.name} has ${operator.roles.join(', ')}: use the key of another operator`,
    });
  return operator;
}

async function callerOf(
  tenant: OpenTenant,
  access: AccessRule,
  { headers }: FastifyRequest,
  { tenants, tokenSecrets }: AuthenticationParts,
): Promise<Caller> {
  const { alias } = tenant;
  const callerAs = (mode: Caller['mode'], actor: Actor): Caller => {
    return { tenant, mode, scope: ledgerOf(tenant, mode), actor };
  };
  const anyone = (): Caller => callerAs('live', { kind: 'anyone', id: 'anyone' });
  if (access.kind === 'tenant') return anyone();
  if (!takesTokens(access) && tokensIn(headers).length > 0) throw unauthorized('RS045');
  const findKey = async (key: string): Promise<Caller | undefined> => {
    const known = await tenants.authenticate(alias, key);
    return known && callerAs(known.mode, { kind: 'api-key', id: known.keyId });
  };
  const findUser = async (verify: VerifyToken): Promise<Caller | undefined> => {
    const verified = await tokenSecrets.verify(alias, (secrets, { openRules, tokensNotBefore }) =>
      verify(secrets, {
        tenant: alias,
        mustExpire: openRules.tokensMustExpire,
        notBefore: tokensNotBefore,
      }),
    );
    if (verified === undefined) return undefined;
    const { subject: token, signedWith } = verified;
    return { ...callerAs(signedWith.mode, { kind: 'user-token', id: signedWith.id }), token };
  };
  const caller = await guard.holderOf({ headers, findKey, findUser });
  if (caller !== undefined) return caller;
  if (headers.authorization) throw unauthorized(null);
  if (access.kind === 'public-open') return anyone();
  throw unauthorized('RS045');
}
