import { isUnit, trimmedUnit } from '../domain/units.js';
import { isIdempotencyKey } from '../idempotency/idempotency-key.js';
import { CommandError } from './command-error.js';

/** Checked options of corrections. All throw {CommandError}. */

export function parseIdempotencyKey(key: string | undefined): string | undefined {
  if (key !== undefined && !isIdempotencyKey(key))
    throw new CommandError('--idempotency-key must be 1 to 255 printable characters');
  return key;
}

export function parseAmount(text: string): number {
  const amount = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(amount) || amount === 0)
    throw new CommandError('--amount takes a whole number such as +500 or -500');
  return amount;
}

export function parseUnit(text: string): string {
  const unit = trimmedUnit(text);
  if (!isUnit(unit))
    throw new CommandError('--unit must be 1 to 64 characters without control characters');
  return unit;
}
