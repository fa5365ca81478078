import { parse } from 'secure-json-parse';
import { isIdentifier } from '../shapes/parameters.js';
import { isPlainObject } from '../shapes/request-shape.js';
import { hasRepeatedMembers } from './repeated-members.js';

/** What a user token says: a JSON Web Token with HMAC SHA-256 and nothing else. */

/** Whom a token names. `anonymous`: nobody that anybody vouches for. */
export type TokenSubject =
  | {
      readonly kind: 'user';
      readonly accountId: string;
      readonly userId: string;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'anonymous'; readonly fields: Readonly<Record<string, unknown>> };

export interface TokenRules {
  /** The alias that `sub` must name. */
  readonly tenant: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** A token without `exp` is refused. */
  readonly mustExpire: boolean;
}

/** More than a header field can hold beside others; a longer one is not looked into. */
const TOKEN_LENGTH_MAX = 16 * 1024;
const PART = /^[A-Za-z0-9_-]+$/;
const WHOLE = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const partOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
/**
 * Verified in place of what the library would turn down without a look at its signature. Nobody has
 * signed it; it is about as long as a token usually is.
 */
const STAND_IN = [
  partOf({ alg: 'HS256', typ: 'JWT' }),
  partOf({ user: { id: '0'.repeat(36), accountId: '0'.repeat(36), email: '0'.repeat(24) } }),
  '0'.repeat(43),
].join('.');
const utf8 = new TextDecoder('utf-8', { fatal: true });

export interface ReadToken {
  /**
   * What the library verifies: the token, or a stand-in for one that it would turn down unverified.
   */
  readonly verifiable: string;
  /** Undefined: no good, whoever signed it. */
  readonly subject: TokenSubject | undefined;
}

/** Reads every claim in each case, so that the time of a "no" says as little as its words. */
export function readUserToken(token: string, rules: TokenRules): ReadToken {
  const readable = token.length <= TOKEN_LENGTH_MAX ? token : '';
  const [header = '', payload = ''] = readable.split('.');
  const claims = jsonOf(payload);
  const isWhole = WHOLE.test(readable) && isExpectedHeader(jsonOf(header)) && claims !== undefined;
  const subject = subjectOf(claims, rules);
  return isWhole ? { verifiable: readable, subject } : { verifiable: STAND_IN, subject: undefined };
}

/**
 * Which key to use, where to find it (`kid`, `jku`, `jwk`, `x5u`), is not for the token to say:
 * such members are not read.
 */
const isExpectedHeader = (header: Json | undefined): boolean =>
  header?.['alg'] === 'HS256' && header['crit'] === undefined;

type Json = Readonly<Record<string, unknown>>;

/** A part as the object that it spells; undefined: it is none, or says something twice. */
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

/** Both times in seconds. The library has looked at them too; its clock is not the caller's. */
function isTimely({ exp, nbf }: Json, { now, mustExpire }: TokenRules): boolean {
  const hasTime = (value: unknown): value is number =>
    typeof value === 'number' && Number.isFinite(value);
  if (exp === undefined ? mustExpire : !hasTime(exp) || exp * 1000 <= now) return false;
  return nbf === undefined || (hasTime(nbf) && nbf * 1000 <= now);
}

function ofUser(user: unknown): TokenSubject | undefined {
  if (!isPlainObject(user)) return undefined;
  const { id, accountId, ...fields } = user;
  return subjectNamed(idOf(accountId), idOf(id), fields);
}

/**
 * `ACCOUNT:USER@TENANT:users`: a user's id may hold colons and at signs, an account's id here no
 * colon, an alias neither.
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

/** Ids may come as JSON numbers, as in bodies. */
function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' &&
    Number.isFinite(value) &&
    (!Number.isInteger(value) || Number.isSafeInteger(value))
    ? String(value)
    : undefined;
}
