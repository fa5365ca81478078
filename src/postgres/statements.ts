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
import type { QueryConfig, QueryResult, QueryResultRow } from 'pg';
import type { LedgerTables } from './ledger-tables.js';

/** Builds statements, without a connection: `fetchRows` and `run` send them. */
export const builder = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Builds statements on the small tables. */
export const tables = builder as Kysely<LedgerTables>;

/** Built, or written with `sql` where the builder cannot express it (docs/adr/0028). */
export type Statement<T> = Compilable<T> | RawBuilder<T> | CompiledStatement<T>;

/** SQL with the values of its parameters, in order. */
interface CompiledStatement<T> {
  /** The name it is prepared under, once per connection. */
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
  /** The type of its rows; no value. */
  readonly row?: T;
}

/** A pool, or a connection with its transaction. */
export interface Connection {
  query<R extends QueryResultRow>(
    statement: string | QueryConfig,
    values?: unknown[],
  ): Promise<QueryResult<R>>;
}

/** Functions of a database, without their first parameter. */
type BoundTo<Db, Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (
    db: Db,
    ...rest: infer Rest
  ) => infer T
    ? (...rest: Rest) => T
    : never;
};

/** Binds the functions to one database: a port that the simulator replaces. */
export const boundTo = <
  Db,
  F extends Readonly<Record<string, (db: Db, ...rest: never[]) => unknown>>,
>(
  db: Db,
  functions: F,
): BoundTo<Db, F> =>
  Object.fromEntries(
    Object.entries(functions).map(([name, work]) => [
      name,
      (...rest: never[]) => work(db, ...rest),
    ]),
  ) as BoundTo<Db, F>;

/** @throws the database's errors. */
export async function fetchRows<T>(db: Connection, statement: Statement<T>): Promise<T[]> {
  return (await send(db, statement)).rows as T[];
}

/** The first row; undefined: none. @throws the database's errors. */
export async function fetchRow<T>(db: Connection, statement: Statement<T>): Promise<T | undefined> {
  return (await fetchRows(db, statement))[0];
}

/** @returns the number of changed rows. @throws the database's errors. */
export async function run(db: Connection, statement: Statement<unknown>): Promise<number> {
  return (await send(db, statement)).rowCount ?? 0;
}

function send(db: Connection, statement: Statement<unknown>): Promise<QueryResult> {
  if ('text' in statement) return db.query(statement);
  const { sql: text, parameters } = statement.compile(tables);
  return db.query(text, [...parameters]);
}

/** The values of a statement, by name. */
export type Values = Readonly<Record<string, unknown>>;

/** The parameters of a statement, by the names of their values; undefined: no value. */
export type Given<V extends object> = {
  readonly [N in keyof V]: undefined extends V[N]
    ? RawBuilder<Exclude<V[N], undefined>> | undefined
    : RawBuilder<V[N]>;
};

/** A placeholder in SQL that is compiled before there are values. */
class Parameter {
  constructor(readonly name: string) {}
}

/** The SQL of a statement, compiled before there are values. */
export class StatementText {
  private constructor(
    readonly text: string,
    private readonly parameters: readonly unknown[],
  ) {}

  /** @param names of the values that are present. */
  static of<V extends object>(
    names: readonly string[],
    build: (given: Given<V>) => Compilable | RawBuilder<unknown>,
  ): StatementText {
    const given = Object.fromEntries(names.map((name) => [name, sql`${new Parameter(name)}`]));
    const { sql: text, parameters } = build(given as Given<V>).compile(tables);
    return new StatementText(text, parameters);
  }

  /** The values in the order of the parameters. */
  valuesFrom(values: object): unknown[] {
    const byName = values as Values;
    return this.parameters.map((value) =>
      value instanceof Parameter ? byName[value.name] : value,
    );
  }
}

/** Compiled at its first use only, and prepared once per connection under this name. */
export function compiledOnce<V extends object, T>(
  name: string,
  build: (given: Given<V>) => Compilable<T> | RawBuilder<T>,
): (values: V) => Statement<T> {
  let compiled: StatementText | undefined;
  return (values) => {
    compiled ??= StatementText.of(Object.keys(values), build);
    return { name, text: compiled.text, values: compiled.valuesFrom(values) };
  };
}

/** For `column = any(...)`: one parameter for any number of values. */
export const anyOf = <T>(values: readonly T[]): RawBuilder<T> => sql<T>`any(${values})`;

/** The database's time at the beginning of the transaction. */
export const now = sql<Date>`now()`;

/** A time in epoch milliseconds; null stays null. */
export const epochMs = <T extends Date | null>(
  time: Expression<T>,
): RawBuilder<T extends null ? number | null : number> =>
  sql`(extract(epoch from ${time}) * 1000)::float8`;
