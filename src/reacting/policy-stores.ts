import type { Pool } from 'pg';
import { ping } from '../postgres/database.js';
import type { ParkedReactions } from './parked-reactions.js';
import { postgresPolicyCheckpoints, type PolicyCheckpoints } from './policy-checkpoint.js';
import { PostgresParkedReactions } from './postgres-parked-reactions.js';

/** What the policies store. */
export interface PolicyStores {
  readonly checkpoints: PolicyCheckpoints;
  readonly parked: ParkedReactions;
  /** Resolves when the stores answer within this time. */
  answer(withinMs: number): Promise<unknown>;
}

export const postgresPolicyStores = (pool: Pool): PolicyStores => ({
  checkpoints: postgresPolicyCheckpoints(pool),
  parked: new PostgresParkedReactions(pool),
  answer: (withinMs) => ping(pool, withinMs),
});
