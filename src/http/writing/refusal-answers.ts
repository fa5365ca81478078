import type { Refusal } from '../../domain/refusal.js';
import { ApiError, LISTS_REASONS, type ApiErrorCode } from '../edge/api-error.js';

type MappedRefusal = Exclude<Refusal, ApiErrorCode>;

/**
 * Codes of refusals that have no error code of their own. Exhaustive, so new ones must be mapped.
 */
const ANSWERS: Readonly<Record<MappedRefusal, ApiErrorCode>> = {
  RESERVED_BY_ANOTHER: 'REFERRAL_CODE_TAKEN',
  REWARD_EXISTS: 'IDEMPOTENCY_KEY_REUSED',
  PROGRAM_UNKNOWN: 'BAD_REQUEST',
  CODE_PROGRAM_CONFLICT: 'BAD_REQUEST',
  FIELD_NOT_GRANTED: 'FORBIDDEN',
  REDEMPTION_NOT_POSSIBLE: 'INVALD_REWARD_REDEMPTION',
  REWARD_DATES_INVALID: 'BAD_REQUEST',
  CURRENCY_DIFFERS: 'BAD_REQUEST',
  TENANT_EXISTS: 'BAD_REQUEST',
  CHANGED_MEANWHILE: 'BAD_REQUEST',
  TEST_CLOCK_NOT_FORWARD: 'BAD_REQUEST',
  TOO_MANY_ENDPOINTS: 'BAD_REQUEST',
  PERIOD_NOT_OVER: 'BAD_REQUEST',
  PERIOD_ALREADY_CLOSED: 'BAD_REQUEST',
  PERIOD_NOT_CLOSED: 'BAD_REQUEST',
  EXPORT_IS_OVER: 'BAD_REQUEST',
  TOO_MANY_EXPORTS: 'BAD_REQUEST',
  TOO_MANY_PROPOSALS: 'BAD_REQUEST',
  PROPOSAL_ENDED: 'BAD_REQUEST',
  THEME_VERSION_NOT_FOUND: 'THEME_NOT_FOUND',
  THEME_INVALID: 'VALIDATION_FAILED',
  THEME_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  THEME_CHANGED_TOO_MUCH: 'RATE_LIMITED',
  ROW_INVALID: 'BAD_REQUEST',
  ROW_DIFFERS: 'BAD_REQUEST',
  RECORD_TOO_LARGE: 'BAD_REQUEST',
};

const isMapped = (refusal: Refusal): refusal is MappedRefusal => Object.hasOwn(ANSWERS, refusal);

/** @param details the decision's reasons, one line each. */
export function refusalAnswer(refusal: Refusal, details: readonly string[] = []): ApiError {
  const code = isMapped(refusal) ? ANSWERS[refusal] : refusal;
  if (LISTS_REASONS.has(code)) return new ApiError(code, { validationErrors: details });
  return new ApiError(code, details.length > 0 ? { message: details.join('; ') } : {});
}
