import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../postgres/transaction.js';
import { quoted, schemaOf } from '../identifiers.js';
import type { Projector, ReadModelTable } from '../projector.js';

/**
 * A generation is one build of a projection: a schema with its tables, and a checkpoint. Exactly
 * one is live; queries read that one. A row in `ledger.projection_generations` says which.
 * `building`: not complete yet, or left so by a crash; `ready`: complete, and kept for becoming
 * live; `retired`: was live, and is kept for going back.
 */
export type GenerationState = 'live' | 'building' | 'ready' | 'retired';

// Any number that nothing else in this database takes: processes that start at once make the tables
// one after the other.
const CREATION_LOCK = 7_202_501;

/**
 * Makes generation 1, empty and live, of each projection that has no live generation. Safe when
 * several processes start at once.
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
 * Puts an empty generation in the place of each live one whose tables are not those of this
 * release, or are not there (a backup may leave read models out): its rows could neither be read
 * nor written. Until they have caught up the API answers 503, which is said in
 * `ledger.followed_log`. Processes of the release before have to be stopped; the generation that
 * they wrote is kept. Safe when several processes start at once. @returns the names.
 */
export async function renewOutdatedGenerations(
  pool: Pool,
  projectors: readonly Projector[],
): Promise<readonly string[]> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [CREATION_LOCK]);
    const { rows } = await client.query<{
      projection: string;
      generation: number;
      definition: string | null;
    }>(
      `select projection, generation, definition from ledger.projection_generations where state = 'live'`,
    );
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
    if (outdated.length > 0) await client.query('update ledger.followed_log set rebuilt = false');
    return outdated.map(({ name }) => name);
  });
}

/**
 * Retires the live generation and makes the next one, empty, live, within the caller's transaction.
 * The old one is kept.
 */
export async function replaceLiveGeneration(
  client: PoolClient,
  projector: Projector,
): Promise<void> {
  const next = await nextGeneration(client, projector.name);
  await client.query(
    `update ledger.projection_generations set state = 'retired', retired_at = now() where projection = $1 and state = 'live'`,
    [projector.name],
  );
  await createGeneration(client, projector, next, 'live');
}

/**
 * The number after the highest one that there is or was: history names generations that are gone.
 */
export async function nextGeneration(client: PoolClient, projection: string): Promise<number> {
  const { rows } = await client.query<{ next: number }>(
    `select 1 + greatest(
       (select coalesce(max(generation), 0) from ledger.projection_generations where projection = $1),
       (select coalesce(max(generation), 0) from ledger.projection_history where projection = $1)) as next`,
    [projection],
  );
  return rows[0]?.next ?? 1;
}

/** A digest of a projection's tables, as they are declared. */
export function definitionOf({ tables }: Projector): string {
  return createHash('sha256').update(JSON.stringify(tables)).digest('hex');
}

async function withoutLiveGeneration(
  db: Pool | PoolClient,
  projectors: readonly Projector[],
): Promise<Projector[]> {
  const { rows } = await db.query<{ projection: string }>(
    `select projection from ledger.projection_generations where state = 'live'`,
  );
  const live = new Set(rows.map((row) => row.projection));
  return projectors.filter((projector) => !live.has(projector.name));
}

/**
 * Makes the schema, tables, indexes and checkpoint of a generation, within the caller's
 * transaction.
 */
export async function createGeneration(
  client: PoolClient,
  projector: Projector,
  generation: number,
  state: GenerationState,
): Promise<void> {
  await createTables(client, projector, generation);
  for (const table of projector.tables)
    for (const statement of indexStatements(schemaOf(projector.name, generation), table))
      await client.query(statement);
  await recordGeneration(client, projector, generation, state);
}

/**
 * Makes the schema and its tables, without their indexes. @param withKeys false: without the
 * primary keys, too.
 */
export async function createTables(
  client: PoolClient,
  { name, tables }: Projector,
  generation: number,
  withKeys = true,
): Promise<void> {
  const schema = schemaOf(name, generation);
  await client.query(`create schema ${quoted(schema)}`);
  for (const table of tables) await client.query(tableStatement(schema, table, withKeys));
}

/** Makes the rows that say that there is a generation, which holds nothing yet. */
export async function recordGeneration(
  client: PoolClient,
  projector: Projector,
  generation: number,
  state: GenerationState,
): Promise<void> {
  const key = [projector.name, generation];
  await client.query(
    'insert into ledger.projection_generations (projection, generation, state, definition) values ($1, $2, $3, $4)',
    [...key, state, definitionOf(projector)],
  );
  await client.query(
    'insert into ledger.projection_checkpoints (projection, generation) values ($1, $2)',
    key,
  );
}

function tableStatement(schema: string, table: ReadModelTable, withKey: boolean): string {
  const columns = Object.entries(table.columns).map(([name, type]) => `${quoted(name)} ${type}`);
  const parts = withKey ? [...columns, primaryKeyOf(table)] : columns;
  // Rows are rewritten as a whole; room in the page lets Postgres keep those that change no indexed
  // column in place (HOT).
  return `create table ${quoted(schema)}.${quoted(table.name)} (${parts.join(', ')}) with (fillfactor = 85)`;
}

/** `primary key ("account_ref")` */
export function primaryKeyOf(table: ReadModelTable): string {
  return `primary key (${table.primaryKey.map(quoted).join(', ')})`;
}

/** The statements that make the secondary indexes of a table which has none yet. */
export function indexStatements(schema: string, table: ReadModelTable): string[] {
  return Object.entries(table.indexes).map(
    ([suffix, { definition, unique }]) =>
      `create ${unique ? 'unique ' : ''}index ${quoted(`${table.name}_${suffix}`)} on ${quoted(schema)}.${quoted(table.name)} ${definition}`,
  );
}

/**
 * The read models are not made yet, or are being built from another log; they would answer with
 * less than the ledger holds.
 */
export class ReadModelsIncomplete extends Error {
  override readonly name = 'ReadModelsIncomplete';
}

/**
 * Which generation is live, for queries and for the runner. Cached for at most `maxAgeMs`: a swap
 * of generations is one row, and every process follows it within that time (the generation before
 * is kept, so a read in between finds its tables).
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
   * Reads the rows anew. Returns what was committed before the call: a read in flight may have
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
   * False while the read models are built anew from another log; as last read, which is done again
   * soon. Does not wait.
   */
  get areComplete(): boolean {
    // A database that is away is asked again; a read that matters asks for itself.
    if (this.isOutdated && !this.reading) this.refresh().catch(() => undefined);
    return this.complete;
  }

  /**
   * As last read: false also while they are made anew since the log lost its end. What does not
   * rest on them goes on meanwhile.
   */
  get areShown(): boolean {
    return this.complete && this.shown && this.unsettled === undefined;
  }

  /**
   * The log lost its end, and what the read models show may be gone with it: they are not read
   * until `resume`.
   */
  suspend(epoch: number): void {
    this.unsettled = epoch;
  }

  /** What they show of the log of that epoch is settled. */
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
    // In one statement: whoever learns of the new, empty generations of another log learns with
    // them that they are not complete.
    const { rows } = await this.pool.query<{
      projection: string;
      generation: number;
      complete: boolean;
      shown: boolean;
    }>(
      `select projection, generation, coalesce((select rebuilt from ledger.followed_log), true) as complete,
         coalesce((select shown from ledger.followed_log), true) as shown
       from ledger.projection_generations where state = 'live'`,
    );
    this.live = new Map(rows.map(({ projection, generation }) => [projection, generation]));
    this.complete = rows.every(({ complete }) => complete);
    this.shown = rows.every(({ shown }) => shown);
    this.readAt = asked;
  }
}
