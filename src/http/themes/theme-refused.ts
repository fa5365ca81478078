import type { Refusal } from '../../domain/refusal.js';
import { ApiError } from '../edge/api-error.js';
import { refusalAnswer } from '../writing/refusal-answers.js';

/** The answer to a change of a theme that was refused. @param waitMs until it is taken. */
export function themeRefused({
  refused,
  details,
  waitMs,
}: {
  readonly refused: Refusal;
  readonly details?: readonly string[] | undefined;
  readonly waitMs?: number | undefined;
}): ApiError {
  if (waitMs === undefined) return refusalAnswer(refused, details);
  return new ApiError('RATE_LIMITED', {
    message: 'More of the themes was changed than a day allows',
    headers: { 'Retry-After': String(Math.ceil(waitMs / 1000)) },
  });
}
