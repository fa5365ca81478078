import type { Pool } from 'pg';
import { ping } from '../postgres/database.js';
import { postgresPolicyCheckpoints } from './policy-checkpoint.js';
import { PostgresParkedReactions, type ParkedReactions } from './postgres-parked-reactions.js';

export const postgresPolicyStores = (pool: Pool) => ({
  checkpoints: postgresPolicyCheckpoints(pool),
  parked: new PostgresParkedReactions(pool) as ParkedReactions,
  /** Resolves when the stores answer within this time. */
  answer: (withinMs: number): Promise<unknown> => ping(pool, withinMs),
});

export type PolicyStores = ReturnType<typeof postgresPolicyStores>;
