import type { Pool } from 'pg';

/** Deletes answers older than seven days, the promised time. @returns how many. */
export async function purgeAnswers(pool: Pool, olderThanDays = 8): Promise<number> {
  const { rowCount } = await pool.query(
    'delete from ledger.idempotency_keys where created_at < now() - make_interval(days => $1)',
    [olderThanDays],
  );
  return rowCount ?? 0;
}
