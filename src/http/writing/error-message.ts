import type { FastifyRequest } from 'fastify';
import { USERS_MAX } from '../../domain/account/users/identify-user.js';
import { API_ERRORS, type ApiErrorCode, type ErrorJson } from '../edge/api-error.js';
import { ROUNDED } from '../../foundation/json-text.js';
import { BODY_BYTES_MAX } from '../edge/json-body.js';

/** Longer values are cut. */
const VALUE_CHARACTERS_MAX = 80;

/** Values of these members are never repeated. */
const SECRET = /secret|password|token/i;

const READ_MODE = 'in the mode of the request (live or test)';

/**
 * Messages with values of the request: the value, the rule, and what to do. `{a|b}` is the first
 * existing member of path, body, query, headers or answer. The first complete sentence is used.
 */
const SENTENCES: Readonly<Partial<Record<ApiErrorCode, string | readonly string[]>>> = {
  SELF_REFERRAL:
    'The code {code|couponCode} belongs to the account {accountId} or to an account that it referred: use the code of another customer',
  ALREADY_REFERRED:
    'The account {accountId} is referred already. An account is referred once: leave the code {code|couponCode} out',
  NOT_ATTRIBUTABLE:
    'The account {accountId} paid before the code {code|couponCode} was applied: apply codes before the first payment',
  NOT_REFERABLE:
    'The user {userId} has "referable": false: set it to true before you apply the code {code}',
  REFERRAL_CODE_TAKEN:
    'The referral code {referralCode|referralCodes} belongs to another user: choose another one, or leave it out to get a generated code',
  DO_NOT_TRACK:
    'The user {userId|id} of the account {accountId} was deleted with doNotTrack: do not register this person again',
  TOO_MANY_USERS: `The account {accountId} has ${USERS_MAX} users, the most that an account may have: use an account for each customer, or delete users`,
  PAYMENT_PROVIDER_ID_SET:
    'The account {accountId} has another paymentProviderId than {paymentProviderId}, and it is set once: leave it out, or send the stored value',
  PAYMENT_PROVIDER_ID_USED:
    'The paymentProviderId {paymentProviderId} belongs to another account than {accountId}: send the id that this account has at the payment provider',
  ENDPOINT_NOT_ALLOWED:
    'The endpoint {endpointUrl} is not allowed: use an http or https URL of a public address, without user name and fragment',
  POSITION_INVALID:
    'Ledger-Position-At-Least {ledger-position-at-least} is no position of this ledger: send the Ledger-Position of an answer, or leave the header out',
  OPEN_ENDPOINTS_DISABLED:
    'Open endpoints are disabled for the tenant {tenantAlias}: the operator of the service enables them (tenant update {tenantAlias} --open-endpoints)',
  API_REQUEST_NOT_SUPPORTED:
    'The tenant {tenantAlias} is connected to a payment provider, which manages its accounts: change the subscription there',
  USER_ALREADY_BLOCKED:
    'The user {userId} of the account {accountId} is blocked already: this call is not needed',
  USER_NOT_BLOCKED:
    'The user {userId} of the account {accountId} is not blocked: this call is not needed',
  TENANT_NOT_FOUND:
    'There is no tenant {tenantAlias|tenant}: check the alias that you received with the keys',
  ACCOUNT_NOT_FOUND: [
    'There is no account {accountId} for the user {id}: create it first, with POST /accountsync',
    `There is no account {accountId} ${READ_MODE}: check the id and the key`,
    'There is no account {account} of the tenant {tenant} in the mode: check the id and "mode"',
  ],
  USER_NOT_FOUND: [
    `There is no user {userId} in the account {accountId} ${READ_MODE}: check both ids, or create the user with POST /user`,
    'There is no user {user} in the account {account} in the mode: check both ids and "mode"',
  ],
  REFERRAL_CODE_NOT_FOUND: `There is no referral code {code|referralCode|couponCode} ${READ_MODE}: check its spelling; a code has 1 to 15 letters and digits`,
  REFERRAL_NOT_FOUND: `There is no referral {referralId} ${READ_MODE}: read its id from GET /referrals`,
  REWARD_NOT_FOUND: `There is no reward {rewardId|id} ${READ_MODE}: read its id from GET /reward`,
  EXPORT_NOT_FOUND: `There is no export {exportId} ${READ_MODE}: read its id from GET /export/history/list`,
  THEME_NOT_FOUND: [
    'There is no type of mail {type}: GET /theme/variables/schema names the types, below email',
    'The locale {locale} has no values of its own in this version: GET shows those that it takes over',
  ],
  SUBSCRIPTION_NOT_FOUND: `There is no subscription {url|endpointUrl|endpoint} ${READ_MODE}: read its URL from GET /subscription, and percent-encode it in a path`,
  PROGRAM_NOT_FOUND: 'There is no program {programId}: leave programId out for the default program',
  RUN_NOT_FOUND: 'There is no run {runId} of yours: GET /operations/runs lists those you started',
  PROPOSAL_NOT_FOUND:
    'There is no proposal {proposal} of the tenant {tenant}: the list of proposals has the ids of those that wait',
  DELIVERY_NOT_FOUND:
    'There is no delivery {delivery} of the tenant {tenant} in the mode: check the mode; the list of deliveries has the ids',
  MAIL_NOT_FOUND:
    'There is no mail {delivery} of the tenant {tenant} in the mode: check the mode; the list of mails has the ids',
  IMPORT_NOT_FOUND:
    'There is no import {import} of the tenant {tenant}, or its file is no longer kept: the list of imports has the ids',
  PROJECTION_NOT_FOUND: 'There is no {projection}: GET /operations/projections lists the names',
  REACTION_NOT_FOUND:
    'There is no parked reaction {id}: GET /operations/policies/parked lists them',
  EVENTS_ALREADY_RECEIVED:
    'The idempotencyKey {idempotencyKey} came with earlier events of the user {userId}: send other events with another key',
  REQUEST_IN_PROGRESS:
    'A request with the Idempotency-Key {idempotency-key} is still running: send the same request again in a second',
  EXPORT_EXPIRED:
    'The export {exportId} has expired, after 28 days or since a person in it was deleted: request it again',
  PAYLOAD_TOO_LARGE: [
    `The body of {content-length} bytes is larger than ${BODY_BYTES_MAX} bytes: send less in one request`,
    `The body is larger than ${BODY_BYTES_MAX} bytes: send less in one request`,
  ],
  UNSUPPORTED_MEDIA_TYPE:
    'The body of Content-Type {content-type} is no uncompressed JSON in UTF-8: send it as application/json',
  IDEMPOTENCY_KEY_REUSED:
    'The Idempotency-Key {idempotency-key} was used for another request: send each new request with a new key',
};

/** Completes the default message of an error's body. @param fields of the answer. */
export function completedError(
  body: ErrorJson,
  request: FastifyRequest,
  fields: Readonly<Record<string, string>> = {},
): ErrorJson {
  const { apiErrorCode: code, validationErrors: reasons = [] } = body;
  if (body.message !== API_ERRORS[code].message) return body;
  const lowered = Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]);
  const places = [
    request.params,
    request.body,
    request.query,
    request.headers,
    Object.fromEntries(lowered),
  ];
  const message =
    withReason(body.message, reasons, places) ??
    [SENTENCES[code] ?? []]
      .flat()
      .map((sentence) => filled(sentence, places))
      .find((text) => text !== undefined) ??
    aboutRoute(code, request, fields['Allow']);
  return message === undefined ? body : { ...body, message };
}

/** Appends the first reason with the value of its member. */
function withReason(
  message: string,
  [first, ...more]: readonly string[],
  places: readonly unknown[],
): string | undefined {
  if (first === undefined) return undefined;
  const [path = ''] = /^[\w.[\]]+/.exec(first) ?? [];
  const isHidden = path === '' || SECRET.test(path) || first.includes(ROUNDED);
  const value = isHidden ? undefined : valueOf(places, path.split(/[.[\]]+/));
  const given =
    value === undefined || first.includes(value) ? '' : `; the request has ${quoted(value)}`;
  return `${message}: ${first}${given}${more.length > 0 ? ` (and ${more.length} more)` : ''}`;
}

/** The sentence with its values; undefined: one is missing. */
function filled(sentence: string, places: readonly unknown[]): string | undefined {
  const names = [...sentence.matchAll(/\{([\w|-]+)\}/g)].map(([, names = '']) => names);
  const values = names.map((name) =>
    name
      .split('|')
      .map((one) => valueOf(places, [one]))
      .find((value) => value !== undefined),
  );
  if (values.includes(undefined)) return undefined;
  return sentence.replace(/\{[\w|-]+\}/g, () => quoted(values.shift() ?? ''));
}

function aboutRoute(
  code: ApiErrorCode,
  { method, raw }: FastifyRequest,
  allowed = 'another method',
): string | undefined {
  const path = cut((raw.url ?? '').split('?')[0] ?? '');
  if (code === 'NOT_FOUND') return `There is no route ${method} ${path}: /docs lists all routes`;
  if (code === 'METHOD_NOT_ALLOWED') return `${path} does not take ${method}: use ${allowed}`;
  return undefined;
}

/** The value as text; undefined: missing, empty or an object. */
function valueOf(places: readonly unknown[], path: readonly string[]): string | undefined {
  const [value] = places
    .map((place) => path.filter((name) => name !== '').reduce(memberOf, place))
    .filter((found) => found !== undefined && found !== null && found !== '');
  return isPlain(value) ? String(value) : undefined;
}

const isPlain = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;

const quoted = (value: string): string => JSON.stringify(cut(value));

const cut = (value: string): string =>
  value.length > VALUE_CHARACTERS_MAX ? `${value.slice(0, VALUE_CHARACTERS_MAX)}…` : value;
