import type { Pool } from 'pg';
import type { LiveGenerations } from '../generations/generations.js';
import { quoted } from '../identifiers.js';

/** A statement of a read model's query. */
export interface ReadStatement {
  /** Set for statements whose text is always the same: they are prepared once per connection. */
  readonly name?: string;
  /**
   * Selects one JSON column, named `json`. `rm` is the schema of the live generation, ready to stand before a table's name. A row about a
   * person may be there for a while after the person was forgotten: `gone` tells which.
   */
  readonly text: (rm: string, gone: Gone) => string;
  readonly values: readonly unknown[];
}

/** Conditions about the people who are forgotten and not cleaned out of all rows yet. */
export interface Gone {
  /** Whether a column of persons names one of them. Null names nobody. */
  is(column: string): string;
  /** Whether there is anybody. */
  readonly anybody: string;
}

/**
 * Runs the queries of one read model in the schema of its live generation. Results come as JSON made by Postgres: one statement
 * gives a page and its total out of one snapshot, and 64-bit columns arrive as numbers. Raw SQL for that reason.
 */
export class LiveReads {
  constructor(
    private readonly pool: Pool,
    private readonly generations: Pick<LiveGenerations, 'liveGeneration'>,
    private readonly projection: string,
  ) {}

  /** @throws what the database throws while it is away. T: what the statement's text selects. */
  async all<T>({ name, text, values }: ReadStatement): Promise<T[]> {
    const { schema, generation } = await this.generations.liveGeneration(this.projection);
    const { rows } = await this.pool.query<{ json: T }>({
      ...(name === undefined ? {} : { name: `${schema}.${name}` }),
      text: text(quoted(schema), goneFrom(this.projection, generation)),
      values: [...values],
    });
    return rows.map((row) => row.json);
  }

  async first<T>(statement: ReadStatement): Promise<T | undefined> {
    return (await this.all<T>(statement))[0];
  }
}

/**
 * The list is made once in a statement, and is empty nearly always. Names and numbers of ours only stand in the text.
 */
function goneFrom(projection: string, generation: number): Gone {
  const erasures = `from ledger.projection_erasures where projection = '${projection}' and generation = ${generation}`;
  return {
    is: (column) => `coalesce(${column} = any (array(select unnest(persons) ${erasures})), false)`,
    anybody: `exists (select ${erasures})`,
  };
}

/** The conditions of a query that grows with its filters, with the parameters they need. */
export class Conditions {
  readonly values: unknown[] = [];
  private readonly texts: string[] = [];

  /** `column = $n`, unless there is nothing to compare with. */
  equal(column: string, value: string | undefined): this {
    if (value !== undefined) this.texts.push(`${column} = ${this.parameter(value)}`);
    return this;
  }

  /** Both ends included; an end that is missing is open. */
  within(column: string, range: TimeRange | undefined): this {
    if (range?.from !== undefined) this.texts.push(`${column} >= ${this.parameter(range.from)}`);
    if (range?.to !== undefined) this.texts.push(`${column} <= ${this.parameter(range.to)}`);
    return this;
  }

  /** @param pattern a LIKE pattern, see `containing`. */
  like(column: string, pattern: string | undefined): this {
    if (pattern !== undefined) this.texts.push(`${column} like ${this.parameter(pattern)}`);
    return this;
  }

  parameter(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  get where(): string {
    return this.texts.length === 0 ? 'true' : this.texts.join(' and ');
  }
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
