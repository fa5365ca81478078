import type { Pool } from 'pg';

/** A job that runs once. */
export interface Job {
  readonly task: 'settle-reward' | 'finish-moderation' | 'finish-erasure' | 'repeat-lost-jobs';
  readonly payload: Readonly<Record<string, string>>;
  /** Epoch milliseconds. */
  readonly runAt: number;
  /** Jobs of one key replace each other. */
  readonly key: string;
}

/**
 * Adds a job, or replaces the one with the same key. The queue's tables exist once a service has
 * run.
 */
export async function addJob(
  db: Pick<Pool, 'query'>,
  { task, payload, runAt, key }: Job,
): Promise<void> {
  await db.query(
    'select graphile_worker.add_job($1, payload := $2::json, run_at := to_timestamp($3 / 1000.0), job_key := $4, max_attempts := 25)',
    [task, JSON.stringify(payload), runAt, key],
  );
}

/** Whether the queue has its tables. */
export async function hasQueue(db: Pick<Pool, 'query'>): Promise<boolean> {
  const { rows } = await db.query<{ exists: boolean }>(
    `select to_regclass('graphile_worker._private_jobs') is not null as exists`,
  );
  return rows[0]?.exists === true;
}
