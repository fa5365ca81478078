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

/** The parameters of a query, by the names of their values; undefined where there is no value. */
export type Given<V extends Values> = {
  readonly [N in keyof V]: undefined extends V[N]
    ? RawBuilder<Exclude<V[N], undefined>> | undefined
    : RawBuilder<V[N]>;
};

/**
 * A query of a read model with these tables. Its text depends on which values there are, not on
 * what they are.
 */
export interface ReadQuery<Tables, V extends Values, T> {
  readonly name: string;
  /**
   * Prepared once a connection, for a query to which each value is always given. Otherwise it is
   * planned each time: what its filters leave differs widely.
   */
  readonly prepared: boolean;
  readonly values: V;
  /** Selects one JSON column, named `json`. */
  readonly build: (rm: Kysely<Tables>, given: Given<V>, gone: Gone) => Compilable<{ json: T }>;
}

/**
 * Conditions about the people who are forgotten and not cleaned out of all rows yet: a row about a
 * person may be there for a while after the person was forgotten.
 */
export interface Gone {
  /** Whether a person is one of them. Null is nobody. */
  is(person: Expression<string | null>): RawBuilder<boolean>;
  /** Whether there is anybody. */
  readonly anybody: RawBuilder<boolean>;
}

interface Compiled {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** Stands for a value in a text that is compiled before there is one. */
class Parameter {
  constructor(readonly name: string) {}
}

/** Clients choose the filters, so the texts that are kept are bounded. */
const TEXTS_MAX = 200;

/**
 * Runs the queries of one read model in the schema of its live generation. Results come as JSON
 * made by Postgres: one statement returns a page and its total out of one snapshot, and 64-bit
 * columns arrive as numbers. A text is compiled once for each generation and set of values
 * (docs/adr/0028-queries-are-built-once.md).
 */
export class LiveReads<Tables> {
  private readonly texts = new LRUCache<string, Compiled>({ max: TEXTS_MAX });

  constructor(
    private readonly pool: Pool,
    private readonly generations: Pick<LiveGenerations, 'liveGeneration'>,
    private readonly projection: string,
  ) {}

  /** @throws what the database throws while it is away. */
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

/** Builds texts, and has no connection: the driver runs them. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** The list is made once in a statement, and is empty nearly always. */
function goneFrom(projection: string, generation: number): Gone {
  const erasures = sql`from ledger.projection_erasures where projection = ${projection} and generation = ${generation}`;
  return {
    is: (person) =>
      sql`coalesce(${person} = any (array(select unnest(persons) ${erasures})), false)`,
    anybody: sql`exists (select ${erasures})`,
  };
}

/** The conditions whose values are given. */
export function present<C>(conditions: readonly (C | undefined)[]): C[] {
  return conditions.filter((condition) => condition !== undefined);
}

/** Epoch milliseconds, both ends included. An exact time is a range from and to itself. */
export interface TimeRange {
  readonly from?: number;
  readonly to?: number;
}

/** A LIKE pattern for a piece of text, which is meant literally. */
export function containing(piece: string): string {
  return `%${piece.replace(/[\\%_]/g, '\\$&')}%`;
}

/** One page of a list and how many there are in all. */
export interface ListPage<T> {
  readonly totalCount: number;
  readonly items: readonly T[];
}

export interface PageRequest {
  /** 0: the total only. */
  readonly limit: number;
  readonly offset: number;
}
