import { isIdentifier } from '../../foundation/identifier.js';
import { isPlainObject } from '../shapes/request-shape.js';

/** The user of a token. `anonymous`: a visitor without a user. */
export type TokenSubject =
  | {
      readonly kind: 'user';
      readonly accountId: string;
      readonly userId: string;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'anonymous'; readonly fields: Readonly<Record<string, unknown>> };

/** A tenant's rules for user tokens. */
export interface TokenRules {
  /** The alias required in `sub`. */
  readonly tenant: string;
  /** Refuse tokens without `exp`. */
  readonly mustExpire: boolean;
  /** Refuse tokens issued before this time, epoch milliseconds; null: none. */
  readonly notBefore: number | null;
}

/** `ACCOUNT:USER@TENANT:users`: a user id may contain colons and at signs. */
const SUB = /^([^:]+):(.+)@([^@:]+):users$/su;

export type Claims = Readonly<Record<string, unknown>>;

/** The subject of verified claims; undefined: invalid. */
export function subjectOf(claims: Claims, rules: TokenRules): TokenSubject | undefined {
  if (!isWithinTime(claims, rules)) return undefined;
  const { user, sub, authentication, allowAnonymous } = claims;
  const isAnonymous = authentication === 'unauthenticated' || allowAnonymous === true;
  if (isAnonymous && user === undefined && sub === undefined)
    return { kind: 'anonymous', fields: {} };
  const named = user === undefined ? undefined : userOf(user);
  const [, accountId, userId, tenant] = SUB.exec(typeof sub === 'string' ? sub : '') ?? [];
  const ofSub = tenant === rules.tenant ? subjectNamed(accountId, userId, {}) : undefined;
  const isOther = ofSub?.accountId !== named?.accountId || ofSub?.userId !== named?.userId;
  // With `user`, a `sub` of another form is ignored.
  if (user !== undefined && tenant !== undefined && isOther) return undefined;
  const subject = user === undefined ? ofSub : named;
  return isAnonymous && subject ? { kind: 'anonymous', fields: subject.fields } : subject;
}

/** `notBefore` has no tolerance, so that a stolen token fails immediately. */
const isWithinTime = ({ exp, iat }: Claims, { mustExpire, notBefore }: TokenRules): boolean =>
  (exp !== undefined || !mustExpire) &&
  (notBefore === null || (typeof iat === 'number' && iat * 1000 >= notBefore));

type NamedUser = Extract<TokenSubject, { kind: 'user' }>;

function userOf(user: unknown): NamedUser | undefined {
  if (!isPlainObject(user)) return undefined;
  const { id, accountId, ...fields } = user;
  return subjectNamed(idOf(accountId), idOf(id), fields);
}

const subjectNamed = (
  accountId: string | undefined,
  userId: string | undefined,
  fields: NamedUser['fields'],
): NamedUser | undefined =>
  accountId !== undefined && userId !== undefined && isIdentifier(accountId) && isIdentifier(userId)
    ? { kind: 'user', accountId, userId, fields }
    : undefined;

/** Ids may be JSON numbers, as in bodies. */
function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const isExact =
    Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
  return isExact ? String(value) : undefined;
}
