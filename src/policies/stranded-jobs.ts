import type { Pool } from 'pg';
import { ProcessPresence } from '../postgres/process-presence.js';

/** A job is locked under the name of its worker's process. */
export const workerName = (presenceId: number): string => `process-${presenceId}`;

/**
 * A process counts as dead when it was absent for this long: each is absent for a moment after a
 * crash of the database or a lost connection.
 */
const GONE_FOR_MS = 5_000;

/**
 * Whether a worker is dead; a worker of an older release does not name its process, and is dead
 * when no other process is present.
 */
const IS_GONE = `case when locked_by ~ '^process-[0-9]{1,10}$' then ${ProcessPresence.isGone(`substr(locked_by, 9)`)}
                      else not ${ProcessPresence.isAnyOtherRunning('$2')} end`;

/**
 * Finds locked jobs without a worker: of a dead process, or fetched by a statement whose answer was
 * lost. The library would leave them for four hours.
 */
export class StrandedJobs {
  private readonly missedSince = new Map<string, number>();
  private readonly mine: string;

  /**
   * @param strandedAmong of jobs locked by this process, those without a worker; undefined: unknown
   * at the moment.
   */
  constructor(
    private readonly pool: Pool,
    private readonly presenceId: number,
    private readonly strandedAmong: (ids: readonly string[]) => readonly string[] | undefined,
  ) {
    this.mine = workerName(presenceId);
  }

  /** Call it every few seconds. @throws while the database is unavailable. */
  async unlock(now = performance.now()): Promise<void> {
    await this.unlockOwn();
    await this.unlockOfTheDead(now);
  }

  private async unlockOwn(): Promise<void> {
    const { rows } = await this.pool.query<{ id: string }>(
      'select id from graphile_worker.jobs where locked_by = $1',
      [this.mine],
    );
    const stranded = this.strandedAmong(rows.map(({ id }) => id)) ?? [];
    if (stranded.length === 0) return;
    // As the library does it after its four hours; its functions unlock all jobs of a worker only.
    await this.pool.query(
      `update graphile_worker._private_jobs set locked_at = null, locked_by = null, run_at = greatest(run_at, now())
       where id = any($1::bigint[]) and locked_by = $2`,
      [stranded, this.mine],
    );
  }

  private async unlockOfTheDead(now: number): Promise<void> {
    const { rows } = await this.pool.query<{ worker: string }>(
      `with workers as materialized (select distinct locked_by from graphile_worker.jobs where locked_by <> $1)
       select locked_by as worker from workers where ${IS_GONE}`,
      [this.mine, this.presenceId],
    );
    const missed = new Set(rows.map(({ worker }) => worker));
    for (const worker of [...this.missedSince.keys()])
      if (!missed.has(worker)) this.missedSince.delete(worker);
    for (const worker of missed)
      if (!this.missedSince.has(worker)) this.missedSince.set(worker, now);
    const gone = [...missed].filter(
      (worker) => now - (this.missedSince.get(worker) ?? now) >= GONE_FOR_MS,
    );
    if (gone.length > 0)
      await this.pool.query('select graphile_worker.force_unlock_workers($1::text[])', [gone]);
  }
}
