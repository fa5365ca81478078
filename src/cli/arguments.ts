import { isIdempotencyKey } from '../idempotency/idempotency-key.js';
import { operatingSystemUser } from '../operations/audit.js';
import { CommandError } from './command-error.js';

/** Checked values of options that several commands share. All throw {CommandError}. */

/** The operator's name; without one, that of the operating system. */
export function checkedActor(by: string | undefined): string {
  if (by !== undefined && !/^(?=.*\S)[\p{L}\p{N} ._@-]{1,100}$/u.test(by))
    throw new CommandError('--by takes a name of 1 to 100 letters, digits, spaces or . _ @ -');
  return by ?? operatingSystemUser();
}

export function checkedKey(key: string | undefined): string | undefined {
  if (key !== undefined && !isIdempotencyKey(key))
    throw new CommandError('--idempotency-key must be 1 to 255 printable characters');
  return key;
}
