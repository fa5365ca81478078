import { sql } from 'kysely';
import type { Pool } from 'pg';
import { fetchRow } from '../postgres/statements.js';

/** The jobs of all processes. Each count ends at `COUNTED_MAX`. */
export interface QueueDepth {
  /** Could run now. */
  readonly due: number;
  readonly running: number;
  /** Failed as often as they may: none of them runs again by itself. */
  readonly givenUp: number;
  /** How long the oldest due one has waited; 0 without any. */
  readonly oldestDueSeconds: number;
}

/** A queue that is deeper needs an operator, however much deeper. */
const COUNTED_MAX = 10_000;

/**
 * Raw SQL: the tables are the library's. Due jobs are read by its index, whose first column is the
 * priority, 0 for all of ours: most jobs are of the far future. @throws while the database is
 * unavailable.
 */
export async function queueDepth(pool: Pick<Pool, 'query'>): Promise<QueueDepth> {
  const row = await fetchRow(
    pool,
    sql<Record<'due' | 'running' | 'given_up' | 'oldest_seconds', number>>`
      select due.count::int as due, running.count::int as running, dead.count::int as given_up,
             coalesce(extract(epoch from now() - due.oldest), 0)::float8 as oldest_seconds
      from (select count(*) as count, min(run_at) as oldest
            from (select run_at from graphile_worker._private_jobs
                  where is_available and priority = 0 and run_at <= now()
                  order by run_at limit ${COUNTED_MAX}) as waiting) as due,
           (select count(*) as count
            from (select from graphile_worker._private_jobs
                  where locked_at is not null limit ${COUNTED_MAX}) as locked) as running,
           (select count(*) as count
            from (select from graphile_worker._private_jobs
                  where locked_at is null and attempts >= max_attempts
                  limit ${COUNTED_MAX}) as failed) as dead`,
  );
  if (row === undefined) throw new Error('a count without a row');
  const { due, running, given_up: givenUp, oldest_seconds: oldestDueSeconds } = row;
  return { due, running, givenUp, oldestDueSeconds };
}
