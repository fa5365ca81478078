import pg from 'pg';
import { CONNECTIONS_MIN, connectionBudget } from '../../src/connection-budget.js';
import { ConfigError, loadConfig } from '../../src/config.js';
import { personal, startWithStores } from '../support/running-service.js';

it('the shares never come to more than the maximum, and use all of it', () => {
  for (let max = CONNECTIONS_MIN; max <= 200; max++) {
    const { requests, background, jobs, logReaders } = connectionBudget({ databaseConnectionsMax: max });
    // The log's writer and listener, and the one that keeps the embedded server.
    expect(requests + background + jobs + logReaders + 3).toBe(max);
  }
  expect(connectionBudget({ databaseConnectionsMax: 40 })).toEqual({ requests: 16, background: 12, jobs: 5, logReaders: 4 });
});

it('fewer than the service needs are refused in one line', () => {
  expect(() => loadConfig({ DATABASE_CONNECTIONS_MAX: String(CONNECTIONS_MIN - 1) })).toThrow(
    new ConfigError([`DATABASE_CONNECTIONS_MAX must be a whole number from ${CONNECTIONS_MIN} to 1000`]),
  );
});

it('under load a service opens no more connections than it may', async () => {
  const max = 24;
  const { service, stores, end } = await startWithStores({ DATABASE_CONNECTIONS_MAX: String(max) });
  const sql = new pg.Client(stores.databaseUrl);
  await sql.connect();
  try {
    const { live } = await service.createTenant();
    let most = 0;
    const count = async (): Promise<void> => {
      const { rows } = await sql.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity where datname = current_database() and application_name like 'ledger-%'`,
      );
      most = Math.max(most, rows[0]?.open ?? 0);
    };
    for (let round = 0; round < 3; round++) {
      const requests = Array.from({ length: 60 }, async (_, n) => {
        const id = personal('acc');
        const key = n % 2 === 0 ? { key: personal('key') } : {};
        const synced = await live.post('/accountsync', { id, subscription: { status: 'TRIAL' } }, key);
        const read = await live.get(`/account/${id}`);
        return [synced.status, read.status];
      });
      const counting = Promise.all(requests);
      for (let look = 0; look < 5; look++) await count();
      for (const statuses of await counting) expect(statuses).toEqual([200, 200]);
      await count();
    }
    expect(most).toBeGreaterThan(12);
    expect(most).toBeLessThanOrEqual(max);
  } finally {
    await sql.end();
    await end();
  }
});
