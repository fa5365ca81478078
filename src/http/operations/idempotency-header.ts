import { isIdempotencyKey } from '../../idempotency/idempotency-key.js';
import { badRequest } from '../edge/api-error.js';

/** @throws {ApiError} BAD_REQUEST for a text that is no key. */
export function idempotencyKeyOf(header: string | undefined): string | undefined {
  if (header !== undefined && !isIdempotencyKey(header))
    throw badRequest('Idempotency-Key must be 1 to 255 printable characters');
  return header;
}
