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
export async function inTransactionOf<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // A connection that is gone has nothing left to take back.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}
