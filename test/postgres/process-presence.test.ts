import { sql } from 'kysely';
import type pg from 'pg';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { fetchRow } from '../../src/postgres/statements.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';

const { pool } = useDatabase(5);

const isGone = async (client: pg.Pool | pg.PoolClient, id: number): Promise<boolean> => {
  const row = await fetchRow(
    client,
    sql<{ gone: boolean }>`select ${ProcessPresence.isGone(sql.val(id))} as gone`,
  );
  return row?.gone ?? false;
};

it('the presence of a process is visible while the process runs, and no longer', async () => {
  const presence = new ProcessPresence(pool);
  await presence.start();
  expect(await isGone(pool, presence.id)).toBe(false);
  await presence.stop();
  await eventually(() => isGone(pool, presence.id));
});

it('the presence of a process is found to be gone by several checks at the same time', async () => {
  const { id } = new ProcessPresence(pool);
  const askers = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
  try {
    const answers: boolean[] = [];
    for (const asker of askers) {
      await asker.query('begin');
      answers.push(await isGone(asker, id));
    }
    expect(answers).toEqual([true, true, true]);
  } finally {
    for (const asker of askers) asker.release(true);
  }
});
