import type pg from 'pg';
import {
  inTransaction,
  inTransactionOf,
  tryInTransactionOf,
} from '../../src/postgres/transaction.js';
import { useDatabase } from '../support/database.js';

// One connection: the next statement meets what a transaction left behind.
const { pool } = useDatabase(1, { migrated: false });
beforeAll(() => pool.query('create table written (what text)'));
beforeEach(() => pool.query('delete from written'));

const write = 'insert into written values ($1)';
/** What is written, read outside of any transaction that was left open. */
async function written(client: pg.Pool | pg.PoolClient = pool): Promise<string[]> {
  await client.query('rollback');
  const { rows } = await client.query<{ what: string }>('select what from written order by what');
  return rows.map(({ what }) => what);
}

async function onOneConnection(work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await work(client);
  } finally {
    client.release();
  }
}

it('a transaction keeps what its work wrote, and returns its result', async () => {
  const result = await inTransaction(pool, async (client) => {
    await client.query(write, ['kept']);
    return 'done';
  });
  expect([result, await written()]).toEqual(['done', ['kept']]);
});

it('a transaction whose work fails is undone, and the next statement of the pool is outside of it', async () => {
  const failing = inTransaction(pool, async (client) => {
    await client.query(write, ['lost']);
    throw new Error('failed');
  });
  await expect(failing).rejects.toThrow('failed');
  await pool.query(write, ['after']);
  expect(await written()).toEqual(['after']);
});

it('a kept connection is outside of the transaction whose work failed, and can be used again', () =>
  onOneConnection(async (client) => {
    const failing = inTransactionOf(client, async () => {
      await client.query(write, ['lost']);
      throw new Error('failed');
    });
    await expect(failing).rejects.toThrow('failed');
    await client.query(write, ['after']);
    expect(await written(client)).toEqual(['after']);
    await inTransactionOf(client, () => client.query(write, ['again']));
    expect(await written(client)).toEqual(['after', 'again']);
  }));

it('work that was too early is undone, and work with a result is kept', () =>
  onOneConnection(async (client) => {
    const attempt = (result: string | undefined) =>
      tryInTransactionOf(client, async () => {
        await client.query(write, [result ?? 'too early']);
        return result;
      });
    expect(await attempt(undefined)).toBeUndefined();
    expect(await written(client)).toEqual([]);
    expect(await attempt('in time')).toBe('in time');
    expect(await written(client)).toEqual(['in time']);
  }));
