import { createHash } from 'node:crypto';
import { sql, type Expression, type RawBuilder } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { withLock } from '../../postgres/locks.js';
import { anyOf, fetchRow, fetchRows, now, run, tables } from '../../postgres/statements.js';
import { inTransactionOf } from '../../postgres/transaction.js';
import { quoted, schemaOf } from '../identifiers.js';
import type { Projector, ReadModelTable } from '../projector.js';

/**
 * A generation is one build of a projection: a schema with its tables and a checkpoint. Followed
 * ones are updated and read by the processes whose release has these tables, at most one per
 * definition: `live` for the confirmed release, the second state for any other (docs/adr/0041).
 * `building`: incomplete, or left by a crash. `ready`: complete, to replace the followed one.
 * `retired`: was followed, kept for a roll-back.
 */
export type GenerationState = FollowedState | 'building' | 'ready' | 'retired';
export type FollowedState = (typeof FOLLOWED_STATES)[number];

/** A projection and its tables. */
export type ReadModel = Pick<Projector, 'name' | 'tables'>;

const TABLE = 'ledger.projection_generations';
export const FOLLOWED_STATES = ['live', 'beside'] as const;
const [LIVE, OTHER_RELEASE] = FOLLOWED_STATES;

/** Names and definitions, in one order. */
export interface NamedTables {
  readonly names: readonly string[];
  readonly definitions: readonly string[];
}

export const namedTablesOf = (readModels: readonly ReadModel[]): NamedTables => ({
  names: readModels.map(({ name }) => name),
  definitions: readModels.map(definitionOf),
});

/** SQL: the release with these tables follows generation `g` as its own live one. */
export const isFollowedWith = ({
  names,
  definitions,
}: {
  readonly [M in keyof NamedTables]: Expression<NamedTables[M]>;
}): RawBuilder<boolean> =>
  // eslint-disable-next-line no-restricted-syntax -- constants of this file, in prepared statements
  sql`g.state in (${sql.join(FOLLOWED_STATES.map((state) => sql.lit(state)))}) and (g.projection, g.definition) in
      (select * from unnest(${names}::text[], ${definitions}::text[]))`;

/** The same, of these read models. */
export const isFollowedBy = (readModels: readonly ReadModel[]): RawBuilder<boolean> => {
  const { names, definitions } = namedTablesOf(readModels);
  return isFollowedWith({ names: sql`${names}`, definitions: sql`${definitions}` });
};

/** `where` selects those that a release follows. */
export const FOLLOWED = tables
  .selectFrom(`${TABLE} as g`)
  .select(['g.projection', 'g.generation', 'g.state']);

const ownGenerations = (readModels: readonly ReadModel[]) =>
  FOLLOWED.where(isFollowedBy(readModels)).orderBy('g.projection');

/** For projections without a live one. Safe when several processes start together. */
export async function ensureLiveGenerations(
  pool: Pool,
  projectors: readonly Projector[],
): Promise<void> {
  if ((await withoutLiveGeneration(pool, projectors)).length === 0) return;
  await withLock(pool, 'create generations', async (client) => {
    for (const projector of await withoutLiveGeneration(client, projectors))
      await createGeneration(client, projector, 1, 'live');
  });
}

/** The projections whose generations had to be created, by reason. */
export interface CreatedGenerations {
  /** The live ones have other tables and belong to another release. */
  readonly added: readonly string[];
  /** The tables were missing: a backup may omit read models, and a scrub drops unfollowed ones. */
  readonly renewed: readonly string[];
}

/**
 * Creates missing generations of the release with these tables: empty, and hidden until
 * `FollowedLog.markRebuilt`. The first one of a projection is live and shown immediately. Safe when
 * several processes start together.
 */
export async function ensureOwnGenerations(
  pool: Pool,
  projectors: readonly Projector[],
): Promise<CreatedGenerations> {
  await ensureLiveGenerations(pool, projectors);
  if ((await withoutTables(pool, projectors)).length === 0) return { added: [], renewed: [] };
  return withLock(pool, 'create generations', async (client) => {
    const added: string[] = [];
    const renewed: string[] = [];
    for (const { projector, state } of await withoutTables(client, projectors)) {
      await replaceOwnGeneration(client, projector);
      (state === undefined ? added : renewed).push(projector.name);
    }
    return { added, renewed };
  });
}

/** Projections whose followed generation, or its schema, is missing. */
async function withoutTables(
  db: Pool | PoolClient,
  projectors: readonly Projector[],
): Promise<readonly { readonly projector: Projector; readonly state?: GenerationState }[]> {
  const own = await fetchRows(db, ownGenerations(projectors));
  const { rows: found } = await db.query<{ name: string }>(
    'select nspname as name from pg_namespace',
  );
  const schemas = new Set(found.map(({ name }) => name));
  return projectors.flatMap((projector) => {
    const followed = own.find(({ projection }) => projection === projector.name);
    if (!followed) return [{ projector }];
    const { generation, state } = followed;
    return schemas.has(schemaOf(projector.name, generation)) ? [] : [{ projector, state }];
  });
}

/** An empty one, hidden until it has caught up; in the caller's transaction. */
export async function replaceOwnGeneration(
  client: PoolClient,
  projector: Projector,
): Promise<void> {
  const own = await fetchRows(client, ownGenerations([projector]));
  await replace(client, projector, own, own[0]?.state === LIVE ? LIVE : OTHER_RELEASE);
}

/** Of any release; makes an empty one live. In the caller's transaction. */
export async function replaceEveryGeneration(
  client: PoolClient,
  projector: Projector,
): Promise<void> {
  const followed = FOLLOWED.where('g.projection', '=', projector.name).where(
    'g.state',
    '=',
    anyOf(FOLLOWED_STATES),
  );
  await replace(client, projector, await fetchRows(client, followed), LIVE);
}

/** Retires generations, and creates one that is hidden until it has caught up. */
async function replace(
  client: PoolClient,
  projector: Projector,
  retired: readonly { readonly generation: number }[],
  state: FollowedState,
): Promise<void> {
  const projection = projector.name;
  const generation = await nextGeneration(client, projection);
  await run(
    client,
    tables
      .updateTable(TABLE)
      .set({ state: 'retired', retired_at: now })
      .where('projection', '=', projection)
      .where('generation', '=', anyOf(retired.map((each) => each.generation))),
  );
  await createGeneration(client, projector, generation, state);
  await run(
    client,
    tables
      .updateTable(TABLE)
      .set({ complete: false })
      .where((eb) => eb.and({ projection, generation })),
  );
}

/** One more than the highest number ever used: the history names deleted generations. */
export async function nextGeneration(client: PoolClient, projection: string): Promise<number> {
  const row = await fetchRow(
    client,
    sql<{ next: number }>`
      select 1 + coalesce(max(generation), 0) as next from (
        select generation from ledger.projection_generations where projection = ${projection}
        union all
        select generation from ledger.projection_history where projection = ${projection}
      ) used`,
  );
  return row?.next ?? 1;
}

/** Releases with another digest build their own generation next to the live one. */
export function definitionOf({ tables: declared }: Pick<ReadModel, 'tables'>): string {
  const made = declared.map(({ name, columns, primaryKey, indexes }) => ({
    name,
    columns,
    primaryKey,
    indexes,
  }));
  return createHash('sha256').update(JSON.stringify(made)).digest('hex');
}

async function withoutLiveGeneration(
  db: Pool | PoolClient,
  projectors: readonly Projector[],
): Promise<Projector[]> {
  const live = await fetchRows(
    db,
    tables.selectFrom(TABLE).select('projection').where('state', '=', 'live'),
  );
  const names = new Set(live.map(({ projection }) => projection));
  return projectors.filter(({ name }) => !names.has(name));
}

/** Postgres empties it after a crash, with the other tables of a generation that is being built. */
const UNLOGGED = 'unlogged';

/**
 * Creates schema, tables, indexes and checkpoint of a generation, in the caller's transaction. The
 * tables of one that is being built have no write-ahead log, whose page images would grow with the
 * tables, and the indexes that erasures read only: `completeTables` does the rest.
 */
export async function createGeneration(
  client: PoolClient,
  projector: Projector,
  generation: number,
  state: GenerationState,
): Promise<void> {
  const schema = schemaOf(projector.name, generation);
  await client.query(`create schema ${quoted(schema)}`);
  await findExtensions(client);
  const isBuilding = state === 'building';
  for (const table of projector.tables) {
    await client.query(tableStatement(schema, table, isBuilding));
    const isNeeded = isBuilding ? isReadByErasures(projector, table) : undefined;
    for (const statement of indexStatements(schema, table, isNeeded)) await client.query(statement);
  }
  if (isBuilding)
    await client.query(`create unlogged table ${quoted(schema)}.${UNLOGGED} as select 1`);
  const key = { projection: projector.name, generation };
  const definition = definitionOf(projector);
  await run(client, tables.insertInto(TABLE).values({ ...key, state, definition }));
  await run(client, tables.insertInto('ledger.projection_checkpoints').values(key));
}

/**
 * Logs full tables, and makes their missing indexes: sorted once, that costs less than row by row.
 * @returns false: Postgres has emptied them.
 */
export const completeTables = (
  client: PoolClient,
  { name, tables: declared }: Projector,
  generation: number,
): Promise<boolean> =>
  inTransactionOf(client, async () => {
    await client.query("set local maintenance_work_mem = '128MB'");
    await findExtensions(client);
    const schema = schemaOf(name, generation);
    const { rowCount } = await client.query(`table ${quoted(schema)}.${UNLOGGED}`);
    if (rowCount === 0) return false;
    await client.query(`drop table ${quoted(schema)}.${UNLOGGED}`);
    for (const table of declared) {
      await client.query(`alter table ${placeOf(schema, table)} set logged`);
      for (const statement of indexStatements(schema, table)) await client.query(statement);
    }
    return true;
  });

/** By the columns of its lookups, whatever is forgotten. */
function isReadByErasures({ forgetting }: Projector, { name }: ReadModelTable) {
  const columns = forgetting
    .lookups({ erasureId: '', tenant: '', mode: 'live', accountRef: '', persons: new Set() })
    .flatMap(({ table, where }) => (table === name ? Object.keys(where) : []));
  return (definition: string): boolean =>
    columns.some((column) => new RegExp(`^\\(${column}\\b`).test(definition));
}

/** By projection. Releases with the same tables share a generation and its leader. */
export const leaderLocksOf = (readModels: readonly ReadModel[]): ReadonlyMap<string, string> =>
  new Map(readModels.map((model) => [model.name, `${model.name} ${definitionOf(model)}`]));

function tableStatement(schema: string, table: ReadModelTable, isBuilding: boolean): string {
  const columns = Object.entries(table.columns).map(([name, type]) => `${quoted(name)} ${type}`);
  const parts = [...columns, primaryKeyOf(table)];
  // Rows are rewritten as a whole; free space in the page lets Postgres keep those that change no
  // indexed column in place (HOT).
  return `create ${isBuilding ? 'unlogged ' : ''}table ${placeOf(schema, table)} (${parts.join(', ')}) with (fillfactor = 85)`;
}

/** The SQL name of a table. */
export const placeOf = (schema: string, table: ReadModelTable): string =>
  `${quoted(schema)}.${quoted(table.name)}`;

/** `primary key ("account_ref")` */
export function primaryKeyOf(table: ReadModelTable): string {
  return `primary key (${table.primaryKey.map(quoted).join(', ')})`;
}

/** Lets indexes use extensions, whose schemas may be on no search path. */
async function findExtensions(client: PoolClient): Promise<void> {
  await client.query(
    `select set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(n.nspname)), true)
     from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'`,
  );
}

/** The statements for the secondary indexes of a table. */
export function indexStatements(
  schema: string,
  table: ReadModelTable,
  isNeeded: (definition: string) => boolean = () => true,
): string[] {
  return Object.entries(table.indexes).flatMap(([suffix, { definition }]) =>
    isNeeded(definition)
      ? `create index if not exists ${quoted(`${table.name}_${suffix}`)} on ${placeOf(schema, table)} ${definition}`
      : [],
  );
}
