import type { FastifyRequest } from 'fastify';
import type { AccessRule } from '../edge/access.js';
import type { Caller } from './call.js';
import type { TokenSubject } from './user-token.js';

/** An API key opens everything of its mode; a token opens its user's own data. */

/** Whether a token with these fields besides the ids may write. */
export type IsWriteToken = (fields: TokenSubject['fields']) => boolean;

/** Whether a route accepts tokens. */
export const takesTokens = ({ kind }: AccessRule): boolean =>
  kind === 'user-open' || kind === 'visitor-open' || kind === 'public-open';

/** Why the caller may not call the route; undefined: it may. */
export function forbidden(
  { token }: Caller,
  access: AccessRule,
  request: Pick<FastifyRequest, 'params' | 'query'>,
  isWriteToken: IsWriteToken,
): string | undefined {
  if (token === undefined || access.kind === 'visitor-open') return undefined;
  if (token.kind === 'anonymous')
    return 'The anonymous token may only call PUT /open/user/cookie_user: send the token of a user or an API key';
  if (access.kind !== 'user-open') return undefined;
  if (access.token === 'write' && !isWriteToken(token.fields))
    return 'The token has no field of its user but the ids, and the route writes: send a token with further user fields or an API key';
  const { accountId, userId } = token;
  const isOwn =
    access.about === 'referral-query'
      ? isRequestedParty(token, request.query)
      : isUserOfPath(token, request.params);
  return isOwn
    ? undefined
    : `The token is of the user ${JSON.stringify(userId)} in the account ${JSON.stringify(accountId)}, and the request is about another user: send the token of that user or an API key`;
}

type NamedUser = Extract<TokenSubject, { kind: 'user' }>;

const isUserOfPath = ({ accountId, userId }: NamedUser, params: unknown): boolean =>
  memberOf(params, 'accountId') === accountId && memberOf(params, 'userId') === userId;

/** The token's user must be a side of the requested referrals; the parser requires one. */
function isRequestedParty({ accountId, userId }: NamedUser, query: unknown): boolean {
  const sides = (['referring', 'referred'] as const)
    .map((side) => [memberOf(query, `${side}AccountId`), memberOf(query, `${side}UserId`)] as const)
    .filter(([account, user]) => Boolean(account) && Boolean(user));
  return (
    sides.length === 0 || sides.some(([account, user]) => account === accountId && user === userId)
  );
}

const memberOf = (value: unknown, name: string): unknown => Reflect.get(Object(value), name);
