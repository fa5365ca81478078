import { canonicalJson } from '../../foundation/canonical-json.js';
import { isIdempotencyKey, type KeyedRequest } from '../../idempotency/idempotency-key.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { badRequest } from '../edge/api-error.js';
import type { Call } from '../credentials/call.js';

type Caller = Pick<Call, 'scope' | 'actor' | 'token' | 'headers'>;

/**
 * The idempotency key as a keyed hash within its caller's set: the API keys of a tenant and mode
 * share a set, and each token user has one. Undefined: no key, or a caller without a set.
 * @throws {ApiError} BAD_REQUEST for an invalid key.
 */
export function keyOfCaller(
  { scope: { tenant, mode }, actor, token, headers }: Caller,
  names: Pick<KeyedNames, 'digest'>,
): string | undefined {
  const ofUser = token?.kind === 'user' ? token : undefined;
  if (actor.kind !== 'api-key' && ofUser === undefined) return undefined;
  const key = sentKey({ headers });
  if (key === undefined) return undefined;
  if (ofUser === undefined) return names.digest('idempotency-key', tenant, mode, key);
  const { accountId, userId } = ofUser;
  return names.digest('idempotency-key of user', tenant, mode, accountId, userId, key);
}

/** The header. @throws {ApiError} BAD_REQUEST for an invalid key. */
export function sentKey({ headers }: Pick<Caller, 'headers'>): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined || (typeof key === 'string' && isIdempotencyKey(key))) return key;
  throw badRequest('Idempotency-Key must be 1 to 255 printable characters');
}

/** Undefined: the call has no idempotency key. @throws as `keyOfCaller`. */
export function keyedRequest(
  call: Caller & Pick<Call, 'method' | 'target' | 'body'>,
  names: Pick<KeyedNames, 'digest'>,
): KeyedRequest | undefined {
  const key = keyOfCaller(call, names);
  if (key === undefined) return undefined;
  const { scope, method, target, body } = call;
  const fingerprint = names.digest(
    'fingerprint',
    method,
    canonicalTarget(target),
    canonicalJson(isEmpty(body) ? undefined : body),
  );
  return { scope, key, fingerprint };
}

/** Where a body is optional, `{}` is none. */
const isEmpty = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && Object.keys(body).length === 0;

/** Path and query in one spelling for equal requests. */
function canonicalTarget(target: string): string {
  const [path = '', ...query] = target.split('?');
  const segments = path.replace(/\/+$/, '').split('/');
  const canonicalPath = segments
    // Encoded again, because an encoded slash does not separate segments.
    .map((segment) => encodeURIComponent(decodeURIComponent(segment)))
    .join('/');
  const canonicalQuery = new URLSearchParams(query.join('?')).toString();
  return canonicalQuery === '' ? canonicalPath : `${canonicalPath}?${canonicalQuery}`;
}
