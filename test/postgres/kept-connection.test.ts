import { openPool } from '../../src/postgres/database.js';
import {
  announceErasure,
  announceTenant,
  listenForAnnouncements,
} from '../../src/postgres/announcements.js';
import { KeptConnection } from '../../src/postgres/kept-connection.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { END_SESSIONS } from '../support/ended-sessions.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
});
afterAll(() => database.drop());

it('the kept connection is released when it is opened again during a stop', async () => {
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

it('the kept connection is opened again when the line is silent, without an error from either end', async () => {
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

it('announcements arrive, and a new connection means all of them', async () => {
  const listening = openPool({ url: database.url, max: 1, applicationName: 'listening' });
  const pool = openPool({ url: database.url, max: 1, applicationName: 'announcing' });
  const erased: unknown[] = [];
  const changed: unknown[] = [];
  const kept = listenForAnnouncements(listening, {
    onErased: (subjects) => erased.push(subjects),
    onTenantChanged: (alias) => changed.push(alias),
  });
  const announce = async (): Promise<void> => {
    await announceErasure(pool, ['ann', 'bob']);
    await announceTenant(pool, 'shop');
  };
  try {
    await kept.start();
    await announce();
    await eventually(async () => changed.length > 1);
    await pool.query(`${END_SESSIONS} and application_name = 'listening'`);
    await eventually(async () => changed.length > 2);
    await announce();
    await eventually(async () => changed.length > 3);
    expect(erased).toEqual([undefined, ['ann', 'bob'], undefined, ['ann', 'bob']]);
    expect(changed).toEqual([undefined, 'shop', undefined, 'shop']);
  } finally {
    await kept.stop();
    await listening.end();
    await pool.end();
  }
});

it('a connection that is started soon is opened once the database answers', async () => {
  const { proxy, url } = await startPostgresProxy(database.url);
  const pool = openPool({ url, max: 1, applicationName: 'kept' });
  let opened = 0;
  const kept = new KeptConnection(pool, async () => void (opened += 1), {
    everyMs: 20,
    withinMs: 100,
  });
  proxy.forget();
  kept.startSoon();
  try {
    await eventually(async () => opened > 0);
  } finally {
    await kept.stop();
    await pool.end();
    await proxy.close();
  }
});
