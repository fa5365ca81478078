import type { Pool, PoolClient } from 'pg';
import { LOCKS } from './locks.js';

/** Another process builds, switches or repairs read models at present. */
export class GenerationsBusy extends Error {
  override readonly name = 'GenerationsBusy';
  constructor() {
    super(
      'another rebuild, swap, repair or scrub is running: wait until it has ended (`projection history` says whose it is)',
    );
  }
}

/** True: this connection may change generations until it ends. */
export async function tryGenerationsLock(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    'select pg_try_advisory_lock($1) as locked',
    [LOCKS['change generations']],
  );
  return rows[0]?.locked ?? false;
}

/** Unlocks first: the end of a connection takes a moment, and the next command may follow. */
export async function endWithLocks(client: PoolClient): Promise<void> {
  await client.query('select pg_advisory_unlock_all()').catch(() => undefined);
  client.release(true);
}

/**
 * Runs the work as the only one that changes generations. The lock ends with its connection; `lost`
 * aborts then, and every query on `client` fails.
 * @throws {GenerationsBusy}
 */
export async function withGenerationsLock<T>(
  pool: Pool,
  work: (client: PoolClient, lost: AbortSignal) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  try {
    if (!(await tryGenerationsLock(client))) throw new GenerationsBusy();
    return await work(client, lost.signal);
  } finally {
    await endWithLocks(client);
  }
}
