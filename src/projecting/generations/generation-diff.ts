import type { Pool, PoolClient } from 'pg';
import { beginSnapshot, endSnapshot } from '../../postgres/transaction.js';
import { quoted, schemaOf } from '../identifiers.js';
import type { Projector, ReadModelTable, Row } from '../projector.js';
import { placeOf } from './generations.js';

/** A row in which two generations differ. Undefined: missing on that side. */
export interface RowDifference {
  readonly table: string;
  readonly live: Row | undefined;
  readonly built: Row | undefined;
}

export interface Snapshot {
  readonly client: PoolClient;
  /** Takes the snapshot of the following reads. */
  take(): Promise<void>;
}

/** Runs the work on a connection that reads from one snapshot. */
export async function withSnapshot<T>(
  pool: Pool,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const take = async (): Promise<void> => {
    await beginSnapshot(client);
    // Generations are joined by hashes, which are fastest in memory.
    await client.query(`set local work_mem = '64MB'`);
  };
  try {
    return await work({ client, take });
  } finally {
    await endSnapshot(client);
  }
}

/** The numbers of two generations. */
export interface Compared {
  readonly live: number;
  readonly built: number;
}

/** Number of rows of the second generation, and of rows that differ. */
export async function countDifferences(
  client: PoolClient,
  { name, tables }: Projector,
  { live, built }: Compared,
): Promise<{ readonly rows: number; readonly differences: number }> {
  const total = { rows: 0, differences: 0 };
  for (const table of tables) {
    const { rows } = await client.query<{ rows: number; differences: number }>(
      `select count(n.${quoted(table.primaryKey[0] ?? '')})::float8 as rows, (count(*) filter (where ${differ('l', 'n', table)}))::float8 as differences
       from ${joined(name, table, live, built)}`,
    );
    total.rows += rows[0]?.rows ?? 0;
    total.differences += rows[0]?.differences ?? 0;
  }
  return total;
}

/** The first `limit` different rows, table by table in the order of their keys. */
export async function listDifferences(
  client: PoolClient,
  { name, tables }: Projector,
  { live, built }: Compared,
  limit: number,
): Promise<readonly RowDifference[]> {
  const found: RowDifference[] = [];
  for (const table of tables) {
    const order = table.primaryKey
      .map((column) => `coalesce(l.${quoted(column)}, n.${quoted(column)})`)
      .join(', ');
    const isIn = (alias: string): string =>
      `${alias}.${quoted(table.primaryKey[0] ?? '')} is not null`;
    const { rows } = await client.query<{ live: Row | null; built: Row | null }>(
      `select case when ${isIn('l')} then to_json(l) end as live, case when ${isIn('n')} then to_json(n) end as built
       from ${joined(name, table, live, built)} where ${differ('l', 'n', table)} order by ${order} limit $1`,
      [limit - found.length],
    );
    found.push(
      ...rows.map((row) => ({
        table: table.name,
        live: row.live ?? undefined,
        built: row.built ?? undefined,
      })),
    );
  }
  return found;
}

function joined(projection: string, table: ReadModelTable, live: number, built: number): string {
  const on = table.primaryKey
    .map((column) => `l.${quoted(column)} = n.${quoted(column)}`)
    .join(' and ');
  return `${placeOf(schemaOf(projection, live), table)} l full join ${placeOf(schemaOf(projection, built), table)} n on ${on}`;
}

/** A row that is missing on one side has null in its key there. */
export function differ(a: string, b: string, table: ReadModelTable): string {
  const row = (alias: string): string =>
    `row(${Object.keys(table.columns)
      .map((column) => `${alias}.${quoted(column)}`)
      .join(', ')})`;
  return `${row(a)} is distinct from ${row(b)}`;
}
