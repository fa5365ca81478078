import { sql, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import { foldedText } from '../../domain/folded-text.js';
import type { Scope } from '../../domain/scope.js';
import type { Given, Values } from '../../postgres/statements.js';
import {
  likePattern,
  isDeepPage,
  present,
  type UnfinishedErasures,
  type LiveReads,
  type PageRequest,
  type ReadQuery,
  type TableOfReadModel,
} from './live-reads.js';

/** A request for a page of a list. */
export interface ListRequest<F, S extends string> {
  readonly filters: F;
  readonly sort: S;
  readonly descending: boolean;
  readonly limit: number;
  readonly offset: number;
}

/** A request for all rows of a list. */
export type ListFileRequest<F, S extends string> = Omit<ListRequest<F, S>, 'limit' | 'offset'>;

export interface ListAnswer<R> {
  readonly rows: readonly R[];
  /** Of all rows under the filters. */
  readonly total: number;
  /** The total is an estimate, since there are more rows than are counted. */
  readonly isAbout: boolean;
}

/** Counting more rows takes longer than a page may. */
export const COUNTED_MAX = 100_000;
const PIECE_ROWS = 500;

/** An order of a list. Rows without a value are last in either direction. */
export interface RowOrder {
  readonly by: RawBuilder<unknown>;
  readonly isNullable?: true;
  /** The value is one of `joined`. */
  readonly isJoined?: true;
}

/** The parts of the SQL of a list. */
export interface ListContext<V> {
  readonly given: Given<V & Scope>;
  readonly gone: UnfinishedErasures;
  readonly tableOf: TableOfReadModel;
}

/**
 * Of what `build` of a read gets. Its values are typed as wide ones, which those of the list with
 * tenant and mode are.
 */
export const listContext = <V>(
  given: Given<Values>,
  gone: UnfinishedErasures,
  tableOf: TableOfReadModel,
): ListContext<V> => ({ given: given as unknown as Given<V & Scope>, gone, tableOf });

/** Raw SQL with filters and orders by name. Texts of callers are parameters only. */
export interface RowListing<V extends Values, S extends string, R> {
  readonly name: string;
  /** The read models of `joined` and `where`. */
  readonly joins: readonly string[];
  /** Its table and alias. @param sort of a page; undefined: rows are found by their key. */
  readonly from: (context: ListContext<V>, sort?: S) => RawBuilder<unknown>;
  /** Columns of the tenant and mode. */
  readonly scope: readonly [tenant: string, mode: string];
  /** The column that identifies a row, and breaks ties. */
  readonly key: string;
  /** Finds a row without a stored key: a condition on `page.key`. */
  readonly foundBy?: RawBuilder<unknown>;
  /** Ties of a descending order ascend, as in the index of the newest rows. */
  readonly tiesAscend: boolean;
  /** Left joins, of at most one row each. */
  readonly joined: (context: ListContext<V>) => RawBuilder<unknown>;
  /** Conditions; undefined for values that are not given. */
  readonly where: (context: ListContext<V>) => readonly (RawBuilder<boolean> | undefined)[];
  /** Names of values whose conditions need `joined`. */
  readonly joinedBy: readonly (keyof V & string)[];
  /** Names of filters for which an index has the newest rows. */
  readonly quickBy: readonly (keyof V & string)[];
  readonly orders: Readonly<Record<S, RowOrder>>;
  /** The order that an index serves. */
  readonly newest: S;
  /** SQL of a row in JSON. */
  readonly row: (context: ListContext<V>) => RawBuilder<R>;
  /** About as many rows, for an estimate. Undefined: the rows as they are listed. */
  readonly about?: (context: ListContext<V>) => RawBuilder<unknown> | undefined;
  /** Counts by fewer tables, one more than the limit at most. Undefined: as they are listed. */
  readonly counted?: (context: ListContext<V>) => RawBuilder<unknown> | undefined;
  /** A stored number of all rows. Absent: they are counted. */
  readonly counter?: (context: ListContext<V>) => RawBuilder<unknown>;
}

interface ListQuery<V, S extends string> extends Omit<ListFileRequest<V, S>, 'filters'> {
  readonly scope: Scope;
  /** Filters and inputs of the shown rows. */
  readonly values: V;
  readonly isFiltered: boolean;
}

/** The pages and files of a list. */
export class RowList<V extends Values, S extends string, R> {
  constructor(
    private readonly reads: LiveReads<never>,
    private readonly listing: RowListing<V, S, R>,
  ) {}

  /** One page with its total, from one snapshot. */
  async page(asked: ListQuery<V, S>, { limit, offset }: PageRequest): Promise<ListAnswer<R>> {
    const { scope, isFiltered, sort } = asked;
    const { quickBy } = this.listing;
    const isServed = !isFiltered || quickBy.some((name) => asked.values[name] !== undefined);
    const isQuick = isServed && sort === this.listing.newest && !isDeepPage({ limit, offset });
    const found = await this.reads.first({
      ...this.query(asked, 'page'),
      slowOf: isQuick ? undefined : scope.tenant,
      values: { ...asked.values, ...scope, limit, offset },
      build: (_rm, given, gone, tableOf) => {
        const context = listContext<V>(given, gone, tableOf);
        const { counter, foundBy, from, joined, key, row } = this.listing;
        const total = counter && !isFiltered ? counter(context) : this.counted(context, asked);
        const keys = sql`select ${sql.ref(key)} ${this.matching(context, asked)}
          order by ${this.order(asked)} limit ${given.limit} offset ${given.offset}`;
        return sql<{ json: { total: number | null; rows: readonly R[] } }>`
          select json_build_object('total', (${total}), 'rows', (
            select coalesce(json_agg(${row(context)} order by page.n), '[]')
            from unnest(array(${keys})) with ordinality as page (key, n)
            join ${from(context)} on ${sql.ref(key)} = page.key
              ${foundBy ? sql`and ${foundBy}` : sql``} ${joined(context)}
          )) as json`;
      },
    });
    const { total, rows } = found ?? { total: 0, rows: [] };
    const isAbout = (isFiltered || !this.listing.counter) && (total ?? 0) > COUNTED_MAX;
    return { rows, total: isAbout ? await this.estimate(asked) : (total ?? 0), isAbout };
  }

  /** Rounded to two digits. */
  private async estimate(asked: ListQuery<V, S>): Promise<number> {
    const all = this.allRows(asked);
    const build: typeof all.build = (rm, given, gone, tableOf) => {
      const context = listContext<V>(given, gone, tableOf);
      const rows = this.listing.about?.(context) as ReturnType<typeof all.build> | undefined;
      return rows ?? all.build(rm, given, gone, tableOf);
    };
    const about = await this.reads.estimate({ ...all, name: `${all.name} about`, build });
    return Math.max(COUNTED_MAX, Number(about.toPrecision(2)));
  }

  /** All rows in order, from one snapshot, in pieces. @param pool for long statements. */
  pieces(asked: ListQuery<V, S>, pool: Pool): AsyncGenerator<readonly R[]> {
    return this.reads.pieces(this.allRows(asked), pool, PIECE_ROWS);
  }

  private allRows(asked: ListQuery<V, S>): ReadQuery<never, Values, R> {
    return {
      ...this.query(asked, 'rows'),
      values: { ...asked.values, ...asked.scope },
      build: (_rm, given, gone, tableOf) => {
        const context = listContext<V>(given, gone, tableOf);
        return sql<{ json: R }>`select ${this.listing.row(context)} as json
          ${this.matching(context, asked, true)} order by ${this.order(asked)}`;
      },
    };
  }

  private query({ sort, descending }: Pick<ListQuery<V, S>, 'sort' | 'descending'>, part: string) {
    const { name, joins } = this.listing;
    const order = `${sort} ${descending ? 'desc' : 'asc'}`;
    return { name: `${name} ${part} ${order}`, prepared: false, joins } satisfies Partial<
      ReadQuery<never, Values, unknown>
    >;
  }

  /** From the tables to the conditions. */
  private matching(
    context: ListContext<V>,
    { sort, values }: Pick<ListQuery<V, S>, 'sort' | 'values'>,
    shows = false,
  ): RawBuilder<unknown> {
    const { from, joined, joinedBy, orders, scope, where } = this.listing;
    const given = context.given as Given<Values & Scope>;
    const isJoined =
      shows || orders[sort].isJoined || joinedBy.some((name) => values[name] !== undefined);
    const conditions = present([
      sql<boolean>`${sql.ref(scope[0])} = ${given.tenant}`,
      sql<boolean>`${sql.ref(scope[1])} = ${given.mode}`,
      ...where(context),
    ]);
    return sql`from ${from(context, sort)} ${isJoined ? joined(context) : sql``}
      where ${sql.join(conditions, sql` and `)}`;
  }

  private counted(context: ListContext<V>, asked: ListQuery<V, S>): RawBuilder<unknown> {
    const counted = this.listing.counted?.(context);
    if (counted !== undefined) return counted;
    const matching = this.matching(context, { ...asked, sort: this.listing.newest });
    return sql`select count(*) from (select ${matching} limit ${COUNTED_MAX + 1}) counted`;
  }

  private order({ sort, descending }: Pick<ListQuery<V, S>, 'sort' | 'descending'>) {
    const { orders, key, tiesAscend } = this.listing;
    const { by, isNullable } = orders[sort];
    const direction = descending ? sql`desc` : sql`asc`;
    const ties = descending === tiesAscend ? sql`asc` : sql`desc`;
    const nulls = isNullable ? sql`nulls last` : sql``;
    return sql`${by} ${direction} ${nulls}, ${sql.ref(key)} ${ties}`;
  }
}

export const toListQuery = <F extends object, V, S extends string>(
  scope: Scope,
  { filters, sort, descending }: ListFileRequest<F, S>,
  values: V,
): ListQuery<V, S> => ({
  sort,
  descending,
  scope,
  values,
  isFiltered: Object.values(filters).some((value) => value !== undefined),
});

/** A list as pages and files read it. */
export interface RowQueries<F, S extends string, R> {
  page(scope: Scope, request: ListRequest<F, S>): Promise<ListAnswer<R>>;
  /** All rows under the filters, in their order, from one snapshot. */
  rows(scope: Scope, request: ListFileRequest<F, S>): AsyncGenerator<R>;
}

/** How requests become values in SQL, and stored rows what is shown. */
interface Listed<F, V, Stored, R, W> {
  readonly valuesOf: (filters: F, shownWith: W) => V;
  /** What rows are shown with: the time of the ledger, say. */
  readonly shownWith: (scope: Scope) => Promise<W>;
  readonly shown: (rows: readonly Stored[], shownWith: W, scope: Scope) => Awaitable<readonly R[]>;
}
type Awaitable<T> = T | Promise<T>;

/** @param pool for files: each holds a connection until it is read to its end. */
export const rowQueries = <F extends object, V extends Values, S extends string, Stored, R, W>(
  list: RowList<V, S, Stored>,
  { valuesOf, shownWith, shown }: Listed<F, V, Stored, R, W>,
  pool: Pool,
): RowQueries<F, S, R> => ({
  async page(scope, request) {
    const by = await shownWith(scope);
    const asked = toListQuery(scope, request, valuesOf(request.filters, by));
    const { rows, ...answer } = await list.page(asked, request);
    return { ...answer, rows: await shown(rows, by, scope) };
  },
  async *rows(scope, request) {
    const by = await shownWith(scope);
    const asked = toListQuery(scope, request, valuesOf(request.filters, by));
    for await (const rows of list.pieces(asked, pool)) yield* await shown(rows, by, scope);
  },
});

const ROWS_OF_PAGE = 1_000;

/** All rows of a list that is read in pages. */
export async function* rowsByPages<R>(
  page: (of: PageRequest) => Promise<readonly R[]>,
): AsyncGenerator<R> {
  for (let offset = 0; ; offset += ROWS_OF_PAGE) {
    const rows = await page({ limit: ROWS_OF_PAGE, offset });
    yield* rows;
    if (rows.length < ROWS_OF_PAGE) return;
  }
}

/** LIKE patterns of the words of a text; absent: no such word. */
export type WordPatterns = {
  /** Of the longest word, by which an index finds rows. */
  readonly pattern: string | undefined;
  readonly otherPatterns: readonly string[] | undefined;
};

export function wordPatterns(text: string | undefined): WordPatterns {
  const words = foldedText(text ?? '')
    .split(/\s+/u)
    .filter((word) => word !== '');
  const [pattern, ...others] = words.sort(byLength).map(likePattern);
  return { pattern, otherPatterns: others.length > 0 ? others : undefined };
}

const byLength = (a: string, b: string): number => b.length - a.length;

/** Whether a text, in lower case, has every word; undefined: there are none. */
export const hasWords = (
  text: RawBuilder<unknown>,
  { pattern, otherPatterns }: Given<WordPatterns>,
): RawBuilder<boolean> | undefined =>
  pattern &&
  sql`(${text} like ${pattern}${otherPatterns ? sql` and ${text} like all(${otherPatterns}::text[])` : sql``})`;

/** Texts to search in, with the parts that are not null. */
export const searchedIn = (...texts: readonly RawBuilder<unknown>[]) =>
  sql`concat_ws(e'\\x1f', ${sql.join(texts)})`;

/** The name of a person in `users`. @param otherwise for a person without one. */
export const nameOf = (alias: string, otherwise: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`coalesce(nullif(concat_ws(' ', nullif(${sql.ref(`${alias}.first_name`)}, ''),
    nullif(${sql.ref(`${alias}.last_name`)}, '')), ''), ${otherwise})`;

/** Whether a column is within a range, both ends included. */
export const within = (
  column: string,
  { from, to }: { readonly from?: RawBuilder<unknown>; readonly to?: RawBuilder<unknown> },
) => [
  from && sql<boolean>`${sql.ref(column)} >= ${from}`,
  to && sql<boolean>`${sql.ref(column)} <= ${to}`,
];
