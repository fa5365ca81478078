import type { Pool } from 'pg';
import type { Mode } from '../../domain/scope.js';
import { epochMs, fetchRow, fetchRows, now, run, tables } from '../../postgres/statements.js';

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

export type ProjectionHistoryEntry = Awaited<ReturnType<typeof projectionHistory>>[number];

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
    tables
      .updateTable(TABLE)
      .set({ outcome: 'crashed', finished_at: now })
      .where('outcome', '=', 'running'),
  );
  const ids: string[] = [];
  for (const { action, projection, actor, tenant, mode, accountRef } of operations) {
    const row = await fetchRow(
      pool,
      tables
        .insertInto(TABLE)
        .values({ action, projection, actor, tenant, mode, account_ref: accountRef })
        .returning('id'),
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
    tables
      .updateTable(TABLE)
      .set({
        outcome,
        generation: generation ?? null,
        previous: previous ?? null,
        details: JSON.stringify(details),
        finished_at: now,
      })
      .where('id', '=', BigInt(id))
      .where('outcome', '=', 'running'),
  );
}

/**
 * Newest first. An operation recorded as running has crashed unless its process still holds the
 * lock on generations. Times are epoch milliseconds; `details` are its figures, or `error`.
 */
export function projectionHistory(pool: Pool, limit: number) {
  return fetchRows(
    pool,
    tables
      .selectFrom(TABLE)
      .select((eb) => [
        eb.cast<number>('id', 'float8').as('id'),
        'action',
        'projection',
        'generation',
        'previous',
        'tenant',
        'mode',
        'account_ref as accountRef',
        'actor',
        'outcome',
        'details',
        epochMs(eb.ref('started_at')).as('startedAt'),
        epochMs(eb.ref('finished_at')).as('finishedAt'),
      ])
      .orderBy(`${TABLE}.id`, 'desc')
      .limit(limit),
  );
}

const TABLE = 'ledger.projection_history';
