import type { Pool, PoolClient } from 'pg';
import { pause } from '../foundation/pause.js';
import { inTransaction } from './transaction.js';

/** By the work that they serialise. Never changed, since releases run concurrently. */
export const LOCKS = {
  'create generations': 7_202_501n,
  scrub: 7_202_509n,
  /** Rebuilds, swaps, repairs and scrubs exclude each other. */
  'change generations': 7_202_510n,
  'settle a lost log': 7_202_514n,
  /** Shared by the processes that use an embedded Postgres; exclusive for the one that stops it. */
  'use embedded Postgres': 7_203_114n,
  /** An approval, a rejection and a withdrawal of a proposal exclude each other. */
  'end a proposal': 7_202_515n,
  /** Grants of support are added up before each. */
  'grant within limits': 7_202_516n,
  'change master keys': -1_426_729_567n,
  'start operation runs': -1_066_180_052n,
  'provision service role': -906_341_756n,
  migrate: 3_853_314_791_062_309_107n,
} as const;

/** First halves of two-part keys, each with the meaning of its second half. */
export const LOCK_CLASSES = {
  /** Hash of what one process leads: a projection, the policies, the sealing. */
  leader: 720_250,
  /** Id of a process of the service: held while it lives. */
  process: 720_251,
  /** Zero: shared by commands that may append to the log. */
  command: 720_252,
  /** Shared by the processes of a release. */
  release: 720_253,
  /** Hash of a tenant whose waiting exports are counted. */
  'exports of a tenant': 720_256,
} as const;

/** As `withLock`, without waiting: `locked` when another process has the lock. */
export function tryLock<T>(
  pool: Pool,
  lock: keyof typeof LOCKS,
  work: () => Promise<T>,
): Promise<T | 'locked'> {
  return inTransaction(pool, async (client) => {
    const text = 'select pg_try_advisory_xact_lock($1) as locked';
    const { rows } = await client.query<{ locked: boolean }>(text, [LOCKS[lock]]);
    return rows[0]?.locked ? work() : 'locked';
  });
}

/** Repeats `tryLock`: a connection that waits would exhaust the pool. */
export async function whenLockFree<T>(
  pool: Pool,
  lock: keyof typeof LOCKS,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const outcome = await tryLock(pool, lock, work);
    if (outcome !== 'locked') return outcome;
    await pause(20);
  }
}

/** One transaction that waits for the lock and holds it until its end. */
export function withLock<T>(
  pool: Pool,
  lock: keyof typeof LOCKS,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [LOCKS[lock]]);
    return work(client);
  });
}
