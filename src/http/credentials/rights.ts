import type { FastifyRequest } from 'fastify';
import type { AccessRule } from '../edge/access.js';
import type { Caller } from './caller.js';
import type { TokenSubject } from './user-token.js';

/**
 * What a caller may do. An API key opens everything of its mode; a token opens its user's own data.
 */

/** Whether a token with these fields of its user, the ids left out, may write. */
export type IsWriteToken = (fields: TokenSubject['fields']) => boolean;

/** Whether a route accepts tokens. */
export const takesTokens = ({ kind }: AccessRule): boolean =>
  kind === 'user-open' || kind === 'visitor-open' || kind === 'public-open';

export function mayCall(
  { token }: Caller,
  access: AccessRule,
  request: Pick<FastifyRequest, 'params' | 'query'>,
  isWriteToken: IsWriteToken,
): boolean {
  if (token === undefined || access.kind === 'visitor-open') return true;
  if (token.kind === 'anonymous') return false;
  if (access.kind !== 'user-open') return true;
  if (access.token === 'write' && !isWriteToken(token.fields)) return false;
  return access.about === 'referral-query'
    ? isPartyAskedFor(token, request.query)
    : isUserOfPath(token, request.params);
}

type NamedUser = Extract<TokenSubject, { kind: 'user' }>;

function isUserOfPath({ accountId, userId }: NamedUser, params: unknown): boolean {
  return memberOf(params, 'accountId') === accountId && memberOf(params, 'userId') === userId;
}

/**
 * The token's user must be one side of the requested referrals. The parser refuses a query that
 * names no complete side.
 */
function isPartyAskedFor({ accountId, userId }: NamedUser, query: unknown): boolean {
  const sides = (['referring', 'referred'] as const)
    .map((side) => [memberOf(query, `${side}AccountId`), memberOf(query, `${side}UserId`)] as const)
    .filter(([account, user]) => Boolean(account) && Boolean(user));
  return (
    sides.length === 0 || sides.some(([account, user]) => account === accountId && user === userId)
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
