import type { Pool, PoolClient } from 'pg';
import { compiledOnce, fetchRows, type Given } from '../../postgres/statements.js';
import { schemaOf } from '../identifiers.js';
import {
  FOLLOWED,
  isFollowedWith,
  namedTablesOf,
  type NamedTables,
  type ReadModel,
} from './generations.js';

const WHAT_IS_SHOWN = compiledOnce('projection_generations.shown', (given: Given<NamedTables>) =>
  FOLLOWED.where(isFollowedWith(given)).select((eb) => [
    'g.complete',
    eb.selectFrom('ledger.followed_log').select('rebuilt').as('rebuilt'),
  ]),
);

/** The read models are missing or incomplete: answers would be incomplete. */
export class ReadModelsIncomplete extends Error {
  override readonly name = 'ReadModelsIncomplete';
}

/** The generations that the release with these tables follows, and whether they may be shown. */
export interface FollowedGenerations {
  /** By projection. */
  readonly live: ReadonlyMap<string, number>;
  /** False while the confirmed release's are built from another log: nothing is answered. */
  readonly complete: boolean;
  /** False while some are built, for this release or after a loss: nothing is read. */
  readonly shown: boolean;
}

/** In one statement: generations and their completeness must match. */
export async function followedGenerations(
  db: Pool | PoolClient,
  readModels: readonly ReadModel[],
): Promise<FollowedGenerations> {
  const rows = await fetchRows(db, WHAT_IS_SHOWN(namedTablesOf(readModels)));
  // `rebuilt` is about the confirmed release's.
  const areLive = rows.every(({ state }) => state === 'live');
  return {
    live: new Map(rows.map(({ projection, generation }) => [projection, generation])),
    // Without a followed log nothing is rebuilt.
    complete: !areLive || rows.every(({ rebuilt }) => rebuilt ?? true),
    shown: rows.every(({ complete }) => complete),
  };
}

const MAX_AGE_MS = 1_000;

/**
 * The generations that this release follows, cached for at most `MAX_AGE_MS`. A switch changes one
 * row, which every process follows within that time; the previous generation is kept, so a read in
 * between finds its tables.
 */
export class LiveGenerations {
  private live: ReadonlyMap<string, number> = new Map();
  private complete = true;
  private shown = true;
  /** The epoch of the log whose read models are not settled yet. */
  private unsettled: number | undefined;
  private readAt = -Infinity;
  private reading: Promise<void> | undefined;
  private upcoming: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly readModels: readonly ReadModel[],
  ) {}

  /** The generation that a query reads, and its schema. @throws {ReadModelsIncomplete} */
  async liveGeneration(
    projection: string,
  ): Promise<{ readonly generation: number; readonly schema: string }> {
    if (this.isOutdated) await (this.reading ?? this.refresh());
    if (!this.complete)
      throw new ReadModelsIncomplete('the read models are being built from another log');
    if (!this.areShown) throw new ReadModelsIncomplete('the read models are being built');
    const generation = this.live.get(projection);
    if (generation === undefined)
      throw new ReadModelsIncomplete(`projection ${projection} has no live generation yet`);
    return { generation, schema: schemaOf(projection, generation) };
  }

  /** A running read may have begun before the call: callers share the next one. */
  refresh(): Promise<void> {
    this.upcoming ??= Promise.resolve(this.reading?.catch(() => undefined)).then(() => {
      this.upcoming = undefined;
      this.reading = this.read().finally(() => (this.reading = undefined));
      return this.reading;
    });
    return this.upcoming;
  }

  /** As last read; false while they are rebuilt from another log. Reads again in background. */
  get areComplete(): boolean {
    // The next caller repeats a failed read; reads that matter await `refresh`.
    if (this.isOutdated && !this.reading) this.refresh().catch(() => undefined);
    return this.complete;
  }

  /** As last read; false also while they are built for this release or after a loss. */
  get areShown(): boolean {
    return this.complete && this.shown && this.unsettled === undefined;
  }

  /** The log lost its end: nothing is read until `resume`. */
  suspend(epoch: number): void {
    this.unsettled = epoch;
  }

  /** The read models are settled for the log of that epoch. */
  resume(epoch: number): void {
    if (this.unsettled !== undefined && this.unsettled <= epoch) this.unsettled = undefined;
  }

  private get isOutdated(): boolean {
    return performance.now() - this.readAt > MAX_AGE_MS;
  }

  /** The live generation as last read. */
  generationOf(projection: string): number | undefined {
    return this.live.get(projection);
  }

  private async read(): Promise<void> {
    const asked = performance.now();
    const { live, complete, shown } = await followedGenerations(this.pool, this.readModels);
    this.live = live;
    this.complete = complete;
    this.shown = shown;
    this.readAt = asked;
  }
}
