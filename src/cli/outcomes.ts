import { NotDone, type OperationRefusalCode, type Outcome } from '../operations/outcome.js';
import { refusalText } from '../operations/refusal-text.js';
import { CommandError } from './command-error.js';

/** The result of an operation. @throws {CommandError} for a refused one. */
export function done<T>(outcome: Outcome<T>): T {
  if (!(outcome instanceof NotDone)) return outcome;
  const { because } = outcome;
  throw new CommandError(
    OWN_WORDS[because.code] ?? refusalText(because, optionOf),
    because.code === 'SEAL_NOT_SIGNED_HERE' ? 3 : 1,
  );
}

/** `--as-of` for `asOf`. */
const optionOf = (argument: string): string => `--${kebab(argument)}`;

/** `as-of` for `asOf`. */
export const kebab = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Texts that are more specific on the command line. */
const OWN_WORDS: Readonly<Partial<Record<OperationRefusalCode, string>>> = {
  PROJECTIONS_STOPPED:
    'stopped; nothing that is read was changed. A rebuild continues with --resume',
};
