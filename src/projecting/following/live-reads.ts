import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
  type Compilable,
  type Expression,
  type RawBuilder,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { LiveGenerations } from '../generations/generations.js';

type Values = Readonly<Record<string, unknown>>;

/** The parameters of a query, by the names of their values; undefined: no value. */
export type Given<V extends Values> = {
  readonly [N in keyof V]: undefined extends V[N]
    ? RawBuilder<Exclude<V[N], undefined>> | undefined
    : RawBuilder<V[N]>;
};

/**
 * A query of a read model with these tables. Its text depends on which values are present, not on
 * the values.
 */
export interface ReadQuery<Tables, V extends Values, T> {
  readonly name: string;
  /**
   * Prepared once per connection, for a query whose values are always present. Otherwise it is
   * planned each time: the selectivity of its filters differs widely.
   */
  readonly prepared: boolean;
  readonly values: V;
  /** Selects one JSON column, named `json`. */
  readonly build: (rm: Kysely<Tables>, given: Given<V>, gone: Gone) => Compilable<{ json: T }>;
}

/**
 * Conditions about people whose erasure is not complete: a row about a person may exist for a while
 * after the person was forgotten.
 */
export interface Gone {
  /** Whether the person is one of them; false for null. */
  is(person: Expression<string | null>): RawBuilder<boolean>;
  /** Whether there are any. */
  readonly anybody: RawBuilder<boolean>;
}

interface Compiled {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** A placeholder in a text that is compiled before there are values. */
class Parameter {
  constructor(readonly name: string) {}
}

/** Clients choose the filters, so the number of cached texts is limited. */
const TEXTS_MAX = 200;

/**
 * Runs the queries of one read model in the schema of its live generation. Postgres returns JSON:
 * one statement returns a page and its total from one snapshot, and 64-bit columns arrive as
 * numbers. A text is compiled once for each generation and set of values
 * (docs/adr/0028-queries-are-built-once.md).
 */
export class LiveReads<Tables> {
  private readonly texts = new LRUCache<string, Compiled>({ max: TEXTS_MAX });

  constructor(
    private readonly pool: Pool,
    private readonly generations: Pick<LiveGenerations, 'liveGeneration'>,
    private readonly projection: string,
  ) {}

  /** @throws the database's errors while it is unavailable. */
  async all<V extends Values, T>(query: ReadQuery<Tables, V, T>): Promise<T[]> {
    const { schema, generation } = await this.generations.liveGeneration(this.projection);
    const names = Object.keys(query.values).filter((name) => query.values[name] !== undefined);
    const key = [schema, query.name, ...names].join(' ');
    const { text, parameters } =
      this.texts.get(key) ?? this.compiled(query, names, { schema, generation, key });
    const values = parameters.map((value) =>
      value instanceof Parameter ? query.values[value.name] : value,
    );
    const name = query.prepared ? { name: `${schema}.${query.name}` } : {};
    const { rows } = await this.pool.query<{ json: T }>({ ...name, text, values });
    return rows.map((row) => row.json);
  }

  async first<V extends Values, T>(query: ReadQuery<Tables, V, T>): Promise<T | undefined> {
    return (await this.all(query))[0];
  }

  private compiled<V extends Values, T>(
    { build }: ReadQuery<Tables, V, T>,
    names: readonly string[],
    {
      schema,
      generation,
      key,
    }: { readonly schema: string; readonly generation: number; readonly key: string },
  ): Compiled {
    const given = Object.fromEntries(
      names.map((name) => [name, sql`${new Parameter(name)}`]),
    ) as Given<V>;
    const rm = compiler.withSchema(schema) as unknown as Kysely<Tables>;
    const { sql: text, parameters } = build(
      rm,
      given,
      goneFrom(this.projection, generation),
    ).compile();
    const compiled: Compiled = { text, parameters };
    this.texts.set(key, compiled);
    return compiled;
  }
}

/** Builds texts, without a connection: the driver runs them. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Built once per statement; nearly always empty. */
function goneFrom(projection: string, generation: number): Gone {
  const erasures = sql`from ledger.projection_erasures where projection = ${projection} and generation = ${generation}`;
  return {
    is: (person) =>
      sql`coalesce(${person} = any (array(select unnest(persons) ${erasures})), false)`,
    anybody: sql`exists (select ${erasures})`,
  };
}

/** The conditions whose values are present. */
export function present<C>(conditions: readonly (C | undefined)[]): C[] {
  return conditions.filter((condition) => condition !== undefined);
}

/** Epoch milliseconds, both ends included. An exact time is a range from and to itself. */
export interface TimeRange {
  readonly from?: number;
  readonly to?: number;
}

/** A LIKE pattern for a literal part of a text. */
export function containing(piece: string): string {
  return `%${piece.replace(/[\\%_]/g, '\\$&')}%`;
}

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
