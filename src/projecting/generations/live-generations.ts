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

/**
 * The read models do not exist yet, or are being built, for this release or from another log; their
 * answers would be incomplete.
 */
export class ReadModelsIncomplete extends Error {
  override readonly name = 'ReadModelsIncomplete';
}

/** The generations that the release with these tables follows, and whether they may be shown. */
export interface FollowedGenerations {
  /** By projection. */
  readonly live: ReadonlyMap<string, number>;
  /** False while the confirmed release's are built from another log, and nothing is answered. */
  readonly complete: boolean;
  /** False while some are built, for this release or after a loss, and nothing is read. */
  readonly shown: boolean;
}

/**
 * In one statement: a reader of another log's new, empty generations must also read that they are
 * not complete.
 */
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
 * The generations that this release follows, for queries and for the runner. Cached for at most
 * `MAX_AGE_MS`: a switch of generations changes one row, and every process follows it within that
 * time (the previous generation is kept, so a read in between finds its tables).
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
   * As last read: also false while they are built for this release, or rebuilt after a loss of the
   * log's end. Other work continues meanwhile.
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
