import type { Refusal } from '../../domain/refusal.js';
import type { ApiError } from '../edge/api-error.js';
import { rateLimited } from '../limits/call-limit.js';
import { refusalAnswer } from '../writing/refusal-answers.js';

/** The answer to a refused change of a theme. @param waitMs until it is accepted. */
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
  return rateLimited('more of the themes than a day allows', Math.ceil(waitMs / 1000));
}
