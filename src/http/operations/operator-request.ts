import * as z from 'zod';
import { ApiError, badRequest } from '../edge/api-error.js';
import { NOT_STORABLE, unstorablePath } from '../../foundation/outside-text.js';

/** @throws {ApiError} BAD_REQUEST with one line for each member. */
export function parsed<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const unstorable = unstorablePath(given);
  if (unstorable !== undefined) throw badRequest(`${unstorable.slice(1)}: it ${NOT_STORABLE}`);
  const outcome = schema.safeParse(given ?? {});
  if (outcome.success) return outcome.data;
  throw new ApiError('BAD_REQUEST', {
    validationErrors: outcome.error.issues.map(
      ({ path, message }) => `${path.length === 0 ? 'the request' : path.join('.')}: ${message}`,
    ),
  });
}

export const mode = z.enum(['live', 'test']).default('live');
export const text = z
  .string('must be a text')
  .min(1, 'must not be empty')
  .max(1_000, 'takes at most 1000 characters');

/** The number of entries to return. */
export const limitRequest = z.strictObject({
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
});
