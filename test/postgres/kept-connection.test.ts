import type { Pool } from 'pg';
import { openPool } from '../../src/postgres/database.js';
import { announceErasure, listenForErasures } from '../../src/postgres/erasure-announcements.js';
import { KeptConnection } from '../../src/postgres/kept-connection.js';
import { announceTenant, listenForTenants } from '../../src/postgres/tenant-announcements.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { END_SESSIONS } from '../support/ended-sessions.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
});
afterAll(() => database.drop());

it('is released when it is opened again during a stop', async () => {
  const pool = openPool({ url: database.url, max: 2, applicationName: 'kept' });
  const prepared: { pid: number; goOn: () => void }[] = [];
  let onPrepare: () => void = () => undefined;
  const kept = new KeptConnection(pool, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    await new Promise<void>((goOn) => {
      prepared.push({ pid: rows[0]?.pid ?? 0, goOn });
      onPrepare();
    });
  });
  const nextPreparation = () => new Promise<void>((resolve) => (onPrepare = resolve));

  let preparing = nextPreparation();
  const started = kept.start();
  await preparing;
  prepared[0]?.goOn();
  await started;

  preparing = nextPreparation();
  await pool.query('select pg_terminate_backend($1)', [prepared[0]?.pid]);
  await preparing;
  const stopped = kept.stop();
  prepared[1]?.goOn();
  await stopped;
  // Waits for connections that are still in use.
  await pool.end();
  expect(pool.totalCount).toBe(0);
}, 10_000);

it('is opened again when the line has fallen silent, without an error from either end', async () => {
  const { proxy, url } = await startPostgresProxy(database.url);
  const pool = openPool({ url, max: 3, applicationName: 'kept' });
  const pids: number[] = [];
  const kept = new KeptConnection(
    pool,
    async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      pids.push(rows[0]?.pid ?? 0);
    },
    { everyMs: 20, withinMs: 100 },
  );
  try {
    await kept.start();
    proxy.forget();
    await eventually(async () => pids.length > 1);
    expect(new Set(pids).size).toBe(pids.length);
  } finally {
    await kept.stop();
    await pool.end();
    await proxy.close();
  }
});

describe('announcements', () => {
  const BACKENDS = `${END_SESSIONS} and application_name = 'listening'`;

  it.each([
    {
      what: 'erasures',
      listen: listenForErasures,
      announce: (pool: Pool) => announceErasure(pool, ['ann', 'bob']),
      heard: ['ann', 'bob'],
    },
    {
      what: 'changed tenants',
      listen: listenForTenants,
      announce: (pool: Pool) => announceTenant(pool, 'shop'),
      heard: 'shop',
    },
  ])('of $what arrive, and a new connection means all of them', async (announcements) => {
    const listening = openPool({ url: database.url, max: 1, applicationName: 'listening' });
    const pool = openPool({ url: database.url, max: 1, applicationName: 'announcing' });
    const heard: unknown[] = [];
    const kept = announcements.listen(listening, (about) => heard.push(about));
    try {
      await kept.start();
      expect(heard).toEqual([undefined]);
      await announcements.announce(pool);
      await eventually(async () => heard.length > 1);
      expect(heard).toEqual([undefined, announcements.heard]);
      await pool.query(BACKENDS);
      await eventually(async () => heard.length > 2);
      await announcements.announce(pool);
      await eventually(async () => heard.length > 3);
      expect(heard.slice(2)).toEqual([undefined, announcements.heard]);
    } finally {
      await kept.stop();
      await listening.end();
      await pool.end();
    }
  });
});
