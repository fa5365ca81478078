import type { Pool } from 'pg';
import { ping } from '../postgres/database.js';
import { AdvisoryLocks, type Locks } from '../postgres/leadership.js';
import type { ParkedReactions } from './parked-reactions.js';
import { PostgresPolicyCheckpoints, type PolicyCheckpoints } from './policy-checkpoint.js';
import { PostgresParkedReactions } from './postgres-parked-reactions.js';

/** What the policies store, and the locks by which one process leads. */
export interface PolicyStores {
  readonly checkpoints: PolicyCheckpoints;
  readonly parked: ParkedReactions;
  readonly locks: Locks;
  /** Resolves when the stores answer within this time. */
  answer(withinMs: number): Promise<unknown>;
}

/** @param pool one of its connections is kept while the policies run: it holds the lock. */
export const postgresPolicyStores = (pool: Pool): PolicyStores => ({
  checkpoints: new PostgresPolicyCheckpoints(pool),
  parked: new PostgresParkedReactions(pool),
  locks: new AdvisoryLocks(pool),
  answer: (withinMs) => ping(pool, withinMs),
});
