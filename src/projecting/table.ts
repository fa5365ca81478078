import type {
  IndexColumn,
  Lookup,
  ReadModelTable,
  Row,
  RowKey,
  Rows,
  ValueCheck,
} from './projector.js';

/** Requires a column for each member of the row type. */
export interface TableDefinition<R extends Row> {
  readonly name: string;
  readonly columns: Readonly<Record<keyof R & string, string>>;
  readonly primaryKey: readonly (keyof R & string)[];
  readonly indexes: ReadModelTable['indexes'];
  readonly checks?: { readonly [C in keyof R & string]?: ValueCheck };
}

/** Columns under the names that facts have: `date_given` is `dateGiven`. */
export type FactsOf<R extends Row> = {
  readonly [C in keyof R & string as CamelCase<C>]: R[C];
};

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

const camelCase = (column: string): string =>
  column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Its values are never null. */
export interface IndexColumnOf<R extends Row> extends IndexColumn {
  readonly column: keyof R & string;
}

/**
 * A read model's table with its row type. Rows travel as JSON both ways, so a read row equals the
 * written one: `bigint` columns are numbers (epoch milliseconds, amounts up to 2^53-1), `jsonb`
 * columns are values.
 */
export class TableOf<R extends Row> implements ReadModelTable {
  readonly name: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly primaryKey: readonly string[];
  readonly indexes: ReadModelTable['indexes'];
  readonly checks: ReadModelTable['checks'];
  private readonly facts: readonly (readonly [column: string, fact: string])[];

  constructor(definition: TableDefinition<R>) {
    this.name = definition.name;
    this.columns = definition.columns;
    this.primaryKey = definition.primaryKey;
    this.indexes = definition.indexes;
    this.checks = definition.checks as ReadModelTable['checks'];
    this.facts = Object.keys(this.columns).map((column) => [column, camelCase(column)]);
  }

  key(...key: readonly string[]): RowKey {
    return { table: this.name, key };
  }

  /** Facts as a row, as far as they name its columns. */
  rowOf<Known extends Partial<R>>(facts: FactsOf<Known>): Known {
    const values = new Map<string, unknown>(Object.entries(facts));
    const row: Record<string, unknown> = {};
    for (const [column, fact] of this.facts) if (values.has(fact)) row[column] = values.get(fact);
    return row as Known;
  }

  get(rows: Pick<Rows, 'get'>, ...key: readonly string[]): R | undefined {
    // The only cast to the row type: only `put` below writes such rows.
    return rows.get(this.name, key) as R | undefined;
  }

  /** The rows that the lookups of the current piece found. */
  found(rows: Pick<Rows, 'found'>): readonly R[] {
    return rows.found(this.name) as readonly R[];
  }

  lookup(
    where: { readonly [C in keyof R & string]?: readonly string[] },
    orderedBy?: readonly IndexColumnOf<R>[],
  ): Lookup {
    const conditions = where as Readonly<Record<string, readonly string[]>>;
    return orderedBy === undefined
      ? { table: this.name, where: conditions }
      : { table: this.name, where: conditions, orderedBy };
  }

  put(rows: Rows, row: R): void {
    rows.put(this.name, row);
  }

  /** Changes an existing row; a missing one stays missing: its person or account is forgotten. */
  change(rows: Rows, key: readonly string[], change: (row: R) => R): void {
    const row = this.get(rows, ...key);
    if (row) this.put(rows, change(row));
  }

  delete(rows: Rows, ...key: readonly string[]): void {
    rows.delete(this.name, key);
  }
}
