import { HttpException } from '@nestjs/common';

/** A code's HTTP status, default message and numeric code. */
interface ErrorMeaning {
  readonly status: number;
  readonly message: string;
  readonly rsCode?: string;
}

const meanings = {
  BAD_REQUEST: { status: 400, message: 'The request is malformed' },
  VALIDATION_FAILED: { status: 400, message: 'The document does not fit its schema' },
  SELF_REFERRAL: {
    status: 400,
    message: 'An account cannot be referred by its own users or by an account that it has referred',
  },
  ALREADY_REFERRED: { status: 400, message: 'The account has been referred already' },
  NOT_ATTRIBUTABLE: { status: 400, message: 'The account had paid before it was referred' },
  NOT_REFERABLE: { status: 400, message: 'The user cannot be referred' },
  REFERRAL_CODE_TAKEN: { status: 400, message: 'The referral code belongs to another user' },
  // Clients match this spelling.
  INVALD_REWARD_REDEMPTION: { status: 400, message: 'The redemption is not possible' },
  REWARD_NOT_CANCELLABLE: { status: 400, message: 'The reward cannot be cancelled' },
  MODERATION_NOT_POSSIBLE: {
    status: 400,
    message: 'The moderation is not possible; nothing was changed',
  },
  USER_EXISTS: { status: 400, message: 'User already exists', rsCode: 'RS048' },
  DO_NOT_TRACK: { status: 400, message: 'The user asked not to be tracked', rsCode: 'RS050' },
  TOO_MANY_USERS: {
    status: 400,
    message: 'The account has as many users as it can have',
    rsCode: 'RS013',
  },
  PAYMENT_PROVIDER_ID_SET: {
    status: 400,
    message: 'The account has another paymentProviderId already',
    rsCode: 'RS019',
  },
  PAYMENT_PROVIDER_ID_USED: {
    status: 400,
    message: 'The paymentProviderId belongs to another account',
    rsCode: 'RS029',
  },
  AMOUNT_TOO_LARGE: {
    status: 400,
    message: 'The sum of all amounts of the account would be too large',
  },
  EXPORT_NOT_READY: { status: 400, message: 'The export is not complete' },
  ENDPOINT_NOT_ALLOWED: { status: 400, message: 'The endpoint is not allowed' },
  POSITION_INVALID: { status: 400, message: 'The ledger position was not issued by this service' },
  UNAUTHORIZED: {
    status: 401,
    message:
      'The credentials are missing or wrong: send a valid key as the password of HTTP Basic (curl -u :$KEY), or a valid user token where the route takes one',
  },
  FORBIDDEN: { status: 403, message: 'The credentials do not allow this' },
  OPEN_ENDPOINTS_DISABLED: { status: 403, message: 'Open endpoints are disabled for this tenant' },
  API_REQUEST_NOT_SUPPORTED: {
    status: 403,
    message: 'Not supported by a program that is connected to a payment provider',
  },
  USER_ALREADY_BLOCKED: { status: 403, message: 'The user is blocked already' },
  USER_NOT_BLOCKED: { status: 403, message: 'The user is not blocked' },
  NOT_FOUND: { status: 404, message: 'There is no such route' },
  TENANT_NOT_FOUND: { status: 404, message: 'There is no such tenant', rsCode: 'RS015' },
  ACCOUNT_NOT_FOUND: { status: 404, message: 'There is no such account', rsCode: 'RS041' },
  USER_NOT_FOUND: { status: 404, message: 'There is no such user', rsCode: 'RS042' },
  REFERRAL_CODE_NOT_FOUND: { status: 404, message: 'There is no such referral code' },
  REFERRAL_NOT_FOUND: { status: 404, message: 'There is no such referral' },
  REWARD_NOT_FOUND: { status: 404, message: 'There is no such reward' },
  EXPORT_NOT_FOUND: { status: 404, message: 'There is no such export' },
  THEME_NOT_FOUND: { status: 404, message: 'There is no such theme' },
  SUBSCRIPTION_NOT_FOUND: { status: 404, message: 'There is no such subscription' },
  PROGRAM_NOT_FOUND: { status: 404, message: 'There is no such program' },
  RUN_NOT_FOUND: { status: 404, message: 'There is no such run' },
  PROPOSAL_NOT_FOUND: { status: 404, message: 'There is no such proposal' },
  DELIVERY_NOT_FOUND: { status: 404, message: 'There is no such delivery' },
  MAIL_NOT_FOUND: { status: 404, message: 'There is no such mail' },
  PROJECTION_NOT_FOUND: { status: 404, message: 'There is no such projection' },
  IMPORT_NOT_FOUND: { status: 404, message: 'There is no such import' },
  REACTION_NOT_FOUND: { status: 404, message: 'There is no such reaction' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'The route does not have this method' },
  EVENTS_ALREADY_RECEIVED: { status: 409, message: 'These events were received before' },
  REQUEST_IN_PROGRESS: {
    status: 409,
    message: 'A request with this idempotency key is still running',
  },
  EXPORT_EXPIRED: { status: 410, message: 'The export has expired' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'The body must be UTF-8 JSON', rsCode: 'RS046' },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'The idempotency key was used for another request',
  },
  RATE_LIMITED: { status: 429, message: 'Too many requests', rsCode: 'RS033' },
  INTERNAL: { status: 500, message: 'Internal error' },
  UNAVAILABLE: { status: 503, message: 'The service is not available at the moment' },
  POSITION_NOT_REACHED: { status: 503, message: 'What was asked for is not visible yet' },
} as const satisfies Record<string, ErrorMeaning>;

/** Every `apiErrorCode`: a closed list that a test compares with docs/errors.md. */
export type ApiErrorCode = keyof typeof meanings;

export const API_ERRORS: Readonly<Record<ApiErrorCode, ErrorMeaning>> = meanings;

export const isApiErrorCode = (text: string): text is ApiErrorCode => Object.hasOwn(meanings, text);

export const API_ERROR_CODES: readonly ApiErrorCode[] =
  Object.keys(meanings).filter(isApiErrorCode);

/** The body of every error. `validationErrors` exists for errors that list reasons. */
export interface ErrorJson {
  readonly statusCode: number;
  readonly message: string;
  readonly apiErrorCode: ApiErrorCode;
  readonly rsCode: string | null;
  readonly validationErrors?: readonly string[];
}

/** Whether a stored answer is a refusal. */
export const isErrorJson = (body: unknown): body is ErrorJson =>
  isApiErrorCode(String(Reflect.get(Object(body), 'apiErrorCode')));

export interface ApiErrorDetails {
  /** Replaces the default message. Sent to the client, never logged. */
  readonly message?: string;
  /** Replaces the default; null: none. */
  readonly rsCode?: string | null;
  /** One line per reason, beginning with its member or parameter. */
  readonly validationErrors?: readonly string[];
  /** For example `Retry-After`, `Allow`, `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the default: BAD_REQUEST is also used for 408, 414, 417 and others. */
  readonly status?: number;
}

/** Codes whose body always lists reasons, possibly none. */
export const LISTS_REASONS: ReadonlySet<ApiErrorCode> = new Set([
  'BAD_REQUEST',
  'VALIDATION_FAILED',
  'MODERATION_NOT_POSSIBLE',
]);

/** Thrown by controllers and hooks; the edge sends its body and headers. */
export class ApiError extends HttpException {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorJson;

  constructor(
    readonly code: ApiErrorCode,
    details: ApiErrorDetails = {},
  ) {
    const meaning: ErrorMeaning = API_ERRORS[code];
    const { message = meaning.message, rsCode = meaning.rsCode ?? null } = details;
    const statusCode = details.status ?? meaning.status;
    const reasons = details.validationErrors ?? (LISTS_REASONS.has(code) ? [] : undefined);
    const listed = reasons && { validationErrors: reasons };
    const body = { statusCode, message, apiErrorCode: code, rsCode, ...listed };
    super({ ...body }, statusCode);
    this.body = body;
    this.headers = details.headers ?? {};
  }
}

/** 400 BAD_REQUEST; each reason begins with its member or parameter. */
export const badRequest = (...validationErrors: readonly string[]): ApiError =>
  new ApiError('BAD_REQUEST', { validationErrors });

/** 503 UNAVAILABLE with Retry-After. */
export const unavailable = (retryAfterSeconds = 1, message?: string): ApiError =>
  new ApiError('UNAVAILABLE', {
    ...(message !== undefined && { message }),
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });

/** 401 UNAUTHORIZED with its challenge. */
export const unauthorized = (rsCode: string | null): ApiError => {
  const headers = { 'WWW-Authenticate': 'Basic realm="referral-ledger", charset="UTF-8"' };
  return new ApiError('UNAUTHORIZED', { rsCode, headers });
};
