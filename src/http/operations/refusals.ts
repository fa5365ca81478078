import { type OperationRefusalCode, NotDone, type Outcome } from '../../operations/outcome.js';
import { ThemeNotDone } from '../../operations/themes/theme-commands.js';
import type { Operation } from '../../operations/registry/operation.js';
import { ApiError, badRequest, type ApiErrorCode } from '../edge/api-error.js';
import { themeRefused } from '../themes/theme-refused.js';

/** The result of an operation. @throws {ApiError} if it was refused. */
export function done<T>(outcome: Outcome<T>): T {
  if (!(outcome instanceof NotDone)) return outcome;
  if (outcome instanceof ThemeNotDone) throw themeRefused(outcome.theme);
  const code = ANSWERS.get(outcome.code);
  if (code === undefined) throw badRequest(outcome.text());
  throw new ApiError(code, code === 'FORBIDDEN' ? { message: outcome.text() } : {});
}

/** The error codes of an operation's route, in the API reference's order. */
export function codesOf({ of, route }: Operation): readonly ApiErrorCode[] {
  const refusals = of === 'ledger' || of === 'tenant' ? ['TENANT_NOT_FOUND'] : [];
  const all = [...refusals, ...(route?.refusals ?? [])].flatMap((code) => ANSWERS.get(code) ?? []);
  return [...new Set(all)];
}

/** Refusals with a code for clients; others are bad requests with a reason. */
const ANSWERS: ReadonlyMap<string, ApiErrorCode> = new Map<OperationRefusalCode, ApiErrorCode>([
  ['TENANT_NOT_FOUND', 'TENANT_NOT_FOUND'],
  ['ACCOUNT_NOT_FOUND', 'ACCOUNT_NOT_FOUND'],
  ['USER_NOT_FOUND', 'USER_NOT_FOUND'],
  ['ENDPOINT_NOT_FOUND', 'SUBSCRIPTION_NOT_FOUND'],
  ['DELIVERY_NOT_FOUND', 'DELIVERY_NOT_FOUND'],
  ['MAIL_NOT_FOUND', 'MAIL_NOT_FOUND'],
  ['EXPORT_NOT_FOUND', 'EXPORT_NOT_FOUND'],
  ['IMPORT_NOT_FOUND', 'IMPORT_NOT_FOUND'],
  ['THEME_NOT_FOUND', 'THEME_NOT_FOUND'],
  ['THEME_INVALID', 'VALIDATION_FAILED'],
  ['PROJECTION_UNKNOWN', 'PROJECTION_NOT_FOUND'],
  ['REACTION_NOT_PARKED', 'REACTION_NOT_FOUND'],
  ['PROPOSAL_NOT_FOUND', 'PROPOSAL_NOT_FOUND'],
  ['PROPOSAL_IS_OWN', 'FORBIDDEN'],
  ['PROPOSAL_OF_OTHERS', 'FORBIDDEN'],
  ['APPROVER_REFUSED', 'FORBIDDEN'],
  ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_REUSED'],
  ['REQUEST_IN_PROGRESS', 'REQUEST_IN_PROGRESS'],
]);
