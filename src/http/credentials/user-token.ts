import { parse } from 'secure-json-parse';
import { isIdentifier } from '../shapes/parameters.js';
import { isPlainObject } from '../shapes/request-shape.js';
import { hasRepeatedMembers } from './repeated-members.js';
import type { TokenTimes } from './tenant-directory.js';

/** The claims of a user token, a JSON Web Token with HMAC SHA-256. */

/** The user that a token names. `anonymous`: a visitor without a user. */
export type TokenSubject =
  | {
      readonly kind: 'user';
      readonly accountId: string;
      readonly userId: string;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'anonymous'; readonly fields: Readonly<Record<string, unknown>> };

export interface TokenRules extends TokenTimes {
  /** The alias that `sub` must name. */
  readonly tenant: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** How far the clocks of a tenant's servers may differ from this one, for `exp` and `nbf`. */
export const CLOCK_TOLERANCE_SECONDS = 60;

/** Longer than a header can be beside others; a longer token is not parsed. */
const TOKEN_LENGTH_MAX = 16 * 1024;
const PART = /^[A-Za-z0-9_-]+$/;
const WHOLE = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const partOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
/**
 * Verified in place of a token that the library would refuse before it checks the signature. It has
 * no valid signature and the length of a usual token.
 */
const STAND_IN = [
  partOf({ alg: 'HS256', typ: 'JWT' }),
  partOf({ user: { id: '0'.repeat(36), accountId: '0'.repeat(36), email: '0'.repeat(24) } }),
  '0'.repeat(43),
].join('.');
const utf8 = new TextDecoder('utf-8', { fatal: true });

export interface ReadToken {
  /** The token, or a stand-in for one that the library would refuse unverified. */
  readonly verifiable: string;
  /** Undefined: invalid, whichever secret signed it. */
  readonly subject: TokenSubject | undefined;
}

/**
 * Reads every claim in each case, so that the time of a failure is as uninformative as its message.
 */
export function readUserToken(token: string, rules: TokenRules): ReadToken {
  const readable = token.length <= TOKEN_LENGTH_MAX ? token : '';
  const [header = '', payload = ''] = readable.split('.');
  const claims = jsonOf(payload);
  const isWhole = WHOLE.test(readable) && isExpectedHeader(jsonOf(header)) && claims !== undefined;
  const subject = subjectOf(claims, rules);
  return isWhole ? { verifiable: readable, subject } : { verifiable: STAND_IN, subject: undefined };
}

/** A token does not choose its key: `kid`, `jku`, `jwk` and `x5u` are ignored. */
const isExpectedHeader = (header: Json | undefined): boolean =>
  header?.['alg'] === 'HS256' && header['crit'] === undefined;

type Json = Readonly<Record<string, unknown>>;

/** A part parsed as an object; undefined: not an object, or with a repeated member. */
function jsonOf(part: string): Json | undefined {
  if (!PART.test(part)) return undefined;
  try {
    const text = utf8.decode(Buffer.from(part, 'base64url'));
    const value: unknown = parse(text, undefined, {
      protoAction: 'error',
      constructorAction: 'error',
    });
    return isPlainObject(value) && !hasRepeatedMembers(text, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function subjectOf(claims: Json | undefined, rules: TokenRules): TokenSubject | undefined {
  if (claims === undefined || !isTimely(claims, rules)) return undefined;
  const { user, sub } = claims;
  const isAnonymous =
    claims['authentication'] === 'unauthenticated' || claims['allowAnonymous'] === true;
  if (user !== undefined && sub !== undefined) return undefined;
  if (user === undefined && sub === undefined)
    return isAnonymous ? { kind: 'anonymous', fields: {} } : undefined;
  const named = user === undefined ? ofSub(sub, rules.tenant) : ofUser(user);
  if (named === undefined || !isAnonymous) return named;
  return { kind: 'anonymous', fields: named.kind === 'user' ? named.fields : {} };
}

/**
 * Times in seconds. The library has checked `exp` and `nbf` by the system's clock, not by the
 * caller's. `notBefore` has no tolerance: a token that a thief holds is not let in for a minute.
 */
function isTimely(
  { exp, nbf, iat }: Json,
  { now, mustExpire, notBefore }: Omit<TokenRules, 'tenant'>,
): boolean {
  const toleranceMs = CLOCK_TOLERANCE_SECONDS * 1000;
  if (exp === undefined ? mustExpire : !isTime(exp) || exp * 1000 + toleranceMs <= now)
    return false;
  if (nbf !== undefined && !(isTime(nbf) && nbf * 1000 - toleranceMs <= now)) return false;
  return notBefore === null || (isTime(iat) && iat * 1000 >= notBefore);
}

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);

function ofUser(user: unknown): TokenSubject | undefined {
  if (!isPlainObject(user)) return undefined;
  const { id, accountId, ...fields } = user;
  return subjectNamed(idOf(accountId), idOf(id), fields);
}

/**
 * `ACCOUNT:USER@TENANT:users`: a user id may contain colons and at signs, an account id no colon,
 * an alias neither.
 */
function ofSub(sub: unknown, tenant: string): TokenSubject | undefined {
  const [, accountId, userId, alias] =
    (typeof sub === 'string' ? /^([^:]+):(.+)@([^@:]+):users$/su.exec(sub) : null) ?? [];
  return alias === tenant ? subjectNamed(accountId, userId, {}) : undefined;
}

function subjectNamed(
  accountId: string | undefined,
  userId: string | undefined,
  fields: Json,
): TokenSubject | undefined {
  if (
    accountId === undefined ||
    userId === undefined ||
    !isIdentifier(accountId) ||
    !isIdentifier(userId)
  )
    return undefined;
  return { kind: 'user', accountId, userId, fields };
}

/** Ids may be JSON numbers, as in bodies. */
function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' &&
    Number.isFinite(value) &&
    (!Number.isInteger(value) || Number.isSafeInteger(value))
    ? String(value)
    : undefined;
}
