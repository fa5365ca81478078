import type { Pool, PoolClient } from 'pg';

/**
 * One transaction on a connection of its own. An error undoes all of it: the connection is closed,
 * and its transaction ends with it, whatever state it was in.
 * @throws the errors of the work and of the database.
 */
export function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return begunBy('begin', pool, work);
}

/**
 * The same without waiting for the disk: a crash of the database may undo what the last second
 * committed. For what may be done again.
 */
export function inTransactionThatMayBeLost<T>(
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

/**
 * The same on a connection that the caller keeps: after an error it is rolled back and can be used
 * again.
 */
export function inTransactionOf<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  return unlessRolledBack(client, work, () => false);
}

/** The same for work that may be too early: undefined is rolled back, too. */
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

/** Until `endSnapshot` the connection reads the state of this moment, and writes nothing. */
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
