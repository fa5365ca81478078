import { CONNECTIONS_MIN, connectionBudget } from '../../src/config/connection-budget.js';
import { ConfigError, loadConfig } from '../../src/config/config.js';
import { eventually } from '../support/embedded.js';
import { pollPause } from '../support/poll-pause.js';
import { makeOperators, personal, useService } from '../support/running-service.js';
import { useSql } from '../support/database.js';

/* Over 5 s: a service under load, and a rebuild of all read models. */

/** A busy service may answer 503, and 409 while the first try runs: ask again. */
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
    requests: 14,
    background: 9,
    jobs: 4,
    logReaders: 3,
    operations: 7,
  });
});

it('a maximum below the need of the service is refused in one line', () => {
  expect(() => loadConfig({ DATABASE_CONNECTIONS_MAX: String(CONNECTIONS_MIN - 1) })).toThrow(
    new ConfigError([
      `DATABASE_CONNECTIONS_MAX must be a whole number from ${CONNECTIONS_MIN} to 1000`,
    ]),
  );
});

const max = 24;
const running = useService(() => ({ DATABASE_CONNECTIONS_MAX: String(max) }));
const sql = useSql(() => running.stores.databaseUrl);

/** The most connections of these names until the work is over. */
async function mostDuring(names: string, work: Promise<unknown>): Promise<number> {
  let [isOver, most] = [false, 0];
  void work.finally(() => (isOver = true)).catch(() => undefined);
  for (let looks = 0; !isOver; looks += 1) {
    const { rows } = await sql.query<{ open: number }>(
      `select count(*)::int as open from pg_stat_activity
          where datname = current_database() and application_name like $1`,
      [names],
    );
    most = Math.max(most, rows[0]?.open ?? 0);
    await pollPause(looks);
  }
  return most;
}

it('with 24 connections a service under load opens no more connections than it may', async () => {
  const { live } = await running.service.createTenant();
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
  const most = await mostDuring('ledger-%', requests);
  for (const statuses of await requests) expect(statuses).toEqual([200, 200]);
  expect(most).toBeGreaterThan(12);
  expect(most).toBeLessThanOrEqual(max);
});

it('with 24 connections operations on read models open no more than their share, however many run', async () => {
  const { sam } = await makeOperators(running.stores, { sam: ['support'] });
  const call = async (method: string, path: string, body?: object): Promise<number> =>
    (await running.service.operator(sam).call(method, `/projections${path}`, body)).status;
  const answers = Promise.all([
    call('POST', '/rebuild', { all: true }),
    ...Array.from({ length: 30 }, () => call('GET', '')),
  ]);
  const most = await mostDuring('ledger-projection', answers);
  // A rebuild that takes long continues as a run: 202.
  const [rebuild, ...reads] = await answers;
  expect([200, 202]).toContain(rebuild);
  expect(reads).toEqual(reads.map(() => 200));
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(connectionBudget({ databaseConnectionsMax: max }).operations);
  await eventually(async () => (await call('POST', '/swap', { all: true })) === 200);
});
