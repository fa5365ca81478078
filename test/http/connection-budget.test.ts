import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { CONNECTIONS_MIN, connectionBudget } from '../../src/config/connection-budget.js';
import { ConfigError, loadConfig } from '../../src/config/config.js';
import { makeOperatorKey } from '../../src/config/operators.js';
import { basic } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { personal, startWithStores } from '../support/running-service.js';

/**
 * On a busy machine a service may say 503, and 409 while the first try still runs: then a client
 * asks again.
 */
async function untilAnswered(ask: () => Promise<{ readonly status: number }>): Promise<number> {
  for (;;) {
    const { status } = await ask();
    if (status !== 503 && status !== 409) return status;
  }
}

it('the shares add up to the maximum', () => {
  for (let max = CONNECTIONS_MIN; max <= 200; max++) {
    const shares = Object.values(connectionBudget({ databaseConnectionsMax: max })) as number[];
    // The log's writer and listener, and the one that keeps the embedded server.
    expect(shares.reduce((all, share) => all + share, 3)).toBe(max);
  }
  expect(connectionBudget({ databaseConnectionsMax: 40 })).toEqual({
    requests: 9,
    background: 12,
    jobs: 4,
    logReaders: 3,
    operations: 3,
    exports: 4,
    slowReads: 2,
  });
});

it('a maximum below the need of the service is refused in one line', () => {
  expect(() => loadConfig({ DATABASE_CONNECTIONS_MAX: String(CONNECTIONS_MIN - 1) })).toThrow(
    new ConfigError([
      `DATABASE_CONNECTIONS_MAX must be a whole number from ${CONNECTIONS_MIN} to 1000`,
    ]),
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
    const requests = Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const id = personal('acc');
        const key = n % 2 === 0 ? { key: personal('key') } : {};
        const subscription = { status: 'TRIAL' };
        return [
          await untilAnswered(() => live.post('/accountsync', { id, subscription }, key)),
          await untilAnswered(() => live.get(`/account/${id}`)),
        ];
      }),
    );
    let isOver = false;
    void requests.finally(() => (isOver = true));
    while (!isOver) await count();
    for (const statuses of await requests) expect(statuses).toEqual([200, 200]);
    await count();
    expect(most).toBeGreaterThan(12);
    expect(most).toBeLessThanOrEqual(max);
  } finally {
    await sql.end();
    await end();
  }
});

it('operations on read models open no more connections than their share, however many run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-operators-'));
  const { key, entry } = makeOperatorKey('sam', ['support']);
  await writeFile(join(folder, 'operators.json'), JSON.stringify([entry]));
  const { service, stores, end } = await startWithStores({
    OPERATORS_FILE: join(folder, 'operators.json'),
  });
  const sql = new pg.Client(stores.databaseUrl);
  await sql.connect();
  try {
    const call = async (method: string, path: string, body?: object): Promise<number> => {
      const headers = {
        authorization: basic(`:${key}`),
        ...(body && { 'content-type': 'application/json' }),
      };
      const { status } = await fetch(`${service.origin}/operations/projections${path}`, {
        method,
        headers,
        body: body && JSON.stringify(body),
      });
      return status;
    };
    const asked = [
      call('POST', '/rebuild', { all: true }),
      ...Array.from({ length: 30 }, () => call('GET', '')),
    ];
    const answers = Promise.all(asked);
    let isOver = false;
    void answers.finally(() => (isOver = true));
    let most = 0;
    while (!isOver) {
      const { rows } = await sql.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity where datname = current_database() and application_name = 'ledger-projection'`,
      );
      most = Math.max(most, rows[0]?.open ?? 0);
    }
    // A rebuild that takes long continues as a run: 202.
    const [rebuild = 0, ...reads] = await answers;
    expect([200, 202]).toContain(rebuild);
    expect(reads).toEqual(reads.map(() => 200));
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(3);
    await eventually(async () => (await call('POST', '/swap', { all: true })) === 200, 60_000);
  } finally {
    await sql.end();
    await end();
    await rm(folder, { recursive: true, force: true });
  }
});
