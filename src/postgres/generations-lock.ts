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

/** True when this connection has the right to change generations from now on, until it ends. */
export async function tryGenerationsLock(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    'select pg_try_advisory_lock($1) as locked',
    [LOCKS['change generations']],
  );
  return rows[0]?.locked ?? false;
}

/**
 * Does the work as the only one that changes which generations exist and which are live. The lock
 * ends with its connection, for any reason; `lost` aborts then, and every query on `client` fails.
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
    // Unlocked here and not by the end of the connection, which takes a moment: the next command
    // may follow immediately.
    await client.query('select pg_advisory_unlock_all()').catch(() => undefined);
    client.release(true);
  }
}
