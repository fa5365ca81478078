import type { Refusal } from '../domain/refusal.js';
import { ApiError, type ApiErrorCode } from './api-error.js';

/** The answer to each refusal. A record over the union: a new refusal does not compile until it is mapped. */
const ANSWERS: Readonly<Record<Refusal, ApiErrorCode>> = {
  ACCOUNT_NOT_FOUND: 'ACCOUNT_NOT_FOUND',
  USER_NOT_FOUND: 'USER_NOT_FOUND',
  REFERRAL_CODE_NOT_FOUND: 'REFERRAL_CODE_NOT_FOUND',
  REWARD_NOT_FOUND: 'REWARD_NOT_FOUND',
  SELF_REFERRAL: 'SELF_REFERRAL',
  ALREADY_REFERRED: 'ALREADY_REFERRED',
  NOT_ATTRIBUTABLE: 'NOT_ATTRIBUTABLE',
  NOT_REFERABLE: 'NOT_REFERABLE',
  REFERRAL_CODE_TAKEN: 'REFERRAL_CODE_TAKEN',
  RESERVED_BY_ANOTHER: 'REFERRAL_CODE_TAKEN',
  EVENTS_ALREADY_RECEIVED: 'EVENTS_ALREADY_RECEIVED',
  PROGRAM_UNKNOWN: 'BAD_REQUEST',
  CODE_PROGRAM_CONFLICT: 'BAD_REQUEST',
  TOO_MANY_USERS: 'TOO_MANY_USERS',
  USER_EXISTS: 'USER_EXISTS',
  FIELD_NOT_GRANTED: 'FORBIDDEN',
  DO_NOT_TRACK: 'DO_NOT_TRACK',
  PAYMENT_PROVIDER_ID_SET: 'PAYMENT_PROVIDER_ID_SET',
  PAYMENT_PROVIDER_ID_USED: 'PAYMENT_PROVIDER_ID_USED',
  USER_ALREADY_BLOCKED: 'USER_ALREADY_BLOCKED',
  USER_NOT_BLOCKED: 'USER_NOT_BLOCKED',
  REDEMPTION_NOT_POSSIBLE: 'INVALD_REWARD_REDEMPTION',
  REWARD_NOT_CANCELLABLE: 'REWARD_NOT_CANCELLABLE',
  REWARD_DATES_INVALID: 'BAD_REQUEST',
  AMOUNT_TOO_LARGE: 'AMOUNT_TOO_LARGE',
  MODERATION_NOT_POSSIBLE: 'MODERATION_NOT_POSSIBLE',
  TENANT_EXISTS: 'BAD_REQUEST',
  TENANT_NOT_FOUND: 'TENANT_NOT_FOUND',
  RECORD_TOO_LARGE: 'BAD_REQUEST',
};

const LISTS_DETAILS: ReadonlySet<ApiErrorCode> = new Set(['BAD_REQUEST', 'MODERATION_NOT_POSSIBLE']);

/** `details`: what the decision said of the reasons, one line each. */
export function refusalAnswer(refusal: Refusal, details: readonly string[] = []): ApiError {
  const code = ANSWERS[refusal];
  if (LISTS_DETAILS.has(code)) return new ApiError(code, { validationErrors: details });
  return new ApiError(code, details.length > 0 ? { message: details.join('; ') } : {});
}
