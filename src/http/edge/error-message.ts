import type { FastifyRequest } from 'fastify';
import { API_ERRORS, type ApiErrorCode, type ErrorJson } from './api-error.js';

/** Longer values are cut: a message is for reading. */
const VALUE_CHARACTERS_MAX = 80;

/** What was not found, where the request names it, and what to do. */
interface Missing {
  readonly noun: string;
  /** Members of the path, body or query, the first one that is there. */
  readonly namedBy: readonly string[];
  readonly cure?: string;
}

const MISSING: ReadonlyMap<ApiErrorCode, Missing> = new Map<ApiErrorCode, Missing>([
  ['TENANT_NOT_FOUND', { noun: 'tenant', namedBy: ['tenantAlias', 'tenant'] }],
  [
    'ACCOUNT_NOT_FOUND',
    { noun: 'account', namedBy: ['accountId'], cure: 'POST /accountsync creates it' },
  ],
  ['USER_NOT_FOUND', { noun: 'user', namedBy: ['userId'], cure: 'POST /user creates it' }],
  ['REFERRAL_CODE_NOT_FOUND', { noun: 'referral code', namedBy: ['code', 'referralCode'] }],
  ['REFERRAL_NOT_FOUND', { noun: 'referral', namedBy: ['referralId'] }],
  ['REWARD_NOT_FOUND', { noun: 'reward', namedBy: ['rewardId', 'id'] }],
  ['EXPORT_NOT_FOUND', { noun: 'export', namedBy: ['exportId'] }],
  ['SUBSCRIPTION_NOT_FOUND', { noun: 'subscription', namedBy: ['url', 'endpointUrl'] }],
]);

/**
 * The body of an error, its message completed for a person: the value that the request named, the
 * first reason, what to do. A message that is not the default of its code stays.
 */
export function completedError(body: ErrorJson, request: FastifyRequest): ErrorJson {
  if (body.message !== API_ERRORS[body.apiErrorCode].message) return body;
  const message =
    withReason(body) ?? missingIn(body.apiErrorCode, request) ?? aboutRoute(body, request);
  return message === undefined ? body : { ...body, message };
}

function withReason({ message, validationErrors = [] }: ErrorJson): string | undefined {
  const [first, ...more] = validationErrors;
  if (first === undefined) return undefined;
  return `${message}: ${first}${more.length > 0 ? ` (and ${more.length} more)` : ''}`;
}

function missingIn(code: ApiErrorCode, request: FastifyRequest): string | undefined {
  const missing = MISSING.get(code);
  if (missing === undefined) return undefined;
  const value = [request.params, request.body, request.query]
    .map((members) => firstText(members, missing.namedBy))
    .find((text) => text !== undefined);
  if (value === undefined) return undefined;
  const { noun, cure } = missing;
  return `There is no ${noun} ${quoted(value)}${cure === undefined ? '' : `: ${cure}`}`;
}

function aboutRoute(
  { apiErrorCode }: ErrorJson,
  { method, raw, routeOptions, headers }: FastifyRequest,
): string | undefined {
  const [path = ''] = (raw.url ?? '').split('?');
  if (apiErrorCode === 'NOT_FOUND' && routeOptions.url === undefined)
    return `There is no route ${method} ${cut(path)}`;
  if (apiErrorCode === 'METHOD_NOT_ALLOWED') return `${cut(path)} does not take ${method}`;
  const type = headers['content-type'];
  if (apiErrorCode === 'UNSUPPORTED_MEDIA_TYPE')
    return `The body must be JSON in UTF-8: send Content-Type: application/json${type ? ` instead of ${cut(type)}` : ''}`;
  return undefined;
}

function firstText(members: unknown, names: readonly string[]): string | undefined {
  if (typeof members !== 'object' || members === null) return undefined;
  const values = new Map<string, unknown>(Object.entries(members));
  const found = names.map((name) => values.get(name)).find((value) => typeof value === 'string');
  return typeof found === 'string' && found !== '' ? found : undefined;
}

const quoted = (value: string): string => JSON.stringify(cut(value));

const cut = (value: string): string =>
  value.length > VALUE_CHARACTERS_MAX ? `${value.slice(0, VALUE_CHARACTERS_MAX)}…` : value;
