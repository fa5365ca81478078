import type { Pool, PoolClient } from 'pg';

/**
 * One transaction on a connection of its own. After an error nothing of it has happened: the
 * connection is thrown away, and its transaction ends with it, whatever state it was in.
 * @throws what the work throws, and what the database throws.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
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
 * The same on a connection that the caller keeps: it is rolled back after an error, and as good as
 * before.
 */
export function inTransactionOf<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  return unlessRolledBack(client, work, () => false);
}

/** The same for work that may find that it is too early: undefined is rolled back, too. */
export function tryInTransactionOf<T>(
  client: PoolClient,
  work: () => Promise<T | undefined>,
): Promise<T | undefined> {
  return unlessRolledBack(client, work, (result) => result === undefined);
}

async function unlessRolledBack<T>(
  client: PoolClient,
  work: () => Promise<T>,
  isTakenBack: (result: T) => boolean,
): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query(isTakenBack(result) ? 'rollback' : 'commit');
    return result;
  } catch (error) {
    // A connection that is gone has nothing left to take back.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** From here on the connection reads what is there now, and writes nothing. */
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
