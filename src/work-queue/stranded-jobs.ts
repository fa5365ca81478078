import { sql, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import { ProcessPresence } from '../postgres/process-presence.js';
import { anyOf, fetchRows, run } from '../postgres/statements.js';

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
const isGone = (presenceId: number): RawBuilder<boolean> => sql`
  case when locked_by ~ '^process-[0-9]{1,10}$' then ${ProcessPresence.isGone(sql`substr(locked_by, 9)`)}
       else not ${ProcessPresence.isAnyOtherRunning(presenceId)} end`;

/**
 * Finds locked jobs without a worker: of a dead process, or fetched by a statement whose answer was
 * lost. The library would leave them for four hours. Raw SQL: the tables are the library's.
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
    const rows = await fetchRows(
      this.pool,
      sql<{ id: string }>`select id from graphile_worker.jobs where locked_by = ${this.mine}`,
    );
    const stranded = this.strandedAmong(rows.map(({ id }) => id)) ?? [];
    if (stranded.length === 0) return;
    // As the library does it after its four hours; its functions unlock all jobs of a worker only.
    await run(
      this.pool,
      sql`update graphile_worker._private_jobs
          set locked_at = null, locked_by = null, run_at = greatest(run_at, now())
          where id = ${anyOf(stranded)} and locked_by = ${this.mine}`,
    );
  }

  private async unlockOfTheDead(now: number): Promise<void> {
    const rows = await fetchRows(
      this.pool,
      sql<{ worker: string }>`
        with workers as materialized (
          select distinct locked_by from graphile_worker.jobs where locked_by <> ${this.mine})
        select locked_by as worker from workers where ${isGone(this.presenceId)}`,
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
      await run(this.pool, sql`select graphile_worker.force_unlock_workers(${gone}::text[])`);
  }
}
