import type { PoolClient } from 'pg';
import { now, run, tables } from '../../postgres/statements.js';
import { inTransactionOf } from '../../postgres/transaction.js';
import { quoted, schemaOf } from '../identifiers.js';
import type { Projector, ReadModelTable } from '../projector.js';
import { copyRows } from './copy-rows.js';
import { recordParked } from './generation-records.js';
import { createTables, findExtensions, indexStatements, primaryKeyOf } from './generations.js';
import type { ProjectionFold } from './log-fold.js';

/** Sorting memory for an index: there is one such operation at a time. */
const INDEX_MEMORY = '128MB';

/**
 * Writes a fold as the content of a generation, which only has its records so far: tables, rows,
 * primary keys, parked events and checkpoint in one transaction. The content of an earlier attempt
 * is replaced.
 * @throws Postgres' data errors (`isDataError`), {UnstorableText}: the generation is unchanged.
 */
export async function writeFold(
  client: PoolClient,
  fold: ProjectionFold,
  generation: number,
): Promise<void> {
  const { projector, rows, parked, position } = fold;
  const schema = schemaOf(projector.name, generation);
  await inTransactionOf(client, async () => {
    await client.query(`set local maintenance_work_mem = '${INDEX_MEMORY}'`);
    await client.query(`drop schema if exists ${quoted(schema)} cascade`);
    await createTables(client, projector, generation, false);
    for (const table of projector.tables) {
      const place = placeOf(schema, table);
      await copyRows(client, place, table, rows.rowsOf(table.name));
      await client.query(`alter table ${place} add ${primaryKeyOf(table)}`);
    }
    const isOf = { projection: projector.name, generation };
    await run(
      client,
      tables.deleteFrom('ledger.parked_streams').where((eb) => eb.and(isOf)),
    );
    await recordParked(client, projector.name, generation, parked);
    await run(
      client,
      tables
        .updateTable('ledger.projection_checkpoints')
        .set((eb) => ({
          position: position ?? null,
          version: eb('version', '+', 1n),
          updated_at: now,
          last_error: null,
        }))
        .where((eb) => eb.and(isOf)),
    );
  });
}

/** Creates the secondary indexes and analyzes the tables, all in one transaction. */
export async function indexGeneration(
  client: PoolClient,
  projector: Projector,
  generation: number,
): Promise<void> {
  const schema = schemaOf(projector.name, generation);
  await inTransactionOf(client, async () => {
    await client.query(`set local maintenance_work_mem = '${INDEX_MEMORY}'`);
    await findExtensions(client);
    for (const table of projector.tables)
      for (const statement of indexStatements(schema, table)) await client.query(statement);
  });
  for (const table of projector.tables) await client.query(`analyze ${placeOf(schema, table)}`);
}

/** @throws when the tables do not contain the folded rows. */
export async function checkLoaded(
  client: PoolClient,
  { projector, rows }: ProjectionFold,
  generation: number,
): Promise<void> {
  for (const table of projector.tables) {
    const place = placeOf(schemaOf(projector.name, generation), table);
    const { rows: counted } = await client.query<{ count: string }>(
      `select count(*)::text as count from ${place}`,
    );
    if (Number(counted[0]?.count) !== rows.sizeOf(table.name))
      throw new Error(
        `${place} holds ${counted[0]?.count} rows where ${rows.sizeOf(table.name)} were folded`,
      );
  }
}

/** The SQL name of a table. */
export const placeOf = (schema: string, table: ReadModelTable): string =>
  `${quoted(schema)}.${quoted(table.name)}`;
