import { sql, type Compilable, type Expression, type Kysely, type RawBuilder } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { beginSnapshot, endSnapshot } from '../../postgres/transaction.js';
import { builder, StatementText, type Given, type Values } from '../../postgres/statements.js';
import type { LiveGenerations } from '../generations/live-generations.js';
import { BatchedReads } from './batched-reads.js';
import type { SlowReads } from './slow-reads.js';

/** The tables of a read model's generation, which only its projection can type. */
const tablesOf = <Tables>(schema: string): Kysely<Tables> =>
  builder.withSchema(schema) as unknown as Kysely<Tables>;

/** A query of a read model. Its SQL depends on which values are present, not on the values. */
export interface ReadQuery<Tables, V extends Values, T> {
  readonly name: string;
  /** For queries whose values are always present; others are planned each time. */
  readonly prepared: boolean;
  /** The tenant of a query that may read many rows, of which only a few run concurrently. */
  readonly slowOf?: string | undefined;
  /** Other read models that it joins; each may be at another position. */
  readonly joins?: readonly string[];
  readonly values: V;
  /** Selects one JSON column, named `json`. */
  readonly build: (
    rm: Kysely<Tables>,
    given: Given<V>,
    gone: UnfinishedErasures,
    tableOf: TableOfReadModel,
  ) => Compilable<{ json: T }> | RawBuilder<{ json: T }>;
}

/** A read model's table, for raw SQL. */
export type TableOfReadModel = (readModel: string, table: string) => RawBuilder<unknown>;

/** At most one row by a key. Reads of one turn share a statement (docs/adr/0028). */
export interface RowQuery<Tables, V extends Values, T> {
  readonly name: string;
  /** Of the columns that the values are compared with. */
  readonly types: { readonly [N in keyof V]: 'text' | 'bigint' };
  /** Each is present, or null. */
  readonly values: V;
  /** Selects one JSON column of at most one row. */
  readonly build: (
    rm: Kysely<Tables>,
    given: Given<V>,
    gone: UnfinishedErasures,
  ) => Compilable<{ json: T }>;
}

/** Conditions about people with an unfinished erasure: their rows may exist for a while. */
export interface UnfinishedErasures {
  /** Whether the person is one of them; false for null. */
  is(person: Expression<string | null>): RawBuilder<boolean>;
  /** Whether there are any. */
  readonly exist: RawBuilder<boolean>;
}

/** Clients choose the filters, so the number of cached texts is limited. */
const TEXTS_MAX = 200;

/**
 * Runs queries of one read model in the schema of its live generation. They return JSON: one
 * statement returns a page and its total from one snapshot, and 64-bit columns arrive as numbers.
 * SQL is compiled once per generation and set of values (docs/adr/0028).
 */
export class LiveReads<Tables> {
  private readonly texts = new LRUCache<string, StatementText>({ max: TEXTS_MAX });
  /** By the names of their queries. */
  private readonly batches = new Map<string, BatchedReads>();

  constructor(
    private readonly pool: Pool,
    private readonly generations: Pick<LiveGenerations, 'liveGeneration'>,
    private readonly projection: string,
    private readonly slowReads?: SlowReads,
  ) {}

  /** @throws the database's errors while it is unavailable. */
  async all<V extends Values, T>(query: ReadQuery<Tables, V, T>): Promise<T[]> {
    const { schema, text, values } = await this.statementOf(query);
    const name = query.prepared ? { name: `${schema}.${query.name}` } : {};
    const statement = { ...name, text, values };
    const { rows } = await (this.slowReads && query.slowOf !== undefined
      ? this.slowReads.query<{ json: T }>(query.slowOf, statement)
      : this.pool.query<{ json: T }>(statement));
    return rows.map((row) => row.json);
  }

  /** The planner's estimate of the number of rows. */
  async estimate<V extends Values, T>(query: ReadQuery<Tables, V, T>): Promise<number> {
    const { text, values } = await this.statementOf(query);
    const { rows } = await this.pool.query<{ 'QUERY PLAN': readonly [PlanOfQuery] }>(
      `explain (format json) ${text}`,
      values,
    );
    return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
  }

  /** All rows from one snapshot, on a held connection. @param pool for long statements. */
  async *pieces<V extends Values, T>(
    query: ReadQuery<Tables, V, T>,
    pool: Pool,
    rowsMax: number,
  ): AsyncGenerator<readonly T[]> {
    const { text, values } = await this.statementOf(query);
    const client = await pool.connect();
    try {
      await beginSnapshot(client);
      await client.query(`declare pieces no scroll cursor for ${text}`, values);
      for (;;) {
        const { rows } = await client.query<{ json: T }>(`fetch ${rowsMax} from pieces`);
        if (rows.length > 0) yield rows.map(({ json }) => json);
        if (rows.length < rowsMax) return;
      }
    } finally {
      await endSnapshot(client);
    }
  }

  /** @throws the database's errors while it is unavailable. */
  row<V extends Values, T>(query: RowQuery<Tables, V, T>): Promise<T | undefined> {
    let reads = this.batches.get(query.name);
    if (reads === undefined) {
      const { name, types, build } = query;
      reads = new BatchedReads(Object.keys(types), (lists) =>
        this.rows({ name, types, build }, lists),
      );
      this.batches.set(name, reads);
    }
    return reads.row<T>(query.values);
  }

  async first<V extends Values, T>(query: ReadQuery<Tables, V, T>): Promise<T | undefined> {
    return (await this.all(query))[0];
  }

  /** The result for each of the lists' values; null: nothing. */
  private async rows<V extends Values, T>(
    query: Omit<RowQuery<Tables, V, T>, 'values'>,
    lists: Values,
  ): Promise<readonly unknown[]> {
    const { schema, generation } = await this.generations.liveGeneration(this.projection);
    const key = `${schema}.${query.name}`;
    let compiled = this.texts.get(key);
    if (compiled === undefined) {
      compiled = this.eachRow(query, schema, generation);
      this.texts.set(key, compiled);
    }
    const statement = { name: key, text: compiled.text, values: compiled.valuesFrom(lists) };
    const { rows } = await this.pool.query<{ json: readonly unknown[] }>(statement);
    return rows[0]?.json ?? [];
  }

  /** The query for each of a list of values, as one row with a list of results. */
  private eachRow<V extends Values, T>(
    { types, build }: Omit<RowQuery<Tables, V, T>, 'values'>,
    schema: string,
    generation: number,
  ): StatementText {
    const rm = tablesOf<Tables>(schema);
    const names = Object.keys(types);
    const columns = names.map((name) => [name, sql`${sql.ref(`wanted.${name}`)}`]);
    const given = Object.fromEntries(columns) as Given<V>;
    const found = build(rm, given, unfinishedErasuresIn(this.projection, generation));
    return StatementText.of<Values>(names, (lists) => {
      const typed = names.map((name) => LIST_OF[types[name] ?? 'text'](lists[name]));
      const columnNames = names.map((name) => sql.ref(name));
      return builder.selectNoFrom(() =>
        sql`(select json_agg(${found} order by wanted.n)
          from unnest(${sql.join(typed)}) with ordinality as wanted(${sql.join(columnNames)}, n))`.as(
          'json',
        ),
      );
    });
  }

  private async statementOf<V extends Values, T>(query: ReadQuery<Tables, V, T>) {
    const { schema, generation } = await this.generations.liveGeneration(this.projection);
    const schemas = new Map([[this.projection, schema]]);
    for (const joined of query.joins ?? [])
      schemas.set(joined, (await this.generations.liveGeneration(joined)).schema);
    const names = Object.keys(query.values).filter((name) => query.values[name] !== undefined);
    const key = [...schemas.values(), query.name, ...names].join(' ');
    const compiled =
      this.texts.get(key) ?? this.compiled(query, names, { schemas, generation, key });
    return { schema, text: compiled.text, values: compiled.valuesFrom(query.values) };
  }

  private compiled<V extends Values, T>(
    { build }: ReadQuery<Tables, V, T>,
    names: readonly string[],
    { schemas, generation, key }: ReadSchemas,
  ): StatementText {
    const tableOf: TableOfReadModel = (readModel, table) =>
      sql.id(schemas.get(readModel) ?? '', table);
    const rm = tablesOf<Tables>(schemas.get(this.projection) ?? '');
    const gone = unfinishedErasuresIn(this.projection, generation);
    const compiled = StatementText.of<V>(names, (given) => build(rm, given, gone, tableOf));
    this.texts.set(key, compiled);
    return compiled;
  }
}

interface PlanOfQuery {
  readonly Plan: { readonly 'Plan Rows': number };
}

interface ReadSchemas {
  /** By read model. */
  readonly schemas: ReadonlyMap<string, string>;
  readonly generation: number;
  /** Key of the compiled text. */
  readonly key: string;
}

/** Built once per statement; nearly always empty. */
function unfinishedErasuresIn(projection: string, generation: number): UnfinishedErasures {
  const erasures = sql`from ledger.projection_erasures where projection = ${projection} and generation = ${generation}`;
  return {
    is: (person) =>
      sql`coalesce(${person} = any (array(select unnest(persons) ${erasures})), false)`,
    exist: sql`exists (select ${erasures})`,
  };
}

/** A list of values as a parameter of this type. */
const LIST_OF = {
  text: (list: unknown) => sql`${list}::text[]`,
  bigint: (list: unknown) => sql`${list}::bigint[]`,
};

/**
 * Whether a row found by its key is of this tenant and mode. Written without `=`: with statistics
 * of an emptier table the planner would use an index that begins with the tenant and read all of
 * it.
 */
export const isOfScope = (
  [tenant, mode]: readonly [string, string],
  given: { readonly tenant: Expression<string>; readonly mode: Expression<string> },
): RawBuilder<boolean> =>
  sql`(${sql.ref(tenant)}, ${sql.ref(mode)})
    is not distinct from (${given.tenant}, ${given.mode})`;

/** The conditions whose values are present. */
export function present<C>(conditions: readonly (C | undefined)[]): C[] {
  return conditions.filter((condition) => condition !== undefined);
}

/** Epoch milliseconds, both ends included. */
export interface TimeRange {
  readonly from?: number;
  readonly to?: number;
}

/** A LIKE pattern for a literal part of a text. */
export function likePattern(piece: string): string {
  return `%${piece.replace(/[\\%_]/g, '\\$&')}%`;
}

/** Skipping more rows makes a read slow. */
const OFFSET_MAX = 5_000;

/** The page is so far from the first one that reaching it is slow. */
export const isDeepPage = ({ offset }: PageRequest): boolean => offset > OFFSET_MAX;

/** One page of a list and the total. */
export interface ListPage<T> {
  readonly totalCount: number;
  readonly items: readonly T[];
}

export interface PageRequest {
  /** 0: the total only. */
  readonly limit: number;
  readonly offset: number;
}
