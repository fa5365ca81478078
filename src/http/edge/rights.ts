import type { FastifyRequest } from 'fastify';
import { readShape } from '../shapes/request-shape.js';
import { UserRequest } from '../users/user.request.js';
import type { AccessRule, Caller } from './access.js';
import type { TokenSubject } from './user-token.js';

/**
 * What a caller may do with what it brought. An API key opens everything of its mode; a token opens
 * what is its user's own.
 */

/** Whether tokens count on a route at all. */
export const takesTokens = ({ kind }: AccessRule): boolean =>
  kind === 'user-open' || kind === 'visitor-open' || kind === 'anyone-open';

export function mayCall(
  { token }: Caller,
  access: AccessRule,
  request: Pick<FastifyRequest, 'params' | 'query'>,
): boolean {
  if (token === undefined || access.kind === 'visitor-open') return true;
  if (token.kind === 'anonymous') return false;
  if (access.kind !== 'user-open') return true;
  if (access.token === 'write' && !isWriteToken(token)) return false;
  return access.about === 'referral-query'
    ? isPartyAskedFor(token, request.query)
    : isUserOfPath(token, request.params);
}

/** A write token carries something of its user that can be written, beyond the ids. */
export function isWriteToken({ fields }: TokenSubject): boolean {
  const { id: _id, accountId: _accountId, ...writable } = readShape(UserRequest, fields);
  return Object.values(writable).some((value) => value !== undefined);
}

type NamedUser = Extract<TokenSubject, { kind: 'user' }>;

function isUserOfPath({ accountId, userId }: NamedUser, params: unknown): boolean {
  return memberOf(params, 'accountId') === accountId && memberOf(params, 'userId') === userId;
}

/**
 * One side of the referrals that are asked for is the token's user. A query that names no side
 * whole is the parser's to refuse.
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
