import type { Pool } from 'pg';
import type { Mode } from '../../domain/scope.js';

export type ProjectionAction = 'rebuild' | 'repair' | 'swap' | 'rollback' | 'retry-parked';
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
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly outcome: ProjectionOutcome;
  /** Its figures; for a failure, `error`. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** The outcome of an operation on one projection. */
export interface OperationEnd {
  readonly outcome: Exclude<ProjectionOutcome, 'running' | 'crashed'>;
  readonly generation?: number;
  readonly previous?: number;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Records operations at their beginning. The caller holds the lock on generations: other operations
 * recorded as running have crashed.
 */
export async function recordBegun(
  pool: Pool,
  operations: readonly ProjectionOperation[],
): Promise<readonly string[]> {
  await pool.query(
    `update ledger.projection_history set outcome = 'crashed', finished_at = now() where outcome = 'running'`,
  );
  const ids: string[] = [];
  for (const { action, projection, actor, tenant, mode, accountRef } of operations) {
    const { rows } = await pool.query<{ id: string }>(
      `insert into ledger.projection_history (action, projection, actor, tenant, mode, account_ref)
       values ($1, $2, $3, $4, $5, $6) returning id::text as id`,
      [action, projection, actor, tenant ?? null, mode ?? null, accountRef ?? null],
    );
    ids.push(rows[0]?.id ?? '');
  }
  return ids;
}

export async function recordEnd(
  pool: Pool,
  id: string,
  { outcome, generation, previous, details }: OperationEnd,
): Promise<void> {
  await pool.query(
    `update ledger.projection_history set outcome = $2, generation = $3, previous = $4, details = $5, finished_at = now()
     where id = $1::bigint and outcome = 'running'`,
    [id, outcome, generation ?? null, previous ?? null, JSON.stringify(details)],
  );
}

/**
 * Newest operations first. One recorded as running has crashed unless its process still holds the
 * lock on generations.
 */
export async function projectionHistory(
  pool: Pool,
  limit: number,
): Promise<ProjectionHistoryEntry[]> {
  const { rows } = await pool.query<ProjectionHistoryEntry>(
    `select id::float8 as id, action, projection, generation, previous, tenant, mode, account_ref as "accountRef", actor, outcome, details,
       (extract(epoch from started_at) * 1000)::float8 as "startedAt", (extract(epoch from finished_at) * 1000)::float8 as "finishedAt"
     from ledger.projection_history order by projection_history.id desc limit $1`,
    [limit],
  );
  return rows;
}
