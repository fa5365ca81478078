import { once } from 'node:events';
import { sql } from 'kysely';
import type pg from 'pg';
import { Jobs } from '../../src/work-queue/jobs.js';
import { StrandedJobs } from '../../src/work-queue/stranded-jobs.js';
import { isUnavailable, openPool } from '../../src/postgres/database.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { fetchRow } from '../../src/postgres/statements.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { handlersOf } from './support/handlers.js';

let database: TestDatabase;
let direct: pg.Pool;
let proxy: TcpProxy;
let pool: pg.Pool;
let jobs: Jobs;
let work: () => Promise<void>;

/** Regular jobs do nothing. */
const newJobs = (
  on: pg.Pool,
  presence: Pick<ProcessPresence, 'id'>,
  handler: () => Promise<void>,
) =>
  new Jobs(on, presence, {
    handlers: handlersOf(handler, () => Promise.resolve()),
    isUnavailable,
    logger: { warn: () => undefined },
  });

beforeEach(async () => {
  database = await createTestDatabase();
  direct = openPool({ url: database.url, max: 4, applicationName: 'test', bigintAsText: true });
  const line = await startPostgresProxy(database.url);
  proxy = line.proxy;
  pool = openPool({ url: line.url, max: 5, applicationName: 'jobs', bigintAsText: true });
  pool.on('connect', (client) => client.on('error', () => undefined));
  jobs = newJobs(pool, { id: 1 }, () => work());
  await jobs.prepare();
});
afterEach(async () => {
  proxy.accept();
  proxy.thaw();
  await jobs.stop();
  await pool.end();
  await proxy.close();
  await direct.end();
  await database.drop();
});

const settle = {
  kind: 'job' as const,
  task: 'settle-reward' as const,
  payload: {},
  runAt: 0,
  key: 'one',
};

async function jobsLeft(): Promise<number> {
  const { rows } = await direct.query<{ n: number }>(
    'select count(*)::int as n from graphile_worker.jobs',
  );
  return rows[0]?.n ?? NaN;
}

/**
 * Works on one job; it ends, with `outcome`, while the line is frozen, so that what it ends with is
 * under way when `breakLine` comes.
 */
async function endJobDuring(
  outcome: () => void,
  breakLine: () => void,
): Promise<{ readonly runs: () => number }> {
  let runs = 0;
  let goOn: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    work = async () => {
      runs += 1;
      if (runs > 1) return;
      resolve();
      await new Promise<void>((release) => (goOn = release));
      outcome();
    };
  });
  await jobs.add(settle);
  jobs.start();
  await started;
  proxy.freeze();
  const asks = once(pool, 'acquire');
  goOn();
  await asks;
  breakLine();
  proxy.thaw();
  return { runs: () => runs };
}

it.each([
  ['is cut', () => proxy.cut()],
  ['is refused for a while', () => proxy.refuse()],
])(
  'the process outlives an outage of the database whose connection %s while a job is completed',
  async (_, breakLine) => {
    const { runs } = await endJobDuring(() => undefined, breakLine);
    proxy.accept();
    await eventually(async () => (await jobsLeft()) === 0);
    expect(runs()).toBeLessThanOrEqual(2);
  },
);

it('a job that finds a store unreachable continues as soon as it is back', async () => {
  let runs = 0;
  work = async () => {
    runs += 1;
    if (runs < 4) throw Object.assign(new Error('the store is away'), { code: 'ECONNREFUSED' });
  };
  await jobs.add(settle);
  jobs.start();
  await eventually(async () => (await jobsLeft()) === 0);
  expect(runs).toBe(4);
});

const lockedBy = async (worker: string, key: string): Promise<void> => {
  // Due only with the lock, or somebody would take it before.
  await jobs.add({ ...settle, key, runAt: Date.now() + 3_600_000 });
  await direct.query(
    'update graphile_worker._private_jobs set locked_at = now(), locked_by = $1, run_at = now() where key = $2',
    [worker, key],
  );
};

it('abandoned locked jobs are unlocked some seconds after the end of their process, and not before', async () => {
  const alive = new ProcessPresence(direct);
  const here = new ProcessPresence(direct);
  await Promise.all([alive.start(), here.start()]);
  try {
    const stranded = new StrandedJobs(direct, here.id, () => []);
    const locked = async (): Promise<readonly (string | null)[]> => {
      const { rows } = await direct.query<{ key: string }>(
        'select key from graphile_worker.jobs where locked_by is not null order by key',
      );
      return rows.map(({ key }) => key);
    };
    await lockedBy(`process-${alive.id}`, 'of one that lives');
    await lockedBy('process-77', 'of one that is gone');
    await lockedBy(`process-${here.id}`, 'mine');
    await lockedBy('pool-0123456789', 'of an older release');
    const all = ['mine', 'of an older release', 'of one that is gone', 'of one that lives'];
    await stranded.unlock(0);
    await stranded.unlock(4_999);
    expect(await locked()).toEqual(all);
    await stranded.unlock(5_000);
    expect(await locked()).toEqual(all.filter((key) => key !== 'of one that is gone'));

    await alive.stop();
    await eventually(async () => {
      const row = await fetchRow(
        direct,
        sql<{ gone: boolean }>`select not ${ProcessPresence.isAnyOtherRunning(here.id)} as gone`,
      );
      return row?.gone === true;
    });
    await stranded.unlock(6_000);
    expect((await locked()).length).toBe(3);
    await stranded.unlock(11_000);
    expect(await locked()).toEqual(['mine']);
  } finally {
    await Promise.all([alive.stop(), here.stop()]);
  }
});
