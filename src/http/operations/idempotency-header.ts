import type { ApiHeaderOptions } from '@nestjs/swagger';
import { isIdempotencyKey } from '../../idempotency/idempotency-key.js';
import { badRequest } from '../edge/api-error.js';

/** The description of the header on operators' routes. */
export const OPERATOR_KEY_HEADER: ApiHeaderOptions = {
  name: 'Idempotency-Key',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

/** @throws {ApiError} BAD_REQUEST for a text that is no key. */
export function idempotencyKeyOf(header: string | undefined): string | undefined {
  if (header !== undefined && !isIdempotencyKey(header))
    throw badRequest('Idempotency-Key must be 1 to 255 printable characters');
  return header;
}
