import { sql, type Compilable, type Expression, type Kysely, type RawBuilder } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { builder, StatementText, type Given, type Values } from '../../postgres/statements.js';
import type { LiveGenerations } from '../generations/generations.js';
import type { SlowReads } from './slow-reads.js';

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
  /** The tenant, for a query that may read many of its rows: few of them run at once. */
  readonly slowOf?: string | undefined;
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

/** Clients choose the filters, so the number of cached texts is limited. */
const TEXTS_MAX = 200;

/**
 * Runs the queries of one read model in the schema of its live generation. Postgres returns JSON:
 * one statement returns a page and its total from one snapshot, and 64-bit columns arrive as
 * numbers. A text is compiled once for each generation and set of values
 * (docs/adr/0028-queries-are-built-once.md).
 */
export class LiveReads<Tables> {
  private readonly texts = new LRUCache<string, StatementText>({ max: TEXTS_MAX });

  constructor(
    private readonly pool: Pool,
    private readonly generations: Pick<LiveGenerations, 'liveGeneration'>,
    private readonly projection: string,
    private readonly slowReads?: SlowReads,
  ) {}

  /** @throws the database's errors while it is unavailable. */
  async all<V extends Values, T>(query: ReadQuery<Tables, V, T>): Promise<T[]> {
    const { schema, generation } = await this.generations.liveGeneration(this.projection);
    const names = Object.keys(query.values).filter((name) => query.values[name] !== undefined);
    const key = [schema, query.name, ...names].join(' ');
    const compiled =
      this.texts.get(key) ?? this.compiled(query, names, { schema, generation, key });
    const name = query.prepared ? { name: `${schema}.${query.name}` } : {};
    const statement = {
      ...name,
      text: compiled.text,
      values: compiled.valuesFrom(query.values),
    };
    const { rows } = await (this.slowReads && query.slowOf !== undefined
      ? this.slowReads.query<{ json: T }>(query.slowOf, statement)
      : this.pool.query<{ json: T }>(statement));
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
  ): StatementText {
    const rm = builder.withSchema(schema) as unknown as Kysely<Tables>;
    const gone = goneFrom(this.projection, generation);
    const compiled = StatementText.of<V>(names, (given) => build(rm, given, gone));
    this.texts.set(key, compiled);
    return compiled;
  }
}

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

/** Rows before a page that are skipped quickly; more make the read a slow one. */
const OFFSET_MAX = 5_000;

/** Whether a page lies so far behind the first one that reaching it is slow. */
export const isFarBehind = ({ offset }: PageRequest): boolean => offset > OFFSET_MAX;

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
