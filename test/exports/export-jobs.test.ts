// Over 5 s: a process that writes exports is started for each test.
import { randomUUID } from 'node:crypto';
import { accountProjectors } from '../../projections/account-projectors.js';
import { exportJobsOn } from '../../src/stores/export-jobs-on.js';
import {
  beginAttempt,
  EXPORTS,
  addWaiting,
  removeFilesOf,
} from '../../src/exports/storage/export-file-rows.js';
import { claimWork } from '../../src/work-queue/work-items.js';
import { digestOf } from '../../src/exports/storage/people-in-file.js';
import { openPool } from '../../src/postgres/database.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { LiveGenerations } from '../../src/projecting/generations/live-generations.js';
import { openOnce } from '../support/opened.js';
import { basic } from '../support/api-client.js';
import { type ShownExport as Shown } from '../support/expected-answers.js';
import { namesake } from '../support/people.js';
import { eventually } from '../support/embedded.js';
import {
  makeOperators,
  outcome,
  refusal,
  RunningService,
  useService,
  useTenant,
} from '../support/running-service.js';

/** Answers, and writes no exports. */
const { service: api, stores } = useService(() => ({ ROLES: 'api,projector' }));
const operator = openOnce(async () =>
  api.operator((await makeOperators(stores, { sam: ['support'] })).sam),
);
const tenant = useTenant({ service: api }, { each: true });
const pool = openOnce(
  () => openPool({ url: stores.databaseUrl, max: 2, applicationName: 'exports-test' }),
  'end',
);
// A statement that deletes the chunks of a whole file takes longer than statements may.
beforeAll(async () => {
  await pool.query(
    `create function public.too_many() returns trigger language plpgsql
      as $$ begin if (select count(*) from gone) > 256 then raise exception 'too many'; end if; return null; end $$`,
  );
  await pool.query(
    `create trigger too_many after delete on ledger.export_chunks referencing old table as gone
      for each statement execute function public.too_many()`,
  );
});
beforeEach(() => namesake(tenant.live, 'ann'));
jest.setTimeout(300_000);

const WITHIN_MS = 200_000;
/** No process has this id. */
const DEAD = 2_147_483_646;
const ATTEMPT = '0b7a3d52-1f0e-4c57-9d0f-3a4b5c6d7e8f';

const ask = async (type = 'USER'): Promise<string> => {
  const { status, body } = await tenant.live.post<Shown>('/export', { type });
  expect(status).toBe(201);
  return body.id;
};
const show = async (id: string): Promise<Shown> =>
  (await tenant.live.get<Shown>(`/export/${id}`)).body;
const download = (id: string): Promise<Response> =>
  fetch(`${api.origin}/api/v1/${tenant.alias}/export/${id}/download`, {
    headers: { authorization: basic(`:${tenant.liveKey}`) },
  });
const downloaded = async (id: string): Promise<number> => {
  const response = await download(id);
  await response.arrayBuffer();
  return response.status;
};
const fileOf = async (id: string): Promise<Buffer> =>
  Buffer.from(await (await download(id)).arrayBuffer());

const operation = async (path: string, method = 'GET') =>
  outcome(await operator.call(method, `/exports/${tenant.alias}${path}`));
const cancel = (id: string, mode = 'live') => operation(`/${id}?mode=${mode}`, 'DELETE');

/** Meanwhile a process writes what waits. */
async function withWorker<T>(work: () => Promise<T>): Promise<T> {
  const worker = await RunningService.start(stores, { ROLES: 'worker' });
  try {
    return await work();
  } finally {
    await worker.stop();
  }
}

const ended = async (id: string): Promise<Shown> => {
  await eventually(async () => (await show(id)).status !== 'PENDING', WITHIN_MS);
  return show(id);
};

async function rowsLeft(id: string): Promise<number> {
  const { rows } = await pool.query('select from ledger.export_files where export_id = $1', [id]);
  return rows.length;
}

const isStored = (id: string): Promise<void> =>
  eventually(async () => {
    const stored = `select from ledger.export_files where export_id = $1 and state = 'STORED'`;
    return (await pool.query(stored, [id])).rowCount === 1;
  }, WITHIN_MS);

const aborted = (reason: string) => ({ status: 'ABORTED', stats: { reason } });

const claimedByTheDead = (id: string, attempts = 1) =>
  pool.query(
    `update ledger.work_items set claimed_by = $2, claimed_at = now(), attempts = $3,
       claimed_until = now() + interval '1 day' where id = $1`,
    [id, DEAD, attempts],
  );

/** A process took the export, stored more chunks than a statement deletes, and died. */
async function abandon(id: string, failures: number, attempt: string): Promise<void> {
  await pool.query(
    `update ledger.export_files set state = 'RUNNING', attempt = $2 where export_id = $1`,
    [id, attempt],
  );
  await claimedByTheDead(id, failures + 1);
  await pool.query(
    `insert into ledger.export_chunks (attempt, kind, number, bytes)
      select $1, 'file', number, '\\x00' from generate_series(1, 600) number`,
    [attempt],
  );
}

async function chunksOf(attempt: string): Promise<number> {
  const { rows } = await pool.query('select from ledger.export_chunks where attempt = $1', [
    attempt,
  ]);
  return rows.length;
}

test('a waiting export is not ready, and is written once a process can', async () => {
  const id = await ask();
  const answer = await tenant.live.get(`/export/${id}/download`);
  expect(outcome(answer)).toEqual(refusal(400, 'EXPORT_NOT_READY'));
  await withWorker(async () => {
    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', stats: { rows: 1 } });
  });
  expect(await downloaded(id)).toBe(200);
});

test('an export whose process died is begun anew, without the chunks of before', async () => {
  const id = await ask();
  await abandon(id, 0, ATTEMPT);
  await withWorker(async () => {
    expect(await ended(id)).toMatchObject({ status: 'COMPLETED' });
  });
  expect(await chunksOf(ATTEMPT)).toBe(0);
  expect(await downloaded(id)).toBe(200);
});

test('the third death of its process aborts an export', async () => {
  const id = await ask();
  await abandon(id, 2, ATTEMPT);
  await withWorker(async () => {
    expect(await ended(id)).toMatchObject(aborted('its process ended three times'));
    await eventually(async () => (await rowsLeft(id)) === 0, WITHIN_MS);
  });
  expect(await chunksOf(ATTEMPT)).toBe(0);
  expect(outcome(await tenant.live.get(`/export/${id}/download`))).toEqual(
    refusal(400, 'EXPORT_NOT_READY'),
  );
});

test('a file whose completion was not recorded is completed', async () => {
  const id = await ask();
  const file = { position: null, rows: 0, bytes: 1, sha256: 'a'.repeat(64) };
  await pool.query(
    `update ledger.export_files set state = 'WRITTEN', attempt = $2, file = $3 where export_id = $1`,
    [id, ATTEMPT, JSON.stringify(file)],
  );
  await claimedByTheDead(id);
  await withWorker(async () => {
    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', stats: file });
    await isStored(id);
  });
});

test('a file that was recorded and not yet marked as stored is marked by another process', async () => {
  const id = await ask();
  await withWorker(() => ended(id));
  await pool.query(`update ledger.export_files set state = 'WRITTEN' where export_id = $1`, [id]);
  await withWorker(() => isStored(id));
});

test('rows of exports that the database lost follow the log', async () => {
  const lost = await ask();
  const fileless = await ask('REWARD');
  await withWorker(async () => {
    expect(await ended(fileless)).toMatchObject({ status: 'COMPLETED' });
    expect(await ended(lost)).toMatchObject({ status: 'COMPLETED' });
  });
  const waiting = await ask('REFERRAL');
  await pool.query(`delete from ledger.export_files where export_id = any ($1)`, [
    [fileless, waiting],
  ]);
  expect(await downloaded(fileless)).toBe(410);
  // A request that was never recorded, from long ago.
  const unrecorded = '5f7d2f1c-64a0-4e1a-a1ac-5f5d8a9e2b10';
  await pool.query(
    `insert into ledger.export_files (export_id, tenant, mode, created_at) values ($1, $2, 'live', now() - interval '1 hour')`,
    [unrecorded, tenant.alias],
  );
  await withWorker(async () => {
    expect(await ended(waiting)).toMatchObject({ status: 'COMPLETED' });
    await eventually(async () => (await show(fileless)).status === 'EXPIRED', WITHIN_MS);
    await eventually(async () => (await rowsLeft(unrecorded)) === 0, WITHIN_MS);
  });
  expect(await downloaded(lost)).toBe(200);
});

test('a file whose time is over is removed', async () => {
  const id = await ask();
  await withWorker(() => ended(id));
  await pool.query(
    `update ledger.export_files set expires_at = now() - interval '1 second' where export_id = $1`,
    [id],
  );
  // The next start looks immediately.
  await withWorker(async () => {
    await eventually(async () => (await show(id)).status === 'EXPIRED', WITHIN_MS);
    await eventually(async () => (await rowsLeft(id)) === 0, WITHIN_MS);
  });
  expect(await downloaded(id)).toBe(410);
});

test('exports that do not fit the room of the tenant are aborted', async () => {
  const full = await ask();
  await withWorker(() => ended(full));
  await pool.query(`update ledger.export_files set stored_bytes = 1e15 where export_id = $1`, [
    full,
  ]);
  const id = await ask();
  await withWorker(async () => {
    const { status, stats } = await ended(id);
    expect([status, String(stats?.['reason'])]).toEqual([
      'ABORTED',
      expect.stringMatching(/take \d+ bytes/),
    ]);
  });
});

/** The rows are read, and the first chunk waits until the person is forgotten. */
async function endedForgetting(
  person: string,
  id: string,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<Shown> {
  const holder = await pool.connect();
  try {
    await holder.query('begin; lock table ledger.export_chunks in share mode');
    return await withWorker(async () => {
      await eventually(async () => {
        const { rows } = await pool.query(
          `select from pg_stat_activity where datname = current_database()
            and wait_event_type = 'Lock' and query like '%into ledger.export_chunks%'`,
        );
        return rows.length > 0;
      }, WITHIN_MS);
      await meanwhile();
      const { status } = await tenant.live.call('DELETE', `/open/account/${person}/user/${person}`);
      expect(status).toBe(204);
      await holder.query('commit');
      return ended(id);
    });
  } finally {
    holder.release(true);
  }
}

test('progress is shown while a file is written; people who are forgotten meanwhile are in no file', async () => {
  const [bob, cid] = [await namesake(tenant.live, 'bob'), await namesake(tenant.live, 'cid')];
  const id = await ask();
  const attempts = async () => {
    const { rows } = await pool.query<{ attempt: string }>(
      'select attempt from ledger.export_files where export_id = $1',
      [id],
    );
    return rows;
  };
  let first: Awaited<ReturnType<typeof attempts>> = [];
  const shown = await endedForgetting(bob, id, async () => {
    first = await attempts();
    await eventually(async () => (await show(id)).stats !== null, WITHIN_MS);
    expect(await show(id)).toMatchObject({
      status: 'PENDING',
      stats: { rowsDone: 0, rowsTotal: 3 },
    });
  });
  expect(shown).toMatchObject({ status: 'COMPLETED', stats: { rows: 2 } });
  const second = await attempts();
  expect(second).toEqual([{ attempt: expect.any(String) as unknown }]);
  expect(second[0]?.attempt).not.toBe(first[0]?.attempt);
  const text = (await fileOf(id)).toString();
  expect([text.includes(bob), text.includes(cid)]).toEqual([false, true]);
});

test('an export that people are forgotten in for a day is aborted', async () => {
  const bob = await namesake(tenant.live, 'bob');
  const id = await ask();
  await pool.query(
    `update ledger.events set data = jsonb_set(data::jsonb, '{expiresAt}', to_jsonb((data::jsonb ->> 'expiresAt')::bigint - 90000000))::text
      where type = 'ExportRequested' and data::jsonb ->> 'exportId' = $1`,
    [id],
  );
  expect(await endedForgetting(bob, id)).toMatchObject(
    aborted('people in it were forgotten each time it was written'),
  );
});

test('a database without room for a file aborts the export, and no other', async () => {
  const id = await ask();
  await pool.query(
    `create function public.no_room() returns trigger language plpgsql
      as $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`,
  );
  // Who is in the file is stored before.
  await pool.query(
    `create trigger no_room before insert on ledger.export_chunks for each row
      when (new.kind = 'file') execute function public.no_room()`,
  );
  await withWorker(async () => {
    expect(await ended(id)).toMatchObject(aborted('the database has no room for the file'));
    await eventually(async () => (await rowsLeft(id)) === 0, WITHIN_MS);
    const { rows } = await pool.query(
      `select from ledger.export_chunks where attempt not in
        (select attempt from ledger.export_files where attempt is not null)`,
    );
    expect(rows).toEqual([]);
    await pool.query('drop function public.no_room() cascade');
    expect(await ended(await ask())).toMatchObject({ status: 'COMPLETED' });
  });
});

test('an attempt that hangs without an error ends, counts as failed, and leaves no connection', async () => {
  const applicationName = 'exports-that-hang';
  const jobsPool = openPool({ url: stores.databaseUrl, max: 6, applicationName });
  const presence = new ProcessPresence(jobsPool);
  const warnings: object[] = [];
  const jobs = exportJobsOn(api.service.core, {
    pool: jobsPool,
    snapshots: jobsPool,
    presence,
    logger: { warn: (line) => void warnings.push(line) },
    generations: new LiveGenerations(jobsPool, accountProjectors),
    publicUrl: () => api.origin,
    concurrency: 1,
    readModels: { waitFor: () => Promise.resolve(true) },
    stalledAfterMs: 500,
  });
  const hanging = async () => {
    const { rows } = await pool.query(
      `select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'
        and query like 'lock table%'`,
      [applicationName],
    );
    return rows.length;
  };
  const holder = await pool.connect();
  try {
    const id = await ask();
    await pool.query('update ledger.work_items set attempts = 2 where id = $1', [id]);
    const { rows } = await holder.query<{ name: string }>(
      `select format('%I.users', nspname) as name from pg_namespace where nspname ~ '^rm_users_'`,
    );
    await holder.query(
      `begin; lock table ${rows.map(({ name }) => name).join()} in access exclusive mode`,
    );
    await presence.start();
    jobs.worker.loop.start();
    expect(await ended(id)).toMatchObject(aborted('failed 3 times: nothing was written for 0.5 s'));
    await eventually(async () => (await rowsLeft(id)) === 0 && (await hanging()) === 0, WITHIN_MS);
    const reason = 'nothing was written for 0.5 s';
    await eventually(() => warnings.length === 2, WITHIN_MS);
    expect(warnings).toEqual([
      { exportId: id, reason, failures: 3 },
      { exportId: id, reason: `failed 3 times: ${reason}` },
    ]);
  } finally {
    holder.release(true);
    await jobs.worker.stop();
    await presence.stop();
    await jobsPool.end();
  }
});

test('one export of a tenant and mode is written at a time, next to that of the other mode', async () => {
  const [first, second] = [await ask(), await ask('REWARD')];
  const { body } = await tenant.test.post<Shown>('/export', { type: 'USER' });
  const limits = {
    items: 9,
    ofTenant: 9,
    ofLane: 1,
    underWay: [],
    paused: [],
    narrow: [],
    after: '',
  };
  const claimed = async () =>
    (await claimWork(pool, { kind: EXPORTS, process: DEAD, leaseMs: 1_000, ...limits }))
      .filter((item) => item.tenant === tenant.alias)
      .map(({ id }) => id);
  expect(new Set(await claimed())).toEqual(new Set([first, body.id]));
  expect(await claimed()).toEqual([]);
  const begun = async (exportId: string, attempt: string): Promise<boolean> => {
    const name = { exportId, scope: { tenant: tenant.alias, mode: 'live' } as const };
    const destroyKey = () => Promise.resolve();
    const expiresAt = Date.now() + WITHIN_MS;
    const begun = await beginAttempt(pool, name, { attempt, expiresAt, destroyKey });
    return begun !== undefined;
  };
  // Of two processes that claim at the same moment, one begins.
  expect([await begun(first, randomUUID()), await begun(second, randomUUID())]).toEqual([
    true,
    false,
  ]);
  for (const id of [first, second]) await cancel(id);
  expect(await cancel(body.id, 'test')).toMatchObject({ body: { status: 'ABORTED' } });
});

test('at most 100 of a tenant wait, in both modes together; cancelling makes room', async () => {
  const ids: string[] = [];
  for (let asked = 0; asked < 50; asked++) ids.push(await ask());
  for (let asked = 0; asked < 50; asked++)
    expect((await tenant.test.post('/export', { type: 'USER' })).status).toBe(201);
  for (const client of [tenant.live, tenant.test])
    expect(outcome(await client.post('/export', { type: 'USER' }))).toEqual(
      refusal(400, 'BAD_REQUEST'),
    );
  const [first = ''] = ids;
  expect(await cancel(first, 'test')).toEqual(refusal(404, 'EXPORT_NOT_FOUND'));
  expect(await cancel(first)).toMatchObject({
    status: 200,
    body: { id: first, status: 'ABORTED' },
  });
  expect(await cancel(first)).toEqual(refusal(400, 'BAD_REQUEST'));
  expect(await show(first)).toMatchObject({ status: 'ABORTED' });
  expect((await tenant.live.post('/export', { type: 'USER' })).status).toBe(201);
  const { body: listed } = await operation('?limit=2');
  expect(listed).toHaveLength(2);
  const other = await api.createTenant();
  expect((await other.live.post('/export', { type: 'USER' })).status).toBe(201);
});

test('files are searched for all people of a deleted account with a few queries each', async () => {
  const people = [...Array(300)].map(() => randomUUID());
  const names = [randomUUID(), randomUUID()];
  for (const attempt of names) {
    await addWaiting(pool, { scope: tenant.scope, exportId: attempt });
    await pool.query(
      `update ledger.export_files set state = 'STORED', attempt = export_id where export_id = $1`,
      [attempt],
    );
  }
  // The second file holds one of them, in its second chunk.
  for (const [number, person] of ['00000000-0000-4000-8000-000000000000', people[200]!].entries())
    await pool.query(
      `insert into ledger.export_chunks (attempt, kind, number, first, bytes) values ($1, 'people', $2, $3, $3)`,
      [names[1], number, digestOf(person)],
    );
  let queries = 0;
  const counted = openPool({ url: stores.databaseUrl, max: 1, applicationName: 'exports-test' });
  counted.on('connect', (client) => client.on('drain', () => (queries += 1)));
  try {
    const removed = await removeFilesOf(counted, tenant.scope, people);
    expect(removed).toEqual([{ scope: tenant.scope, exportId: names[1] }]);
  } finally {
    await counted.end();
  }
  expect(queries).toBeLessThan(10);
});
