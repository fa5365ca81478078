/** A column of a table; without a value it cannot be sorted by. */
export interface Column<R> {
  readonly label: string;
  /** In the address of the page: `?sort=position`. No two tables of a page have one alike. */
  readonly key?: string;
  readonly isNumber?: boolean;
  /** A member of the row, or what is made of it. Null: after all others, in either direction. */
  readonly value?: MemberOf<R> | ((row: R) => Sortable);
}

type Sortable = string | number | bigint | null;
type MemberOf<R> = { [M in keyof R]-?: R[M] extends Sortable ? M : never }[keyof R];

/** A head of a table. */
export interface HeadView {
  readonly label: string;
  readonly isNumber: boolean;
  /** Null: the table cannot be sorted by it. */
  readonly path: string | null;
  /** `ascending`, `descending`; null: not sorted by it. */
  readonly sorted: string | null;
}

/** How an address asks for a table; empty texts: as the page lists it. */
export type AskedOrder = Readonly<Record<'sort' | 'dir', string>>;

/**
 * The rows of a page in the order that its address asks for, and the heads, each with the address
 * of the page sorted by it. An unknown column changes nothing.
 * @param pathOf the address of the page with this order.
 */
export function inOrder<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  { sort, dir }: AskedOrder,
  pathOf: (order: AskedOrder) => string,
): { readonly rows: readonly R[]; readonly heads: readonly HeadView[] } {
  const chosen = columns.find(({ key, value }) => key === sort && value !== undefined);
  const isDescending = dir === 'desc';
  const heads = columns.map((column): HeadView => {
    const { label, key, isNumber = false, value } = column;
    const isSorted = column === chosen;
    const next = isSorted && !isDescending ? 'desc' : 'asc';
    return {
      label,
      isNumber,
      path: key === undefined || value === undefined ? null : pathOf({ sort: key, dir: next }),
      sorted: isSorted ? (isDescending ? 'descending' : 'ascending') : null,
    };
  });
  const { value } = chosen ?? {};
  if (value === undefined) return { rows, heads };
  const of = (row: R) => (typeof value === 'function' ? value(row) : (row[value] as Sortable));
  const order = (one: R, other: R): number => {
    const [a, b] = [of(one), of(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const compared =
      typeof a === 'string' && typeof b === 'string' ? TEXTS.compare(a, b) : a < b ? -1 : +(a > b);
    return isDescending ? -compared : compared;
  };
  return { rows: [...rows].sort(order), heads };
}

const TEXTS = new Intl.Collator('en', { numeric: true });
