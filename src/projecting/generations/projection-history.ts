import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { Mode } from '../../domain/scope.js';
import { epochMs, fetchRow, fetchRows, run } from '../../postgres/statements.js';

export type ProjectionAction = 'rebuild' | 'repair' | 'swap' | 'rollback' | 'retry-parked' | 'skip';
export type ProjectionOutcome = 'running' | 'done' | 'failed' | 'cancelled' | 'crashed';

/** An operation on a projection, finished or running. */
export interface ProjectionOperation {
  readonly action: ProjectionAction;
  readonly projection: string;
  /** The operator's name. */
  readonly actor: string;
  /** The repaired part, if not the whole. */
  readonly tenant?: string;
  readonly mode?: Mode;
  readonly accountRef?: string;
}

/** The outcome of an operation on one projection. */
export interface OperationEnd {
  readonly outcome: Exclude<ProjectionOutcome, 'running' | 'crashed'>;
  readonly generation?: number;
  readonly previous?: number;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The caller holds the lock: other operations recorded as running have crashed. */
export async function recordBegun(
  pool: Pool,
  operations: readonly ProjectionOperation[],
): Promise<readonly string[]> {
  await run(
    pool,
    sql`
      update ledger.projection_history set outcome = 'crashed', finished_at = now()
      where outcome = 'running'`,
  );
  const ids: string[] = [];
  for (const { action, projection, actor, tenant, mode, accountRef } of operations) {
    const row = await fetchRow(
      pool,
      sql<{ id: bigint }>`
        insert into ledger.projection_history
          (action, projection, actor, tenant, mode, account_ref)
        values (${action}, ${projection}, ${actor}, ${tenant ?? null}, ${mode ?? null},
          ${accountRef ?? null})
        returning id`,
    );
    ids.push(String(row?.id ?? ''));
  }
  return ids;
}

export async function recordEnd(
  pool: Pool,
  id: string,
  { outcome, generation, previous, details }: OperationEnd,
): Promise<void> {
  await run(
    pool,
    sql`
      update ledger.projection_history
      set outcome = ${outcome}, generation = ${generation ?? null},
        previous = ${previous ?? null}, details = ${JSON.stringify(details)},
        finished_at = now()
      where id = ${BigInt(id)} and outcome = 'running'`,
  );
}

/** `details` are its figures, or `error`. Times are epoch milliseconds. */
export interface ProjectionHistoryEntry {
  readonly id: number;
  readonly action: ProjectionAction;
  readonly projection: string;
  readonly generation: number | null;
  readonly previous: number | null;
  readonly tenant: string | null;
  readonly mode: Mode | null;
  readonly accountRef: string | null;
  readonly actor: string;
  readonly outcome: ProjectionOutcome;
  readonly details: Readonly<Record<string, unknown>>;
  readonly startedAt: number;
  readonly finishedAt: number | null;
}

/**
 * Newest first. An operation recorded as running has crashed unless its process still holds the
 * lock on generations.
 */
export const projectionHistory = (pool: Pool, limit: number): Promise<ProjectionHistoryEntry[]> =>
  fetchRows(
    pool,
    sql<ProjectionHistoryEntry>`
      select id::float8 as id, action, projection, generation, previous, tenant, mode,
        account_ref as "accountRef", actor, outcome, details,
        ${epochMs(sql<Date>`started_at`)} as "startedAt",
        ${epochMs(sql<Date>`finished_at`)} as "finishedAt"
      from ledger.projection_history order by projection_history.id desc limit ${limit}`,
  );
