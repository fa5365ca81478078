import { isAlias } from '../tenants/tenant-directory.js';
import { MODES, type Mode, type Scope } from '../domain/scope.js';
import { isIdempotencyKey } from '../idempotency/idempotency-key.js';
import { operatingSystemUser } from '../operations/audit.js';
import { CommandError } from './command-error.js';

/** Checked values of options that several commands share. All throw {CommandError}. */

export function scopeOf(alias: string, mode: string): Scope {
  checkAlias(alias);
  return { tenant: alias, mode: parseMode(mode) };
}

const TEXT_MAX = 1_000;

export function filled(option: string, text: string): string {
  if (text.trim() === '' || text.length > TEXT_MAX)
    throw new CommandError(`${option} must be 1 to ${TEXT_MAX} characters`);
  return text;
}

export function checkAlias(alias: string): void {
  if (!isAlias(alias))
    throw new CommandError(
      `${JSON.stringify(alias.slice(0, 80))} is no alias: 1 to 64 of a to z, 0 to 9, _ and -`,
    );
}

export function parseMode(mode: string): Mode {
  const known = MODES.find((candidate) => candidate === mode);
  if (!known) throw new CommandError(`--mode must be one of ${MODES.join(', ')}`);
  return known;
}

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

/** Entries that a list shows at most. */
export const LIMIT_MAX = 10_000;

/** @throws {CommandError} */
export function parseLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d{1,5}$/.test(text) || limit < 1 || limit > LIMIT_MAX)
    throw new CommandError(`--limit takes a number from 1 to ${LIMIT_MAX}`);
  return limit;
}
