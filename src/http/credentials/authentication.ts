import type { FastifyRequest } from 'fastify';
import type { CurrentOperators, Operator } from '../../config/operators.js';
import { aliasIn, isOpenEndpoint, type AccessRule } from '../edge/access.js';
import { callerAs, type Caller } from './caller.js';
import { ApiError } from '../edge/api-error.js';
import { unauthorized } from '../edge/challenge.js';
import type { TokenCheck } from './credentials.js';
import { CredentialsGuard } from './credentials.guard.js';
import { noteFacts } from '../edge/request-facts.js';
import { mayCall, type IsWriteToken } from './rights.js';
import type { Tenant, TenantDirectory } from './tenant-directory.js';

export interface AuthenticationParts {
  readonly tenants: TenantDirectory;
  readonly isWriteToken: IsWriteToken;
}

const guard = new CredentialsGuard();

/**
 * Finds tenant and caller of a request, in the order of the contract: tenant, credentials,
 * suspension, open switch, rights of the caller, features of the program.
 * @throws {ApiError} TENANT_NOT_FOUND, UNAUTHORIZED, OPEN_ENDPOINTS_DISABLED, FORBIDDEN,
 * API_REQUEST_NOT_SUPPORTED.
 */
export async function authenticate(
  request: FastifyRequest,
  access: AccessRule,
  { tenants, isWriteToken }: AuthenticationParts,
): Promise<Caller | null> {
  if (access.kind === 'none') return null;
  const tenant = await tenantOf(request, tenants);
  const caller = await callerWithin(request, { access, tenant, tenants });
  const { kind: actor, id: actorId } = caller.actor;
  noteFacts(request, { mode: caller.mode, actor, actorId });
  if (tenant.isSuspended) throw new ApiError('FORBIDDEN', { message: 'The tenant is suspended' });
  if (isOpenEndpoint(access) && !tenant.openEndpoints)
    throw new ApiError('OPEN_ENDPOINTS_DISABLED');
  if (!mayCall(caller, access, request, isWriteToken)) throw new ApiError('FORBIDDEN');
  if (access.apiOnlyPrograms && tenant.programType !== 'API_ONLY')
    throw new ApiError('API_REQUEST_NOT_SUPPORTED');
  return caller;
}

/**
 * Finds the operator of a request. The key is the password under any user name, like tenants' keys.
 * @throws {ApiError} UNAUTHORIZED, FORBIDDEN.
 */
export async function authenticateOperator(
  request: FastifyRequest,
  { roles = [] }: AccessRule,
  operators: CurrentOperators,
): Promise<Operator> {
  const findKey = async (key: string): Promise<Operator | undefined> =>
    (await operators.now()).find(key);
  const operator = await guard.holderOf({ headers: request.headers, findKey });
  if (operator === undefined) throw unauthorized(null);
  noteFacts(request, { actor: 'operator', actorId: operator.name });
  if (!operator.roles.some((role) => roles.includes(role))) throw new ApiError('FORBIDDEN');
  return operator;
}

/** @throws {ApiError} TENANT_NOT_FOUND. */
export async function tenantOf(
  request: FastifyRequest,
  tenants: Pick<TenantDirectory, 'find'>,
): Promise<Tenant> {
  const alias = aliasIn(request.params);
  const tenant = alias === undefined ? undefined : await tenants.find(alias);
  if (tenant === undefined) throw new ApiError('TENANT_NOT_FOUND');
  noteFacts(request, { tenant: tenant.alias });
  return tenant;
}

async function callerWithin({ headers }: FastifyRequest, tokenCheck: TokenCheck): Promise<Caller> {
  const { access, tenant, tenants } = tokenCheck;
  const anyone = () => callerAs(tenant, 'live', { kind: 'anyone', id: 'anyone' });
  if (access.kind === 'tenant') return anyone();
  const findKey = async (key: string): Promise<Caller | undefined> => {
    const known = await tenants.authenticate(tenant, key);
    return known && callerAs(tenant, known.mode, { kind: 'api-key', id: known.keyId });
  };
  const caller = await guard.holderOf({ headers, findKey, tokenCheck });
  if (caller !== undefined) return caller;
  if (headers.authorization) throw unauthorized(null);
  if (access.kind === 'public-open') return anyone();
  throw unauthorized('RS045');
}
