import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { fetchRow, fetchRows, now, run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { quoted, schemaOf } from '../identifiers.js';
import type { Projector, ReadModelTable } from '../projector.js';

/**
 * A generation is one build of a projection: a schema with its tables, and a checkpoint. Exactly
 * one is live; queries read that one. A row in `ledger.projection_generations` has its state.
 * `building`: not complete, or left by a crash; `ready`: complete, kept to become live; `retired`:
 * was live, kept for going back.
 */
export type GenerationState = 'live' | 'building' | 'ready' | 'retired';

// An advisory lock key, unique in this database: processes that start together create the tables
// one after the other.
const CREATION_LOCK = 7_202_501;

const TABLE = 'ledger.projection_generations';
const LIVE = tables.selectFrom(TABLE).select('projection').where('state', '=', 'live');
const WHAT_IS_SHOWN = LIVE.select((eb) => [
  'generation',
  eb.selectFrom('ledger.followed_log').select('rebuilt').as('complete'),
  eb.selectFrom('ledger.followed_log').select('shown').as('shown'),
]);

/**
 * Creates generation 1, empty and live, of each projection without a live generation. Safe when
 * several processes start together.
 */
export async function ensureLiveGenerations(
  pool: Pool,
  projectors: readonly Projector[],
): Promise<void> {
  if ((await withoutLiveGeneration(pool, projectors)).length === 0) return;
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [CREATION_LOCK]);
    for (const projector of await withoutLiveGeneration(client, projectors))
      await createGeneration(client, projector, 1, 'live');
  });
}

/**
 * Replaces each live generation whose tables are not those of this release, or are missing (a
 * backup may omit read models), by an empty one: its rows could neither be read nor written. Until
 * they have caught up the API answers 503, as recorded in `ledger.followed_log`. Processes of the
 * previous release must be stopped; their generation is kept. Safe when several processes start
 * together. @returns the names.
 */
export async function renewOutdatedGenerations(
  pool: Pool,
  projectors: readonly Projector[],
): Promise<readonly string[]> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [CREATION_LOCK]);
    const rows = await fetchRows(client, LIVE.select(['generation', 'definition']));
    const { rows: found } = await client.query<{ name: string }>(
      'select nspname as name from pg_namespace',
    );
    const schemas = new Set(found.map(({ name }) => name));
    const outdated = projectors.filter((projector) => {
      const live = rows.find(({ projection }) => projection === projector.name);
      if (live === undefined) return false;
      return (
        live.definition !== definitionOf(projector) ||
        !schemas.has(schemaOf(projector.name, live.generation))
      );
    });
    for (const projector of outdated) await replaceLiveGeneration(client, projector);
    if (outdated.length > 0)
      await run(client, tables.updateTable('ledger.followed_log').set({ rebuilt: false }));
    return outdated.map(({ name }) => name);
  });
}

/**
 * Retires the live generation and makes a new, empty one live, within the caller's transaction. The
 * old one is kept.
 */
export async function replaceLiveGeneration(
  client: PoolClient,
  projector: Projector,
): Promise<void> {
  const next = await nextGeneration(client, projector.name);
  await run(
    client,
    tables
      .updateTable(TABLE)
      .set({ state: 'retired', retired_at: now })
      .where('projection', '=', projector.name)
      .where('state', '=', 'live'),
  );
  await createGeneration(client, projector, next, 'live');
}

/** One more than the highest number ever used: the history names deleted generations. */
export async function nextGeneration(client: PoolClient, projection: string): Promise<number> {
  const usedIn = (table: typeof TABLE | 'ledger.projection_history') =>
    tables
      .selectFrom(table)
      .select((eb) => eb.fn.max<number | null>('generation').as('used'))
      .where('projection', '=', projection);
  const present = await fetchRow(client, usedIn(TABLE));
  const recorded = await fetchRow(client, usedIn('ledger.projection_history'));
  return 1 + Math.max(present?.used ?? 0, recorded?.used ?? 0);
}

/**
 * A digest of a projection's declared tables. Every installation whose live generation has another
 * one rebuilds it, and answers 503 until then: only members that make the tables count.
 */
export function definitionOf(projector: Projector): string {
  const declared = projector.tables.map(({ name, columns, primaryKey, indexes }) => ({
    name,
    columns,
    primaryKey,
    indexes,
  }));
  return createHash('sha256').update(JSON.stringify(declared)).digest('hex');
}

async function withoutLiveGeneration(
  db: Pool | PoolClient,
  projectors: readonly Projector[],
): Promise<Projector[]> {
  const live = new Set((await fetchRows(db, LIVE)).map((row) => row.projection));
  return projectors.filter((projector) => !live.has(projector.name));
}

/**
 * Creates the schema, tables, indexes and checkpoint of a generation, within the caller's
 * transaction.
 */
export async function createGeneration(
  client: PoolClient,
  projector: Projector,
  generation: number,
  state: GenerationState,
): Promise<void> {
  await createTables(client, projector, generation);
  await findExtensions(client);
  for (const table of projector.tables)
    for (const statement of indexStatements(schemaOf(projector.name, generation), table))
      await client.query(statement);
  await recordGeneration(client, projector, generation, state);
}

/**
 * Creates the schema and its tables, without their indexes. @param withKeys false: without the
 * primary keys, too.
 */
export async function createTables(
  client: PoolClient,
  projector: Projector,
  generation: number,
  withKeys = true,
): Promise<void> {
  const schema = schemaOf(projector.name, generation);
  await client.query(`create schema ${quoted(schema)}`);
  for (const table of projector.tables) await client.query(tableStatement(schema, table, withKeys));
}

/** Creates the records of an empty generation. */
export async function recordGeneration(
  client: PoolClient,
  projector: Projector,
  generation: number,
  state: GenerationState,
): Promise<void> {
  const key = { projection: projector.name, generation };
  const record = { ...key, state, definition: definitionOf(projector) };
  await run(client, tables.insertInto(TABLE).values(record));
  await run(client, tables.insertInto('ledger.projection_checkpoints').values(key));
}

function tableStatement(schema: string, table: ReadModelTable, withKey: boolean): string {
  const columns = Object.entries(table.columns).map(([name, type]) => `${quoted(name)} ${type}`);
  const parts = withKey ? [...columns, primaryKeyOf(table)] : columns;
  // Rows are rewritten as a whole; free space in the page lets Postgres keep those that change no
  // indexed column in place (HOT).
  return `create table ${quoted(schema)}.${quoted(table.name)} (${parts.join(', ')}) with (fillfactor = 85)`;
}

/** `primary key ("account_ref")` */
export function primaryKeyOf(table: ReadModelTable): string {
  return `primary key (${table.primaryKey.map(quoted).join(', ')})`;
}

/**
 * Lets indexes name what extensions provide, until the end of the transaction: their schemas may be
 * on no search path.
 */
export async function findExtensions(client: PoolClient): Promise<void> {
  await client.query(
    `select set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(n.nspname)), true)
     from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'`,
  );
}

/** The statements for the secondary indexes of a table. */
export function indexStatements(schema: string, table: ReadModelTable): string[] {
  return Object.entries(table.indexes).map(
    ([suffix, { definition, unique }]) =>
      `create ${unique ? 'unique ' : ''}index ${quoted(`${table.name}_${suffix}`)} on ${quoted(schema)}.${quoted(table.name)} ${definition}`,
  );
}

/**
 * The read models do not exist yet, or are being built from another log; their answers would be
 * incomplete.
 */
export class ReadModelsIncomplete extends Error {
  override readonly name = 'ReadModelsIncomplete';
}

/**
 * The live generations, for queries and for the runner. Cached for at most `maxAgeMs`: a switch of
 * generations changes one row, and every process follows it within that time (the previous
 * generation is kept, so a read in between finds its tables).
 */
export class LiveGenerations {
  private live = new Map<string, number>();
  private complete = true;
  private shown = true;
  /** The epoch of the log whose read models are not settled yet. */
  private unsettled: number | undefined;
  private readAt = -Infinity;
  private reading: Promise<void> | undefined;
  private upcoming: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly options: { readonly maxAgeMs?: number } = {},
  ) {}

  /** The generation that a query reads, and its schema. @throws {ReadModelsIncomplete} */
  async liveGeneration(
    projection: string,
  ): Promise<{ readonly generation: number; readonly schema: string }> {
    if (this.isOutdated) await (this.reading ?? this.refresh());
    if (!this.complete)
      throw new ReadModelsIncomplete('the read models are being built from another log');
    if (!this.areShown)
      throw new ReadModelsIncomplete(
        'the read models are being put right after the log lost its end',
      );
    const generation = this.live.get(projection);
    if (generation === undefined)
      throw new ReadModelsIncomplete(`projection ${projection} has no live generation yet`);
    return { generation, schema: schemaOf(projection, generation) };
  }

  /**
   * Reads the rows again. Returns what was committed before the call: a read in flight may have
   * begun earlier, so the callers that arrive during it share the next one.
   */
  refresh(): Promise<void> {
    this.upcoming ??= Promise.resolve(this.reading?.catch(() => undefined)).then(() => {
      this.upcoming = undefined;
      this.reading = this.read().finally(() => (this.reading = undefined));
      return this.reading;
    });
    return this.upcoming;
  }

  /**
   * False while the read models are rebuilt from another log; as last read, with another read soon.
   * Does not wait.
   */
  get areComplete(): boolean {
    // A failed read is repeated by the next caller; reads that matter call it themselves.
    if (this.isOutdated && !this.reading) this.refresh().catch(() => undefined);
    return this.complete;
  }

  /**
   * As last read: also false while they are rebuilt after a loss of the log's end. Other work
   * continues meanwhile.
   */
  get areShown(): boolean {
    return this.complete && this.shown && this.unsettled === undefined;
  }

  /**
   * The log lost its end, and the read models may include lost events: they are not read until
   * `resume`.
   */
  suspend(epoch: number): void {
    this.unsettled = epoch;
  }

  /** The read models are settled for the log of that epoch. */
  resume(epoch: number): void {
    if (this.unsettled !== undefined && this.unsettled <= epoch) this.unsettled = undefined;
  }

  private get isOutdated(): boolean {
    return performance.now() - this.readAt > (this.options.maxAgeMs ?? 1_000);
  }

  /** The live generation as last read. */
  generationOf(projection: string): number | undefined {
    return this.live.get(projection);
  }

  private async read(): Promise<void> {
    const asked = performance.now();
    // In one statement: a reader of another log's new, empty generations must also read that they
    // are not complete.
    const rows = await fetchRows(this.pool, WHAT_IS_SHOWN);
    this.live = new Map(rows.map(({ projection, generation }) => [projection, generation]));
    // Without a followed log nothing is rebuilt.
    this.complete = rows.every(({ complete }) => complete ?? true);
    this.shown = rows.every(({ shown }) => shown ?? true);
    this.readAt = asked;
  }
}
