import type { Pool, PoolClient } from 'pg';
import type { Position } from '../event-log/event-log.js';
import {
  beginCheckpoint,
  loadCheckpoint,
  moveCheckpoint,
  type CheckpointMove,
} from '../following/checkpoints.js';

/** All policies share one checkpoint, and one lease. */
export const POLICIES_HANDLER = 'policies';

/** Every call throws while the database is unavailable. */
export const postgresPolicyCheckpoints = (pool: Pool) => ({
  /** Undefined: they have not begun. */
  load: () => loadCheckpoint(pool, POLICIES_HANDLER),
  /** Before the first event, unless there is a checkpoint by now. */
  begin: (): Promise<unknown> => beginCheckpoint(pool, POLICIES_HANDLER, null),
  /** @returns the new version. @throws {CheckpointMoved} */
  write: (version: bigint, to: CheckpointMove) =>
    moveCheckpoint(pool, POLICIES_HANDLER, version, to),
});

export type PolicyCheckpoints = ReturnType<typeof postgresPolicyCheckpoints>;

/** Null: none yet. @throws while the database is unavailable. */
export async function readPolicyPosition(db: Pool | PoolClient): Promise<Position | null> {
  return (await loadCheckpoint(db, POLICIES_HANDLER))?.position ?? null;
}
