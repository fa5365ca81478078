import type { Pool, PoolClient } from 'pg';

/**
 * Runs the work in a transaction on its own connection. An error closes the connection, which
 * undoes everything in any state.
 * @throws the errors of the work and of the database.
 */
export function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return begunBy('begin', pool, work);
}

/** Does not wait for the disk: a crash may undo the last second's commits. */
export function inAsynchronousTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return begunBy('begin; set local synchronous_commit = off', pool, work);
}

async function begunBy<T>(
  begin: string,
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** The same on the caller's connection, which can be used after an error. */
export function inTransactionOf<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  return unlessRolledBack(client, work, () => false);
}

/** The same, and rolls back when the work returns undefined. */
export function tryInTransactionOf<T>(
  client: PoolClient,
  work: () => Promise<T | undefined>,
): Promise<T | undefined> {
  return unlessRolledBack(client, work, (result) => result === undefined);
}

async function unlessRolledBack<T>(
  client: PoolClient,
  work: () => Promise<T>,
  isRolledBack: (result: T) => boolean,
): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query(isRolledBack(result) ? 'rollback' : 'commit');
    return result;
  } catch (error) {
    // A closed connection needs no rollback.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Until `endSnapshot` the connection reads the present state, and writes nothing. */
export async function beginSnapshot(client: PoolClient): Promise<void> {
  await client.query('begin isolation level repeatable read read only');
  // The first statement takes the snapshot.
  await client.query('select 1');
}

/** Ends the snapshot, if there is one, and returns the connection to its pool. */
export async function endSnapshot(client: PoolClient): Promise<void> {
  await client.query('rollback').then(
    () => client.release(),
    () => client.release(true),
  );
}
