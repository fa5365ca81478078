import type { FastifyRequest } from 'fastify';
import type { Operator, Operators } from '../../config/operators.js';
import type { Mode } from '../../domain/scope.js';
import { isOpenEndpoint, TENANT_PARAMETER, type AccessRule, type Actor, type Caller } from './access.js';
import { ApiError } from './api-error.js';
import { CHALLENGE } from './challenge.js';
import { mayCall, takesTokens } from './rights.js';
import { isTenantAlias, type Tenant, type TenantDirectory } from './tenant-directory.js';

const unauthorized = (rsCode: string | null): ApiError => new ApiError('UNAUTHORIZED', { rsCode, headers: CHALLENGE });

/**
 * Finds tenant and caller of a request, in the order of the contract: tenant, credentials, open switch, what the caller and the program may.
 * @throws {ApiError} TENANT_NOT_FOUND, UNAUTHORIZED, OPEN_ENDPOINTS_DISABLED, FORBIDDEN, API_REQUEST_NOT_SUPPORTED.
 */
export async function authenticate(request: FastifyRequest, access: AccessRule, tenants: TenantDirectory): Promise<Caller | null> {
  if (access.kind === 'none') return null;
  const tenant = await tenantOf(request, tenants);
  const caller = await callerWithin(request, access, tenant, tenants);
  if (isOpenEndpoint(access) && !tenant.openEndpoints) throw new ApiError('OPEN_ENDPOINTS_DISABLED');
  if (!mayCall(caller, access, request)) throw new ApiError('FORBIDDEN');
  if (access.apiOnlyPrograms && tenant.programType !== 'API_ONLY') throw new ApiError('API_REQUEST_NOT_SUPPORTED');
  return caller;
}

/**
 * Finds the operator behind a request: the key as the password under any user name, as tenants' keys are given.
 * @throws {ApiError} UNAUTHORIZED, FORBIDDEN.
 */
export function authenticateOperator({ headers }: FastifyRequest, { roles = [] }: AccessRule, operators: Operators): Operator {
  const key = headers.authorization === undefined ? undefined : apiKeyIn(headers.authorization);
  const operator = key === undefined ? undefined : operators.find(key);
  if (operator === undefined) throw unauthorized(null);
  if (!operator.roles.some((role) => roles.includes(role))) throw new ApiError('FORBIDDEN');
  return operator;
}

/** @throws {ApiError} TENANT_NOT_FOUND. */
export async function tenantOf(request: FastifyRequest, tenants: Pick<TenantDirectory, 'find'>): Promise<Tenant> {
  const alias = aliasIn(request.params);
  const tenant = alias === undefined ? undefined : await tenants.find(alias);
  if (tenant === undefined) throw new ApiError('TENANT_NOT_FOUND');
  return tenant;
}

function aliasIn(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null) return undefined;
  const alias: unknown = Reflect.get(params, TENANT_PARAMETER);
  return typeof alias === 'string' && isTenantAlias(alias) ? alias : undefined;
}

async function callerWithin(request: FastifyRequest, access: AccessRule, tenant: Tenant, tenants: TenantDirectory): Promise<Caller> {
  const anyone = () => callerOf(tenant, 'live', { kind: 'anyone', id: 'anyone' });
  if (access.kind === 'tenant') return anyone();
  const { authorization } = request.headers;
  const tokens = tokensIn(request);
  if (tokens.length > 0) return callerOfToken(tokens, access, tenant, tenants);
  if (!authorization) {
    if (access.kind === 'anyone-open') return anyone();
    throw unauthorized('RS045');
  }
  const key = apiKeyIn(authorization);
  const recognised = key === undefined ? undefined : await tenants.authenticate(tenant, key);
  if (recognised === undefined) throw unauthorized(null);
  return callerOf(tenant, recognised.mode, { kind: 'api-key', id: recognised.keyId });
}

/** A token counts before a key. Where no token counts, a good one is as bad as any; two that differ are none. */
async function callerOfToken(tokens: readonly string[], access: AccessRule, tenant: Tenant, tenants: TenantDirectory): Promise<Caller> {
  const [token = ''] = tokens;
  const mayCount = takesTokens(access) && tokens.every((other) => other === token);
  // What cannot count is verified as the empty token is: its refusal takes as long as that of any other, and does not tell a good one.
  const recognised = await tenants.verifyToken(tenant, mayCount ? token : '');
  if (recognised === undefined) throw unauthorized('RS032');
  return {
    ...callerOf(tenant, recognised.mode, { kind: 'user-token', id: recognised.keyId }),
    token: recognised.subject,
  };
}

/** The tokens that a request carries; an empty field is none. */
function tokensIn({ headers }: FastifyRequest): readonly string[] {
  const own = headers['x-saasquatch-user-token'];
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(headers.authorization?.trim() ?? '');
  return [...(own ? [own].flat() : []), ...(bearer ? [bearer[1] ?? ''] : [])];
}

const callerOf = (tenant: Tenant, mode: Mode, actor: Actor): Caller => ({ tenant, mode, scope: { tenant: tenant.alias, mode }, actor });

/**
 * The API key in an `Authorization` field: the password under any user name, or the user name when the password is empty.
 * Undefined: not HTTP Basic, or malformed. A password may hold colons, a user name cannot.
 */
export function apiKeyIn(authorization: string): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})[ \t]*$/i.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon === -1) return undefined;
  return decoded.slice(colon + 1) || decoded.slice(0, colon) || undefined;
}
