import type { Operation } from '../operations/registry/operation.js';
import {
  type Money,
  type Printer,
  type ShownColumn,
  textOf,
} from '../operations/registry/printing.js';
import { CommandError } from './command-error.js';
import { note, printJson, printTable } from './command-line.js';

/** A document, and how people see its amounts; undefined: as numbers. */
export interface Shown {
  readonly document: unknown;
  readonly money?: Money | undefined;
}

export type Format = 'table' | 'csv' | 'json';

/**
 * Prints the document of an operation: as JSON, as CSV, or as its table or line for people.
 * @throws {CommandError} of exit 2 or 3 for a finding, after it is printed.
 */
export function printDocument(
  operation: Operation,
  { document, money }: Shown,
  request: unknown,
  format: Format,
): void {
  const printer = printerWith(money);
  const { output, print, columns, said, ending, csv } = operation;
  if (output === 'stream') return;
  const isForPeople = format === 'table';
  if (format === 'json') printJson(document);
  else if (format === 'csv') process.stdout.write(csv?.(document) ?? '');
  else if (print !== undefined) print(document, printer, request as never);
  else if (columns !== undefined) printRows(operation, document, request, printer);
  else if (output === 'lists') printLists(document as object, operation.empty, printer);
  else if (said === undefined) printJson(document);
  const end = ending?.(document, request as never);
  if (isForPeople && said !== undefined && end === undefined)
    printer.line(said(document, request as never));
  if (end !== undefined) throw new CommandError(end.line, end.exitCode);
}

function printRows(
  operation: Operation,
  document: unknown,
  request: unknown,
  printer: Printer,
): void {
  const { columns = [], rows: rowsOf, empty = 'none' } = operation;
  const rows = rowsOf?.(document) ?? (document as readonly unknown[]);
  if (rows.length === 0) return printer.line(empty);
  printer.table(columns, rows);
  const { limit } = request as { readonly limit?: number };
  if (rows.length === limit) note(`the first ${limit}; there may be more`);
}

/** A table for each list, and a line for each other member. */
function printLists(document: object, empty: string | undefined, printer: Printer): void {
  if (Array.isArray(document) && document.length === 0 && empty !== undefined) return note(empty);
  for (const [name, value] of Object.entries(Array.isArray(document) ? { '': document } : document))
    if (!Array.isArray(value)) printer.line(`${name}: ${textOf(value)}`);
    else if (value.length > 0) {
      const rows = value as readonly Readonly<Record<string, unknown>>[];
      const titles = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      printer.table(titles, rows);
    }
}

const printerWith = (money: Money | undefined): Printer => ({
  line: (text) => void process.stdout.write(`${text}\n`),
  note,
  table: (columns, rows, of) =>
    printTable(
      columns.map((column) => {
        if (typeof column === 'string') return column;
        const [title, , kind] = column;
        return kind === 'amount' ? { amount: title } : title;
      }),
      rows.map((row) => {
        const { unit, account } =
          of ?? (row as { readonly unit?: string; readonly account?: string });
        const shown = unit === undefined ? undefined : money?.(unit, account);
        return columns.map((column) => {
          const value = cellOf(column, row);
          const isAmount = typeof column !== 'string' && column[2] === 'amount';
          return shown !== undefined && isAmount && typeof value === 'number'
            ? shown(value)
            : textOf(value);
        });
      }),
    ),
});

function cellOf<Row>(column: ShownColumn<Row>, row: Row): unknown {
  const cell = typeof column === 'string' ? column : column[1];
  return typeof cell === 'function' ? cell(row) : row[cell];
}
