import { once } from 'node:events';
import { addJob, Jobs, JOBS, type Job } from '../../src/work-queue/jobs.js';
import { workFigures, workStore } from '../../src/work-queue/work-items.js';
import { isUnavailable, openPool } from '../../src/postgres/database.js';
import { openForEach } from '../support/opened.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';

let work: (payload: Readonly<Record<string, string>>) => Promise<void>;
const ran: (readonly [string, string])[] = [];

beforeEach(() => void ran.splice(0));
afterEach(() => {
  proxy.accept();
  proxy.thaw();
});
const { database, pool: direct } = useDatabase(4, { each: true });
const line = openForEach(() => startPostgresProxy(database.url));
const proxy = openForEach(() => line.proxy, 'close');
const pool = openForEach(() => openPool({ url: line.url, max: 5, applicationName: 'jobs' }), 'end');
const jobs = openForEach(() => {
  const handler: typeof work = (payload) => work(payload);
  return new Jobs({
    store: workStore(pool),
    presence: { id: 1 },
    handlers: {
      'settle-reward': handler,
      'finish-moderation': handler,
      'finish-erasure': handler,
      'repeat-lost-jobs': handler,
    },
    regular: { 'purge-idempotency-keys': handler },
    isUnavailable,
    observe: { ran: (task, _, outcome) => ran.push([task, outcome]) },
  });
}, 'stop');

const job = (key: string, inMs = 0, payload: Job['payload'] = {}): Job => ({
  task: 'settle-reward',
  key,
  payload,
  runAt: Date.now() + inMs,
});
const add = (...added: Parameters<typeof job>): Promise<void> =>
  addJob(workStore(direct), job(...added));

const jobsLeft = async (): Promise<readonly string[]> =>
  (
    await direct.query<{ id: string }>(
      `select id from ledger.work_items where id not like 'purge%' order by id`,
    )
  ).rows.map(({ id }) => id);
const noneLeft = async (): Promise<boolean> => (await jobsLeft()).length === 0;
const change = (key: string, how: string) =>
  direct.query(`update ledger.work_items set ${how} where id = $1`, [key]);

test('the figures of jobs count what is due, runs, or is given up, and not what is to come', async () => {
  const empty = { due: 0, running: 0, givenUp: 0, oldestDueSeconds: 0 };
  expect(await workFigures(direct, JOBS)).toEqual(empty);
  for (const [key, inMs] of [
    ['due', -60_000],
    ['due since', -3_600_000],
    ['later', 86_400_000],
    ['claimed', -86_400_000],
    ['dead', -86_400_000],
  ] as const)
    await add(key, inMs);
  await change('claimed', 'claimed_by = 9');
  await change('dead', 'given_up_at = now()');
  const figures = await workFigures(direct, JOBS);
  expect(figures).toMatchObject({ due: 2, running: 1, givenUp: 1 });
  expect(figures.oldestDueSeconds).toBeGreaterThanOrEqual(3_600);
  expect(figures.oldestDueSeconds).toBeLessThan(86_400);
});

test('each run of a job is reported with its outcome, and the last failure gives it up with its name alone', async () => {
  work = async ({ fails }) => {
    if (fails !== undefined) throw new RangeError('a value of a client');
  };
  await add('good');
  await add('bad', 0, { fails: 'once' });
  await add('hopeless', 0, { fails: 'again' });
  await change('hopeless', 'attempts = 24');
  await jobs.start();
  await eventually(async () => ran.length === 3 && (await workFigures(direct, JOBS)).running === 0);
  expect([...ran].sort()).toEqual([
    ['settle-reward', 'done'],
    ['settle-reward', 'failed'],
    ['settle-reward', 'given-up'],
  ]);
  const { rows } = await direct.query(
    `select id, reason, attempts, given_up_at is not null as "isGivenUp",
       due_at between now() + '1 s' and now() + '4 s' as "isSoon"
     from ledger.work_items where id in ('bad', 'hopeless') order by id`,
  );
  expect(rows).toEqual([
    { id: 'bad', reason: 'RangeError', attempts: 1, isGivenUp: false, isSoon: true },
    { id: 'hopeless', reason: 'RangeError', attempts: 25, isGivenUp: true, isSoon: false },
  ]);
});

test('a recurring job runs at its time and waits for its next one, and a time of hours ago is left out', async () => {
  let runs = 0;
  work = async () => void (runs += 1);
  const isNext = `select (due_at at time zone 'utc')::time = '03:17' and due_at > now() as "isNext" from ledger.work_items`;
  const next = async (): Promise<boolean> =>
    (await direct.query<{ isNext: boolean }>(isNext)).rows[0]?.isNext === true;
  await jobs.start();
  await eventually(next);
  await change(
    'purge-idempotency-keys',
    `due_at = now() - interval '1 hour', waiting_since = now() - interval '1 hour'`,
  );
  await eventually(next);
  expect(runs).toBe(0);
  await change(
    'purge-idempotency-keys',
    `due_at = now() - interval '1 s', waiting_since = now() - interval '1 s'`,
  );
  await eventually(next);
  expect(runs).toBe(1);
});

test('a job that is replaced while it runs runs once more, at the time of the replacement', async () => {
  const began: string[] = [];
  let end: () => void = () => undefined;
  work = async ({ nth = '' }) => {
    began.push(nth);
    if (nth === 'first') await new Promise<void>((resolve) => (end = resolve));
  };
  await add('one', 0, { nth: 'first' });
  await jobs.start();
  await eventually(async () => began.length === 1);
  await add('one', 3_600_000, { nth: 'second' });
  end();
  await eventually(async () => ran.length === 1 && (await workFigures(direct, JOBS)).running === 0);
  expect(await jobsLeft()).toEqual(['one']);
  await change('one', 'due_at = now(), waiting_since = now()');
  await eventually(noneLeft);
  expect(began).toEqual(['first', 'second']);
});

test.each([
  ['is cut', () => proxy.cut()],
  ['is refused for a while', () => proxy.refuse()],
])('a job that ends while the connection %s is recorded after the outage', async (_, breakLine) => {
  let runs = 0;
  let goOn: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    work = async () => {
      runs += 1;
      resolve();
      await new Promise<void>((release) => (goOn = release));
    };
  });
  await add('one');
  await jobs.start();
  await started;
  proxy.freeze();
  const asks = once(pool, 'acquire');
  goOn();
  await asks;
  breakLine();
  proxy.thaw();
  proxy.accept();
  await eventually(noneLeft);
  expect(runs).toBe(1);
});

test('a job that finds a store unreachable continues as soon as it is back, without a failure', async () => {
  let runs = 0;
  work = async () => {
    runs += 1;
    if (runs < 3) throw Object.assign(new Error('the store is away'), { code: 'ECONNREFUSED' });
  };
  await add('one');
  await jobs.start();
  await eventually(noneLeft);
  expect([runs, ran]).toEqual([3, [['settle-reward', 'done']]]);
});

test('a job that only the clock of the database calls due waits for the clock of its process', async () => {
  let ranAt = 0;
  work = async () => void (ranAt = Date.now());
  const early = job('one', 2_000);
  await addJob(workStore(direct), early);
  await change('one', 'due_at = now()');
  await jobs.start();
  await eventually(noneLeft);
  expect(ranAt).toBeGreaterThanOrEqual(early.runAt);
  expect(ran).toEqual([['settle-reward', 'done']]);
});
