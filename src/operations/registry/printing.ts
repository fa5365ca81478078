/**
 * A column of a table for people: the member of a row that is also its title; or its title, the
 * member or a function of the row, and whether it is right-aligned with its thousands apart.
 */
export type ShownColumn<Row> =
  | (keyof Row & string)
  | readonly [title: string, cell: (keyof Row & string) | ((row: Row) => unknown), kind?: 'amount'];

/** How people see amounts in a unit, of an account or of all; undefined: as numbers. */
export type Money = (
  unit: string,
  account?: string,
) => ((amount: number | bigint) => string) | undefined;

/** Writes for people on the command line. */
export interface Printer {
  readonly line: (text: string) => void;
  /** @param of whose the amounts are; default: each row has its unit and account. */
  readonly table: <Row>(
    columns: readonly ShownColumn<Row>[],
    rows: readonly Row[],
    of?: { readonly unit: string; readonly account?: string },
  ) => void;
  /** Standard error. */
  readonly note: (text: string) => void;
}

/** A line for each member of a document: `name: value`. */
export function printFacts(document: object, { line }: Printer): void {
  for (const [name, value] of Object.entries(document) as readonly [string, unknown][]) {
    line(`${name}: ${textOf(value)}`);
  }
}

/** A value in a cell or a line. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === null ? '' : (JSON.stringify(value) ?? '');

/** A document that is a finding: the line for people, and the exit code of the command line. */
export interface Ending {
  readonly exitCode: 1 | 2 | 3;
  readonly line: string;
}
