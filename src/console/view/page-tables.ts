import type { Readable } from 'node:stream';
import { csvSent, type ConsoleCall } from '../console-call.js';
import { queried, queryOf } from '../pages/tenant-pages.js';
import {
  partOf,
  sheetOf,
  tableState,
  tableView,
  type EmptyTable,
  type TableColumn,
} from './table.js';

const OF_TABLE = ['sort', 'dir', 'page', 'size'] as const;

/**
 * Tables of rows in memory, several on one page: the address has `history.sort` for the table
 * `history`, and `?table=history` is its file.
 * @param kept what the addresses keep.
 */
export const tablesOf =
  (path: string, query: unknown, kept: Readonly<Record<string, string>>) =>
  <R>(name: string, rows: readonly R[], columns: readonly TableColumn<R>[], empty: EmptyTable) => {
    const keyOf = (member: string) => (member === 'table' ? member : `${name}.${member}`);
    const own = queried(query, ...OF_TABLE.map(keyOf));
    const asked = Object.fromEntries(OF_TABLE.map((member) => [member, own[keyOf(member)] ?? '']));
    const state = tableState(asked, columns, { sort: '', descending: false });
    const pathWith = (members: Readonly<Record<string, string>>) => {
      const named = Object.entries({ ...asked, ...members }).map(([key, text]) => [
        keyOf(key),
        text,
      ]);
      return path + queryOf({ ...kept, ...(Object.fromEntries(named) as Record<string, string>) });
    };
    const part = partOf(rows, columns, state);
    const view = tableView(part, columns, state, {
      label: name,
      empty,
      pathWith,
      filePath: pathWith({ table: name, page: '', size: '' }),
    });
    const sorted = () => partOf(rows, columns, { ...state, page: 1, size: rows.length }).rows;
    return { name, view, rows: part.rows, sheet: () => sheetOf(sorted(), columns) };
  };

/** Prepares the answer with the file of a table. @returns its body. */
export const sheetSent = (
  call: Pick<ConsoleCall, 'reply'>,
  { name, sheet }: { readonly name: string; readonly sheet: () => ReturnType<typeof sheetOf> },
): Readable => csvSent(call, name, sheet());
