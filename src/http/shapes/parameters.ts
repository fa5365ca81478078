import { REFERRAL_CODE } from '../../domain/referral-code.js';
import { CONTROL, ID_LENGTH_MAX, isIdentifier } from '../../foundation/identifier.js';
import { instant, lastInstant } from '../../foundation/instant.js';
import { ApiError, badRequest, type ApiErrorCode } from '../edge/api-error.js';

/** Parsers of paths and queries. All throw {ApiError}; a missing parameter is undefined. */

/** A parsed query: a repeated name is an array, unknown names are ignored. */
export type Query = Readonly<Record<string, unknown>>;

/** An account or user id in a path. @throws BAD_REQUEST. */
export function identifier(value: unknown, name: string): string {
  if (typeof value === 'string' && isIdentifier(value)) return value;
  throw badRequest(`${name} must be 1 to ${ID_LENGTH_MAX} characters without control characters`);
}

/** A code in a path or query; an invalid one is unknown. @throws REFERRAL_CODE_NOT_FOUND. */
export function referralCode(value: unknown): string {
  const code = typeof value === 'string' ? value.trim() : '';
  if (REFERRAL_CODE.test(code)) return code;
  throw new ApiError('REFERRAL_CODE_NOT_FOUND');
}

/** Any text as a referral code; an empty one counts as missing. */
export function codeQuery(query: Query, name: string): string | undefined {
  const code = single(query, name)?.trim();
  return code === '' ? undefined : code;
}

/** A required code. @throws BAD_REQUEST without one; REFERRAL_CODE_NOT_FOUND. */
export function requiredCodeQuery(query: Query, name: string): string {
  const code = codeQuery(query, name);
  if (code === undefined) throw badRequest(`${name} is required`);
  return referralCode(code);
}

/** An id made by this service; an invalid one is unknown. @throws the given 404. */
export function resourceId(value: unknown, notFound: ApiErrorCode): string {
  if (typeof value === 'string' && isIdentifier(value)) return value;
  throw new ApiError(notFound);
}

/**
 * A trimmed text; an empty one counts as missing. @throws BAD_REQUEST for repeated parameters and
 * control characters.
 */
export function textQuery(query: Query, name: string): string | undefined {
  const value = single(query, name)?.trim();
  if (value === undefined || value === '') return undefined;
  if (CONTROL.test(value)) throw badRequest(`${name} must not hold control characters`);
  return value;
}

/** An account or user id as a filter. @throws BAD_REQUEST. */
export function identifierQuery(query: Query, name: string): string | undefined {
  const value = single(query, name);
  return value === undefined || value === '' ? undefined : identifier(value, name);
}

/** A required account or user id. @throws BAD_REQUEST. */
export function requiredIdentifierQuery(query: Query, name: string): string {
  const value = identifierQuery(query, name);
  if (value === undefined) throw badRequest(`${name} is required`);
  return value;
}

export interface Page {
  /** 0 to 1000; 0: totals only. */
  readonly limit: number;
  readonly offset: number;
}

/** `limit` (default 10) and `offset` (default 0). @throws BAD_REQUEST. */
export function page(query: Query): Page {
  return {
    limit: integerQuery(query, 'limit', { fallback: 10, max: 1000 }),
    offset: integerQuery(query, 'offset', { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
  };
}

function integerQuery(
  query: Query,
  name: string,
  { fallback, max }: { readonly fallback: number; readonly max: number },
): number {
  const text = single(query, name);
  if (text === undefined || text === '') return fallback;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(value) && value <= max) return value;
  throw badRequest(`${name} must be an integer from 0 to ${max}`);
}

/** Epoch milliseconds, inclusive; a missing end is open. */
export interface DateFilter {
  readonly from?: number;
  readonly to?: number;
}

/**
 * A time, or `from,to`: epoch milliseconds or ISO 8601, by default in UTC. A date is its whole day.
 * @throws BAD_REQUEST.
 */
export function dateFilter(query: Query, name: string): DateFilter | undefined {
  const text = single(query, name);
  if (text === undefined || text.trim() === '') return undefined;
  const ends = text.split(',').map((end) => end.trim());
  const [first = '', second = first] = ends;
  const from = first === '' ? undefined : instant(first);
  const to = second === '' ? undefined : lastInstant(second);
  if (ends.length > 2 || from === null || to === null) {
    throw badRequest(
      `${name} must be a time or two with a comma between them, in epoch milliseconds or ISO 8601`,
    );
  }
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** `true` or `false`. @throws BAD_REQUEST. */
export function booleanQuery(query: Query, name: string, fallback: boolean): boolean {
  const text = single(query, name);
  if (text === undefined) return fallback;
  if (text === 'true' || text === 'false') return text === 'true';
  throw badRequest(`${name} must be true or false`);
}

/** One of the values; an empty one counts as missing. @throws BAD_REQUEST. */
export function choiceQuery<T extends string>(
  query: Query,
  name: string,
  values: readonly T[],
): T | undefined {
  const text = single(query, name);
  if (text === undefined || text === '') return undefined;
  const found = values.find((value) => value === text);
  if (found === undefined) throw badRequest(`${name} must be one of ${values.join(', ')}`);
  return found;
}

/**
 * `fields` (only these) or `extraFields` (additional ones), comma-separated; an empty one counts as
 * missing. @returns the names to show. @throws BAD_REQUEST for both, and for unknown names.
 */
export function fieldSelection(
  query: Query,
  known: { readonly standard: readonly string[]; readonly extra: readonly string[] },
): readonly string[] {
  const fields = nameList(query, 'fields');
  const extraFields = nameList(query, 'extraFields');
  if (fields !== undefined && extraFields !== undefined)
    throw badRequest('fields cannot be combined with extraFields');
  const all = [...known.standard, ...known.extra];
  const unknown = [...(fields ?? []), ...(extraFields ?? [])].filter((name) => !all.includes(name));
  if (unknown.length > 0)
    throw badRequest(
      `${fields === undefined ? 'extraFields' : 'fields'} must be of ${all.join(', ')}`,
    );
  return fields ?? [...new Set([...known.standard, ...(extraFields ?? [])])];
}

function nameList(query: Query, name: string): readonly string[] | undefined {
  const names = (textQuery(query, name) ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return names.length === 0 ? undefined : names;
}

function single(query: Query, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw badRequest(`${name} must be given once`);
}
