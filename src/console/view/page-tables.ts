import type { Readable } from 'node:stream';
import { sendCsv } from '../console-answers.js';
import type { ConsoleCall } from '../console-call.js';
import { queried, queryOf } from '../pages/tenant-pages.js';
import {
  partOf,
  sheetOf,
  tableState,
  tableView,
  type EmptyTable,
  type TableColumn,
} from './table.js';

/** What an address says of a table. */
export const OF_TABLE = ['sort', 'dir', 'page', 'size'] as const;

type Texts = Readonly<Record<string, string>>;

/** A table of rows in memory. */
interface PageTable<R> {
  /** Read out. */
  readonly label: string;
  /** In addresses, where a page has several: `history.sort`, and `?table=history` is its file. */
  readonly name?: string;
  readonly rows: readonly R[];
  readonly columns: readonly TableColumn<R>[];
  /** The key of a column, with `-` in front in descending order; default: as the rows are. */
  readonly order?: string;
  readonly empty: EmptyTable;
  /** The name of its file, without the ending; default: its name or label; null: it has none. */
  readonly file?: string | null;
  /** See `tableView`. */
  readonly ends?: { readonly opening: readonly R[]; readonly sums: readonly R[] };
}

/**
 * The tables of a page.
 * @param path of the page. @param kept what their addresses keep.
 * @returns of a table its view, its rows on this page, the address with it, and its file where the
 *   address asks for it: the answer is prepared then.
 */
export const tablesOf =
  (call: Pick<ConsoleCall, 'query' | 'reply'>, path: string, kept: Texts = {}) =>
  <R>({ label, name = '', rows, columns, order = '', empty, ends, ...table }: PageTable<R>) => {
    const { file: fileName = name || label.toLowerCase() } = table;
    const keyOf = (member: string) => (name === '' ? member : `${name}.${member}`);
    const [fileKey, fileValue] = name === '' ? ['format', 'csv'] : ['table', name];
    const own = queried(call.query, ...OF_TABLE.map(keyOf), fileKey);
    const asked = Object.fromEntries(OF_TABLE.map((member) => [member, own[keyOf(member)] ?? '']));
    const usual = { sort: order.replace('-', ''), descending: order.startsWith('-') };
    const state = tableState(asked, columns, usual);
    const pathWith = (members: Texts, more: Texts = {}) => {
      const named = Object.entries({ ...asked, ...members }).map(([key, text]) => [
        keyOf(key),
        text,
      ]);
      return path + queryOf({ ...kept, ...(Object.fromEntries(named) as Texts), ...more });
    };
    const part = partOf(rows, columns, state);
    const filePath = pathWith({ page: '', size: '' }, { [fileKey]: fileValue });
    const view = tableView(part, columns, state, {
      label,
      empty,
      pathWith,
      filePath: fileName === null ? null : filePath,
      ...ends,
    });
    const inOrder = () => partOf(rows, columns, { ...state, page: 1, size: rows.length }).rows;
    const isAsked = fileName !== null && own[fileKey] === fileValue;
    const file = isAsked ? sendCsv(call, fileName, sheetOf(inOrder(), columns)) : undefined;
    return { view, rows: part.rows, file, here: pathWith({}) };
  };

/** The file of the tables that the address asks for. */
export const fileOf = (
  ...tables: readonly ({ readonly file: Readable | undefined } | null | undefined)[]
): Readable | undefined => tables.find((table) => table?.file)?.file;
