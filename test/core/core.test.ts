import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { openCoreOn } from '../harness/open-core-on.js';
import { eventually } from '../support/embedded.js';
import { createStores } from '../support/running-service.js';

it('a core that fails to open, or is closed, leaves no connection', async () => {
  const stores = await createStores();
  const open = () =>
    openCoreOn({ DATABASE_URL: stores.databaseUrl, MASTER_KEY_FILE: stores.masterKeyFile });
  const sql = new pg.Client(stores.databaseUrl);
  await sql.connect();
  const connections = async (): Promise<number> => {
    const { rowCount } = await sql.query(
      'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    return rowCount ?? 0;
  };
  try {
    const core = await open();
    expect(await connections()).toBeGreaterThan(0);
    await core.close();
    await eventually(async () => (await connections()) === 0);
    await sql.query('update ledger.followed_log set log_id = $1', [randomUUID()]);
    await expect(open()).rejects.toMatchObject({ name: 'AnotherLogFollowed' });
    await eventually(async () => (await connections()) === 0);
  } finally {
    await sql.end();
    await stores.remove();
  }
});
