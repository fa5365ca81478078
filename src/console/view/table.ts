import { fileCell, sortedBy, type Cell } from './cells.js';
import { capital } from './templates.js';

/** A column of a table. */
export interface TableColumn<R, S extends string = string> {
  /** In addresses, `?sort=state`, and the head of the column in files. */
  readonly key: string;
  readonly label: string;
  readonly cell: (row: R) => Cell;
  /** The key; null: the table cannot be sorted by it. */
  readonly sortBy: S | null;
  /** Left out on a phone. */
  readonly isMinor?: boolean;
  /** In files alone: what the page shows with another column. */
  readonly isFileOnly?: boolean;
  /** Not in files: a button. */
  readonly isPageOnly?: boolean;
}

const KINDS = {
  minor: ['isMinor', true],
  unsorted: ['sortBy', null],
  file: ['isFileOnly', true],
  page: ['isPageOnly', true],
} as const;
type Kind = keyof typeof KINDS;
const isKind = (text: string): text is Kind => Object.hasOwn(KINDS, text);

/** The key of a column, its label where that is not the key in words, and what is special. */
type Head =
  | string
  | readonly [key: string, label: Capitalize<string>, ...kinds: readonly Kind[]]
  | readonly [key: string, ...kinds: readonly Kind[]];
type SortOf<H> = H extends readonly [infer S, ...infer Others]
  ? 'unsorted' extends Others[number]
    ? never
    : S & string
  : H & string;

/** `column(['lastSuccess', 'minor'], …)` is called Last success, and left out on a phone. */
export function column<R, const H extends Head>(
  head: H,
  cell: (row: R) => Cell,
): TableColumn<R, SortOf<H>> {
  const [key = '', ...texts]: readonly string[] = typeof head === 'string' ? [head] : head;
  const words = key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const label = texts.find((text) => !isKind(text)) ?? capital(words);
  const special = texts.filter(isKind).map((kind) => KINDS[kind]);
  const sortBy = key as SortOf<H>;
  return { key, label, cell, sortBy, ...Object.fromEntries(special) };
}

/** What an address says of a table. */
export interface TableState<S extends string = string> {
  readonly sort: S;
  readonly descending: boolean;
  /** From 1. */
  readonly page: number;
  readonly size: number;
}

const SIZES = [50, 20, 100] as const;
const PAGE = /^[1-9]\d{0,6}$/;

/** @param newest the order of an address that names none: newest first. */
export function tableState<R, S extends string>(
  { sort = '', dir = '', page = '', size = '' }: Readonly<Record<string, string>>,
  columns: readonly TableColumn<R, S>[],
  newest: { readonly sort: S; readonly descending: boolean },
): TableState<S> {
  const chosen = columns.find(({ sortBy }) => sortBy === sort)?.sortBy;
  return {
    ...(chosen ? { sort: chosen, descending: dir === 'desc' } : newest),
    page: PAGE.test(page) ? Number(page) : 1,
    size: SIZES.find((one) => String(one) === size) ?? SIZES[0],
  };
}

/** The address of the page with these members in place of its own; empty ones are left out. */
export type PathWith = (members: Readonly<Record<string, string>>) => string;

/** Rows of one page. */
export interface Shown<R> {
  readonly rows: readonly R[];
  readonly total: number;
  readonly isAbout?: boolean;
}

/** What a table says where it has no row, and the way to what would fill it. */
export interface EmptyTable {
  readonly text: string;
  readonly path?: string;
  readonly link?: string;
}

export interface TableOptions<R> {
  /** Read out. */
  readonly label: string;
  readonly empty: EmptyTable;
  readonly pathWith: PathWith;
  /** Null: without a file. */
  readonly filePath: string | null;
  /** Rows that a form ticks. */
  readonly tick?: { readonly name: string; readonly of: (row: R) => TickOf };
  /** Rows above the others: an opening balance. */
  readonly opening?: readonly R[];
  /** Rows below the others: sums. */
  readonly sums?: readonly R[];
}

/** A row that a form can tick. */
interface TickOf {
  readonly value: string;
  readonly label: string;
  /** Sent with the form, ticked or not. */
  readonly kept?: { readonly name: string; readonly value: string };
}

/** A page of a table for `table.hbs`. */
export function tableView<R>(
  { rows, total, isAbout = false }: Shown<R>,
  columns: readonly TableColumn<R>[],
  state: TableState,
  options: TableOptions<R>,
) {
  const { tick } = options;
  const shown = columns.filter(({ isFileOnly = false }) => !isFileOnly);
  const rowOf = (row: R, isSum: boolean) => ({
    isSum,
    tick: tick === undefined || isSum ? null : { name: tick.name, ...tick.of(row) },
    cells: shown.map((column) => {
      const cell = column.cell(row);
      return { cell, className: classOf(cell.kind === 'amount', column) };
    }),
  });
  const [first] = [...rows, ...(options.sums ?? [])];
  return {
    label: options.label,
    empty: { path: null, link: null, ...options.empty },
    tick: tick?.name ?? null,
    heads: shown.map((column) => {
      const isAmount = first !== undefined && column.cell(first).kind === 'amount';
      const className = classOf(isAmount, column);
      return {
        label: column.label,
        className,
        ...headOf(column, isAmount, state, options.pathWith),
      };
    }),
    rows: [
      ...(options.opening ?? []).map((row) => rowOf(row, true)),
      ...rows.map((row) => rowOf(row, false)),
      ...(options.sums ?? []).map((row) => rowOf(row, true)),
    ],
    foot: footOf({ count: rows.length, total, isAbout }, state, options),
  };
}

/** All of few rows, in their order: without a pager and a file. */
export function wholeTable<R>(
  rows: readonly R[],
  columns: readonly TableColumn<R>[],
  { label, empty }: { readonly label: string; readonly empty: string },
) {
  const fixed = columns.map((column) => ({ ...column, sortBy: null }));
  const state = { sort: '', descending: false, page: 1, size: rows.length };
  const view = tableView({ rows, total: rows.length }, fixed, state, {
    label,
    empty: { text: empty },
    pathWith: () => '',
    filePath: null,
  });
  return { ...view, foot: null };
}

const classOf = <R>(isNumber: boolean, { isMinor = false }: TableColumn<R>) =>
  [isNumber ? 'number' : '', isMinor ? 'minor' : ''].join(' ').trim();

/** The first order of amounts is the largest first. */
function headOf<R>(
  { key, sortBy }: TableColumn<R>,
  isAmount: boolean,
  { sort, descending }: TableState,
  pathWith: PathWith,
) {
  const isSorted = key === sort;
  const dir = (isSorted ? !descending : isAmount) ? 'desc' : 'asc';
  return {
    path: sortBy === null ? null : pathWith({ sort: key, dir, page: '' }),
    sorted: isSorted ? (descending ? 'descending' : 'ascending') : null,
  };
}

function footOf(
  { count, total, isAbout }: { count: number; total: number; isAbout: boolean },
  { page, size }: TableState,
  { pathWith, filePath }: Pick<TableOptions<never>, 'pathWith' | 'filePath'>,
) {
  const first = count === 0 ? 0 : (page - 1) * size + 1;
  const pageAt = (at: number) => pathWith({ page: at === 1 ? '' : String(at) });
  return {
    first,
    last: count === 0 ? 0 : first + count - 1,
    total,
    isAbout,
    previousPath: page > 1 ? pageAt(page - 1) : null,
    nextPath: first + count - 1 < total && count === size ? pageAt(page + 1) : null,
    sizes: [...SIZES]
      .sort((a, b) => a - b)
      .map((one) => ({
        size: one,
        isHere: one === size,
        path: pathWith({ size: one === SIZES[0] ? '' : String(one), page: '' }),
      })),
    filePath,
  };
}

/** Rows that are in memory, in the order and the part that an address names. */
export function partOf<R>(
  rows: readonly R[],
  columns: readonly TableColumn<R>[],
  { sort, descending, page, size }: TableState,
): Shown<R> {
  const column = columns.find(({ key }) => key === sort);
  const sorted = column === undefined ? rows : [...rows].sort(orderOf(column, descending));
  return { rows: sorted.slice((page - 1) * size, page * size), total: rows.length };
}

const TEXT_ORDER = new Intl.Collator('en', { numeric: true });

/** Rows without a value are last in either direction. */
function orderOf<R>({ cell }: TableColumn<R>, descending: boolean) {
  return (one: R, other: R): number => {
    const [a, b] = [sortedBy(cell(one)), sortedBy(cell(other))];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const isText = typeof a === 'string' && typeof b === 'string';
    const compared = isText ? TEXT_ORDER.compare(a, b) : a < b ? -1 : Number(a > b);
    return descending ? -compared : compared;
  };
}

/** The columns of a file and its rows. */
export function sheetOf<R>(
  rows: AsyncIterable<R> | Iterable<R>,
  columns: readonly TableColumn<R>[],
) {
  const shown = columns.filter(({ isPageOnly = false }) => !isPageOnly);
  const cells = async function* () {
    for await (const row of rows) yield shown.map(({ cell }) => fileCell(cell(row)));
  };
  return { headers: shown.map(({ key }) => key), rows: cells() };
}
