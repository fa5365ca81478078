import { sql } from 'kysely';
import type { Pool } from 'pg';
import { run, tables } from '../postgres/statements.js';

/** Deletes answers older than seven days, the promised time. @returns how many. */
export function purgeAnswers(pool: Pool, olderThanDays = 8): Promise<number> {
  return run(
    pool,
    tables
      .deleteFrom('ledger.idempotency_keys')
      .where('created_at', '<', sql<Date>`now() - make_interval(days => ${olderThanDays})`),
  );
}
