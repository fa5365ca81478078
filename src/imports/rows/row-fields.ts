import type { RowValues } from '../../domain/account/account.events.js';
import { ID_LENGTH_MAX, isIdentifier, isText } from '../../foundation/identifier.js';
import type { ImportRow } from './import-rows.js';

/** Checks the values of a row by column. */

/** A value is invalid: the row is rejected. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
}

export class RowFields {
  private readonly given: [column: string, value: RowValues[string]][] = [];

  constructor(private readonly row: ImportRow) {}

  /** The values that were read, in their order. */
  get values(): RowValues {
    return Object.fromEntries(this.given);
  }

  /** @throws {RowFault} */
  id(column: string): string | undefined {
    return this.value(
      column,
      (value) => typeof value === 'string' && isIdentifier(value),
      `be 1 to ${ID_LENGTH_MAX} characters without control characters`,
    );
  }

  /** Trimmed; an empty text is missing. @throws {RowFault} */
  text(
    column: string,
    test: (text: string) => boolean = () => true,
    words = 'be a text of at most 2048 characters',
  ): string | undefined {
    const { [column]: value } = this.row;
    const text = typeof value === 'string' ? value.trim() : value;
    if (text === undefined || text === '') return undefined;
    return this.checked(column, text as string, (one) => isText(one) && test(one), words);
  }

  /** @throws {RowFault} */
  oneOf<T extends string>(column: string, values: readonly T[]): T | undefined {
    const isOne = (text: string): boolean => values.some((value) => value === text);
    return this.text(column, isOne, `be one of ${values.join(', ')}`) as T | undefined;
  }

  /** A whole number of at least `min`. @throws {RowFault} */
  amount(column: string, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined {
    const isAmount = (value: unknown): boolean =>
      Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
    return this.value(column, isAmount, `be a whole number from ${min} to ${max}`);
  }

  /** A date or a flag, as the file has it. */
  typed<T extends number | boolean>(column: string): T | undefined {
    return this.value(column, () => true, '');
  }

  /** Adds a checked value. */
  note(column: string, value: RowValues[string]): void {
    this.given.push([column, value]);
  }

  private value<T extends RowValues[string]>(
    column: string,
    test: (value: unknown) => boolean,
    words: string,
  ): T | undefined {
    const { [column]: value } = this.row;
    return value === undefined ? undefined : this.checked(column, value as T, test, words);
  }

  private checked<T>(
    column: string,
    value: T,
    test: (value: T & string) => boolean,
    words: string,
  ): T {
    if (!test(value as T & string)) throw new RowFault(`${column} must ${words}`);
    this.note(column, value as RowValues[string]);
    return value;
  }
}

/** @throws {RowFault} */
export function required<T>(value: T | undefined, column: string): T {
  if (value === undefined) throw new RowFault(`${column} is required`);
  return value;
}
