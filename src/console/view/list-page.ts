import { Readable } from 'node:stream';
import type { Scope } from '../../domain/scope.js';
import { DownloadPlaces } from '../../http/exports/download-places.js';
import type { RowQueries } from '../../projecting/following/row-lists.js';
import { sendCsv, sendPage } from '../console-answers.js';
import type { ConsoleCall, TenantCall } from '../console-call.js';
import { queried, queryOf, type TenantPages } from '../pages/tenant-pages.js';
import { valueIn, type FieldOption } from './field.js';
import { pageName } from './navigation.js';
import { OF_TABLE } from './page-tables.js';
import {
  sheetOf,
  tableState,
  tableView,
  type EmptyTable,
  type Shown,
  type TableColumn,
  type TableOptions,
} from './table.js';
import { template } from './templates.js';
import { utcField } from './utc-fields.js';

/** A filter of a list: a choice, a day, or a text. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  readonly options?: readonly FieldOption[];
  /** In place of "All". */
  readonly none?: string;
  readonly placeholder?: string;
  /** A day of the viewer's zone, which the address holds as a moment. */
  readonly day?: 'start' | 'end';
  /** A date and time of UTC. */
  readonly isMoment?: true;
  /** It may name what is no choice: another one is asked for nothing. */
  readonly isOpen?: true;
  /** Its member of the list's filters; default: its name. */
  readonly as?: string;
  /** What the list takes for the text or moment. */
  readonly toValue?: (read: string | number) => unknown;
}

/** The days of a list. */
export const DAYS: readonly FilterField[] = [
  { name: 'from', label: 'From', day: 'start' },
  { name: 'to', label: 'To', day: 'end' },
];

/** The same for lists that take dates. */
export const DATES: readonly FilterField[] = [
  { name: 'from', label: 'From', day: 'start', as: 'since', toValue: (at) => new Date(at) },
  { name: 'to', label: 'To', day: 'end', as: 'until', toValue: (at) => new Date(at) },
];

/** A list apart from its rows. */
interface ListForm<R, S extends string> {
  readonly columns: readonly TableColumn<R, S>[];
  readonly newest: { readonly sort: S; readonly descending: boolean };
  readonly filters: readonly FilterField[];
  readonly empty: EmptyTable;
}

/** A list of the console: rows of a read model with filters, orders, pages and a file. */
export interface ListDefinition<R, F, S extends string> extends ListForm<R, S> {
  /** In the sidebar: `/users`. */
  readonly section: string;
  /** In the audit event, and of the file. */
  readonly name: string;
  /** Of the file, where it says more. */
  readonly fileName?: string;
  /** False: it names no person, and leaves no audit event. */
  readonly isPersonal?: false;
  readonly queries: RowQueries<F, S, R>;
  /** Default: where the data of the mode are. */
  readonly scope?: Scope;
}

/** A list on its page. */
interface PlacedList<R, S extends string>
  extends ListForm<R, S>, Pick<TableOptions<R>, 'label' | 'tick'> {
  readonly path: string;
  /** What its addresses keep. */
  readonly kept?: Readonly<Record<string, string>>;
  /** Null: without a file; default: by this address. */
  readonly filePath?: string | null;
}

const content = template('list');

/** Each holds a connection of the operations, of which there are five, until it is read. */
export const LIST_FILES = new DownloadPlaces(
  { all: 2, perHolder: Infinity },
  'Two files are being downloaded at the moment. This page tries again by itself.',
);

/** Prepares the answer with a list, or with its file. @returns its body. */
export async function sendList<R, F, S extends string>(
  pages: TenantPages,
  call: TenantCall,
  list: ListDefinition<R, F, S>,
): Promise<string | Readable> {
  const shown = await listShown(pages, call, list);
  if (shown instanceof Readable) return shown;
  const frame = { title: pageName(list.section), section: list.section };
  return sendPage(call, frame, content, shown);
}

/** What an address asks of a list, and what `list.hbs` shows of the rows that were found. */
export function listAsked<R, S extends string>(
  { query }: Pick<ConsoleCall, 'query'>,
  list: PlacedList<R, S>,
) {
  const { path, columns, newest, filters, kept = {}, empty, ...options } = list;
  const texts = queried(query, ...filters.map(({ name }) => name));
  const { format, ...asked } = queried(query, ...OF_TABLE, 'format');
  const state = tableState(asked, columns, newest);
  const { sort, descending, page, size: limit } = state;
  const isFiltered = Object.values(texts).some((text) => text !== '');
  const pathWith = (members: Readonly<Record<string, string>>) =>
    path + queryOf({ ...kept, ...texts, ...asked, ...members });
  return {
    texts,
    isFile: format === 'csv',
    request: {
      filters: filtersIn(filters, texts),
      sort,
      descending,
      limit,
      offset: (page - 1) * limit,
    },
    view: (found: Shown<R>) => ({
      table: tableView(found, columns, state, {
        filePath: pathWith({ format: 'csv', page: '', size: '' }),
        ...options,
        empty: isFiltered ? { text: 'Nothing matches these filters.' } : empty,
        pathWith,
      }),
      filters: {
        fields: filters.map((field) => fieldOf(field, texts[field.name] ?? '')),
        kept: Object.entries({ ...asked, ...kept })
          .filter(([name, value]) => name !== 'page' && value !== '')
          .map(([name, value]) => ({ name, value })),
        isFiltered,
        clearPath: path + queryOf(kept),
      },
    }),
  };
}

/** What `list.hbs` shows of a list, or its file. */
export async function listShown<R, F, S extends string>(
  pages: TenantPages,
  call: TenantCall,
  list: ListDefinition<R, F, S>,
) {
  const { section, name, scope = call.ledger, queries } = list;
  const form = { ...list, path: call.tenantPath + section, label: pageName(section) };
  const { texts, isFile, request, view } = listAsked(call, form);
  const { limit, offset, ...order } = { ...request, filters: request.filters as F };
  if (list.isPersonal !== false)
    await onRecord(pages, call, { name: isFile ? `${name} file` : name, texts });
  if (!isFile) return view(await queries.page(scope, { ...order, limit, offset }));
  return LIST_FILES.enter('', () =>
    sendCsv(call, list.fileName ?? name, sheetOf(queries.rows(scope, order), list.columns)),
  );
}

/** What the fields ask for; a text that cannot be read asks for nothing. */
function filtersIn(fields: readonly FilterField[], texts: Readonly<Record<string, string>>) {
  const values = fields.map(({ name, as = name, options, isOpen, day, toValue }) => {
    const text = texts[name] ?? '';
    const isKnown = !options || isOpen || options.some((one) => valueIn(one) === text);
    const read = day ? momentOf(text, day) : isKnown && text !== '' ? text : undefined;
    return [as, read === undefined || toValue === undefined ? read : toValue(read)] as const;
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** A filter as a field of its form. */
function fieldOf(
  { name, label, placeholder, options, none = 'All', day, isMoment }: FilterField,
  text: string,
) {
  const field = { name, label, placeholder };
  if (isMoment) return { ...field, ...utcField(text) };
  if (day === undefined) return { ...field, value: text, options: options ?? null, none };
  const at = momentOf(text, day);
  const iso = at === undefined ? '' : new Date(at).toISOString();
  return { ...field, type: 'date', day, moment: iso, value: iso.slice(0, 10) };
}

const DAY_MS = 86_400_000;

/**
 * The moment of a bound in an address, epoch milliseconds: a time of ISO 8601, or a day in UTC,
 * from its start or to its end. Undefined: none, or none that can be read.
 */
export function momentOf(text: string, day: 'start' | 'end'): number | undefined {
  const at = Date.parse(text);
  if (text === '' || Number.isNaN(at)) return undefined;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
  return isDay && day === 'end' ? at + DAY_MS - 1 : at;
}

/** One of the choices of a filter; another text is none. */
export const choice = <C extends string>(
  choices: readonly C[],
  text: string | undefined,
): C | undefined => choices.find((one) => one === text);

/** A view of people's data leaves an audit event, with the digest of its filter. */
export const onRecord = (
  pages: TenantPages,
  call: TenantCall,
  { name, texts }: { readonly name: string; readonly texts: Readonly<Record<string, string>> },
): Promise<void> =>
  pages.viewed(call, name, ({ names }) => ({
    filter: names.digest('console-list', JSON.stringify(texts)),
  }));
