import { inOrder, type AskedOrder, type Column } from './sorting.js';

/** A page stays within some 100 KB. */
export const ROWS_OF_A_PAGE = 200;

/**
 * A section of a list that a page shows, and the addresses of the sections next to it: no pager
 * where everything is on one page.
 * @param page as the address says it, from 1; anything else is the first page, and what is beyond
 * the last page is the last one.
 * @param pathOf the address of another page.
 */
export function onPage<R>(all: readonly R[], page: string, pathOf: (page: string) => string) {
  if (all.length <= ROWS_OF_A_PAGE) return { rows: all, pager: null };
  const pages = Math.ceil(all.length / ROWS_OF_A_PAGE);
  const asked = /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1;
  const at = Math.min(asked, pages);
  const start = (at - 1) * ROWS_OF_A_PAGE;
  const rows = all.slice(start, start + ROWS_OF_A_PAGE);
  return {
    rows,
    pager: {
      first: start + 1,
      last: start + rows.length,
      total: all.length,
      previousPath: at === 1 ? null : pathOf(String(at - 1)),
      nextPath: at === pages ? null : pathOf(String(at + 1)),
    },
  };
}

/** How an address asks for one page of a table. */
export type AskedSection = AskedOrder & Readonly<Record<'page', string>>;
/** The address of a page with these parts of it. */
export type PathOf = (asked: Readonly<Record<string, string>>) => string;

/** The rows of one page of a table, in the order that its address asks for. */
export function sectionOf<R>(
  all: readonly R[],
  columns: readonly Column<R>[],
  { page, ...order }: AskedSection,
  pathOf: PathOf,
) {
  const { rows, heads } = inOrder(all, columns, order, pathOf);
  return { heads, ...onPage(rows, page, (at) => pathOf({ ...order, page: at })) };
}
