import { NotDone, type Outcome } from '../operations/outcome.js';
import { CommandError } from './command-error.js';

/** The result of an operation. @throws {CommandError} for a refused one. */
export function done<T>(outcome: Outcome<T>): T {
  if (!(outcome instanceof NotDone)) return outcome;
  const exitCode = outcome.code === 'SEAL_NOT_SIGNED_HERE' ? 3 : 1;
  throw new CommandError(outcome.text(optionOf), exitCode);
}

/** `--as-of` for `asOf`. */
const optionOf = (argument: string): string => `--${kebab(argument)}`;

/** `as-of` for `asOf`. */
export const kebab = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
