import type pg from 'pg';
import { hasQueue } from '../../src/work-queue/add-job.js';
import { Jobs, type JobsObserver } from '../../src/work-queue/jobs.js';
import { queueDepth } from '../../src/work-queue/queue-depth.js';
import { openPool } from '../../src/postgres/database.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { handlersOf } from './support/handlers.js';

let database: TestDatabase;
let pool: pg.Pool;
let jobs: Jobs;
const ran: (readonly [string, string])[] = [];

const handler = async (payload?: Readonly<Record<string, string>>): Promise<void> => {
  if (payload?.['fails'] !== undefined) throw new Error('as it was told');
};

beforeEach(async () => {
  ran.length = 0;
  database = await createTestDatabase();
  pool = openPool({ url: database.url, max: 5, applicationName: 'jobs', bigintAsText: true });
  pool.on('connect', (client) => client.on('error', () => undefined));
  const observe: JobsObserver = {
    ran: (task, ms, outcome) => {
      if (!(ms >= 0)) throw new Error('a duration is missing');
      ran.push([task, outcome]);
    },
  };
  jobs = new Jobs(
    pool,
    { id: 1 },
    {
      handlers: handlersOf(handler),
      isUnavailable: () => false,
      logger: { warn: () => undefined },
      observe,
    },
  );
  await jobs.prepare();
});

afterEach(async () => {
  await jobs.stop();
  await pool.end();
  await database.drop();
});

const add = async (key: string, when: string, attemptsMax: number, payload = '{}') =>
  pool.query(
    `select graphile_worker.add_job('settle-reward', payload := $1::json, run_at := now() + $2::interval,
       job_key := $3, max_attempts := $4)`,
    [payload, when, key, attemptsMax],
  );

test('the depth of the queue counts what is due, runs, or is given up, and not what is to come', async () => {
  const empty = { due: 0, running: 0, givenUp: 0, oldestDueSeconds: 0 };
  expect(await queueDepth(pool)).toEqual(empty);
  for (const [key, when] of [
    ['due', '-1 minute'],
    ['due since', '-1 hour'],
    ['later', '1 year'],
    ['locked', '-1 day'],
    ['dead', '-1 day'],
  ] as const)
    await add(key, when, 25);
  const change = 'update graphile_worker._private_jobs set';
  await pool.query(`${change} locked_at = now(), locked_by = 'process-9' where key = 'locked'`);
  await pool.query(`${change} attempts = max_attempts where key = 'dead'`);
  const depth = await queueDepth(pool);
  expect(depth).toMatchObject({ due: 2, running: 1, givenUp: 1 });
  expect(depth.oldestDueSeconds).toBeGreaterThanOrEqual(3_600);
  expect(depth.oldestDueSeconds).toBeLessThan(86_400);
});

test('each run of a job is reported with its outcome', async () => {
  await add('good', '0', 25);
  await add('bad', '0', 25, '{"fails": "once"}');
  await add('hopeless', '0', 1, '{"fails": "for good"}');
  jobs.start();
  await eventually(async () => ran.length >= 3);
  expect([...ran].sort()).toEqual([
    ['settle-reward', 'done'],
    ['settle-reward', 'failed'],
    ['settle-reward', 'given-up'],
  ]);
});

test('a database has a queue once its jobs are prepared', async () => {
  const bare = await createTestDatabase();
  const own = openPool({ url: bare.url, max: 1, applicationName: 'bare' });
  expect([await hasQueue(own), await hasQueue(pool)]).toEqual([false, true]);
  await own.end();
  await bare.drop();
});
