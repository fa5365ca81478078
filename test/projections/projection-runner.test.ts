// Over 5 s: each course has a database of its own.
import type pg from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { rewardsProjector } from '../../projections/rewards/projector.js';
import { usersProjector } from '../../projections/users/projector.js';
import { liveCheckpoints, type Checkpoint } from '../../src/projecting/checkpoints.js';
import { ensureLiveGenerations } from '../../src/projecting/generations/generations.js';
import { LiveGenerations } from '../../src/projecting/generations/live-generations.js';
import { decodePage } from '../../src/projecting/page.js';
import { GenerationStore } from '../../src/projecting/generations/generation-store.js';
import { ProjectionTrack } from '../../src/projecting/following/projection-track.js';
import type { Projector } from '../../src/projecting/projector.js';
import {
  accountOpened,
  anAccount,
  credit,
  creditRedeemed,
  erasureRequested,
  partyOf,
  personOf,
  rewardGranted,
  userIdentified,
  type TestAccount,
} from '../support/account-events.js';
import { ErrorLines } from '../support/error-lines.js';
import { eventually } from '../support/embedded.js';
import { withApply } from '../support/next-release.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { openForEach } from '../support/opened.js';

const ALL = accountProjectors.map(({ name }) => name);
const WITHIN_MS = 10_000;
const scope = { tenant: 'demo', mode: 'live' } as const;
const acme = anAccount('acme');
const other = anAccount('other');

const projected = openForEach(() => ProjectedLedger.open(), 'close');

const usersCounted = async () =>
  (await projected.users().list(scope, { limit: 0, offset: 0 })).totalCount;
const usersStored = async () =>
  (await projected.users().list(scope, { limit: 1_000, offset: 0 })).items.length;
const manyUsers = (account: TestAccount, from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => userIdentified(account, `u${from + index}`));

/** A pool whose statements a test can let fail, before they are sent or when their answer comes. */
function unreliable(pool: pg.Pool): {
  pool: pg.Pool;
  failing: (when: 'before' | 'after', matching: RegExp, times: number) => void;
  failed: () => number;
} {
  let plan: { when: 'before' | 'after'; matching: RegExp; left: number } | undefined;
  let failures = 0;
  const query = async (...args: [pg.QueryConfig | string, unknown[]?]): Promise<pg.QueryResult> => {
    const [statement] = args;
    const text = typeof statement === 'string' ? statement : statement.text;
    const hit = plan && plan.left > 0 && plan.matching.test(text) ? plan : undefined;
    if (hit) {
      hit.left -= 1;
      failures += 1;
      if (hit.when === 'after') await pool.query(...args);
      throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
    }
    return pool.query(...args);
  };
  return {
    // Everything else is the pool's own; `this` stays the pool, so that it can use its own parts.
    pool: Object.assign(Object.create(pool) as pg.Pool, { query, connect: () => pool.connect() }),
    failing: (when, matching, times) => (plan = { when, matching, left: times }),
    failed: () => failures,
  };
}

test.each(['before', 'after'] as const)(
  'rows and checkpoint stay consistent when the connection breaks %s a write: nothing is lost or counted twice',
  async (when) => {
    const { pool, failing, failed } = unreliable(projected.openPool());
    failing(when, /insert into "rm_users_1"/, 3);
    const runner = projected.startRunner({ pool, pageSize: 10 });
    const position = await projected.ledger.happened(
      acme,
      accountOpened(acme),
      ...manyUsers(acme, 0, 50),
    );
    expect(await runner.waitFor(position, ALL, WITHIN_MS)).toBe(true);
    expect(failed()).toBe(3);
    expect([await usersCounted(), await usersStored()]).toEqual([50, 50]);
  },
);

test('read models that lag behind another one share the pages that they catch up with', async () => {
  await projected.ledger.happened(acme, accountOpened(acme));
  const first = projected.startRunner({ projectors: [usersProjector] });
  const position = await projected.ledger.happened(acme, ...manyUsers(acme, 0, 50));
  expect(await first.waitFor(position, ['users'], WITHIN_MS)).toBe(true);
  await first.stop();
  let decoded = 0;
  const runner = projected.startRunner({
    pageSize: 10,
    decode: (recorded) => {
      decoded += recorded.length;
      return projected.ledger.decode(recorded);
    },
  });
  expect(await runner.waitFor(position, ALL, WITHIN_MS)).toBe(true);
  expect(decoded).toBe(51);
});

test('rows and checkpoint are not written by a writer that lost the race (fencing)', async () => {
  await ensureLiveGenerations(projected.pool, accountProjectors);
  await projected.ledger.happened(acme, accountOpened(acme), ...manyUsers(acme, 0, 3));
  const page = await decodePage(
    await projected.log.readAll(undefined, 100),
    projected.ledger.decode,
  );
  const [checkpoint] = await liveCheckpoints(projected.pool, [usersProjector]);
  if (!page || !checkpoint) throw new Error('nothing to apply');
  const [first, second] = [1, 2].map(
    () =>
      new ProjectionTrack(usersProjector, 1, {
        rows: new GenerationStore(projected.pool, usersProjector, 1),
        log: projected.log,
        knownTypes: usersProjector.handles,
      }),
  );
  await first?.restoreFrom(checkpoint);
  await second?.restoreFrom(checkpoint);
  const outcomes = await Promise.allSettled([first?.apply(page), second?.apply(page)]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(outcomes.find((outcome) => outcome.status === 'rejected')?.reason).toMatchObject({
    name: 'CheckpointMoved',
  });
  expect([await usersCounted(), await usersStored()]).toEqual([3, 3]);
  const [after] = await liveCheckpoints(projected.pool, [usersProjector]);
  expect(after).toMatchObject({ position: page.last, version: '1' });
});

test('an event that is in the rows already is not applied again, wherever a page begins', async () => {
  await ensureLiveGenerations(projected.pool, accountProjectors);
  const ann = partyOf(acme, 'ann');
  const granted = rewardGranted('w1', ann, credit(100));
  const first = await projected.ledger.happened(
    acme,
    granted,
    creditRedeemed(granted, 'r1', 30, 2_000),
  );
  const track = new ProjectionTrack(rewardsProjector, 1, {
    rows: new GenerationStore(projected.pool, rewardsProjector, 1),
    log: projected.log,
    knownTypes: rewardsProjector.handles,
  });
  const [checkpoint] = await liveCheckpoints(projected.pool, [rewardsProjector]);
  const pageFromStart = async () =>
    decodePage(await projected.log.readAll(undefined, 100), projected.ledger.decode);
  const page = await pageFromStart();
  if (!page || !checkpoint) throw new Error('nothing to apply');
  await track.restoreFrom(checkpoint);
  await track.apply(page);
  expect(track.position).toBe(first);
  await projected.ledger.happened(acme, creditRedeemed(granted, 'r2', 5, 2_100));
  const longer = await pageFromStart();
  if (!longer) throw new Error('nothing to apply');
  await track.apply(longer);
  const { rows } = await projected.pool.query(
    'select redeemed_credit::integer as redeemed, redeemed_times::integer as times from rm_rewards_1.rewards',
  );
  expect(rows).toEqual([{ redeemed: 35, times: 2 }]);
});

test('leading is lost with the connection that holds the locks, and taken again', async () => {
  const runners = [
    projected.startRunner({ pool: projected.openPool() }),
    projected.startRunner({ pool: projected.openPool() }),
  ];
  const leaders = () => runners.filter((runner) => ALL.every((name) => runner.leads(name)));
  await eventually(() => leaders().length === 1);
  await projected.pool.query(
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and pid <> pg_backend_pid()
          and database = (select oid from pg_database where datname = current_database())`,
  );
  const position = await projected.ledger.happened(acme, ...manyUsers(acme, 0, 5));
  expect(
    await Promise.all(runners.map((runner) => runner.waitFor(position, ALL, WITHIN_MS))),
  ).toEqual([true, true]);
  expect([await usersCounted(), await usersStored()]).toEqual([5, 5]);
});

test('a refresh of the live generations sees the commits before it, whatever read is in flight', async () => {
  await ensureLiveGenerations(projected.pool, accountProjectors);
  const { pool } = projected;
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  let read = 0;
  const query = async (text: string, values?: unknown[]) => {
    const rows = await pool.query(text, values);
    if (read++ === 0) await held;
    return rows;
  };
  const generations = new LiveGenerations(
    Object.assign(Object.create(pool) as pg.Pool, { query }),
    accountProjectors,
  );
  const earlier = generations.refresh();
  await eventually(() => read === 1);
  await pool.query('update ledger.projection_generations set complete = false');
  const later = generations.refresh();
  answer();
  await Promise.all([earlier, later]);
  expect(generations.areShown).toBe(false);
});

const failingOn = (userId: string): readonly Projector[] =>
  withApply(usersProjector, ({ event, ...rest }, rows) => {
    usersProjector.apply({ event, ...rest }, rows);
    // After the rows were changed, so that taking the changes back is tested too.
    if (event.type === 'UserIdentified' && event.profile.value?.id === userId)
      throw new Error('contradiction');
  });
type Parked = {
  projection: string;
  stream: string;
  revision: number;
  position: string;
  reason: string;
};
const parkedEvents = async (): Promise<Parked[]> => {
  const parked = await projected.pool.query<Parked>(
    'select projection, stream, revision::integer as revision, position, reason from ledger.parked_streams order by revision',
  );
  return parked.rows;
};

test('an event that cannot be applied parks its stream, in order, also over a restart, and other streams continue', async () => {
  const logger = new ErrorLines();
  const runner = projected.startRunner({ projectors: failingOn('u1'), logger });
  await projected.ledger.happened(acme, ...manyUsers(acme, 0, 3));
  await projected.ledger.happened(other, ...manyUsers(other, 0, 1));
  const position = await projected.ledger.happened(acme, ...manyUsers(acme, 3, 4));
  expect(await runner.waitFor(position, ALL, WITHIN_MS)).toBe(true);
  expect([await usersCounted(), await usersStored()]).toEqual([2, 2]);
  const parked = [
    {
      projection: 'users',
      stream: acme.stream,
      revision: 1,
      position: 'm-2',
      reason: 'Error: contradiction',
    },
  ];
  expect(await parkedEvents()).toEqual(parked);
  await runner.stop();
  const next = projected.startRunner({ logger });
  const later = await projected.ledger.happened(acme, userIdentified(acme, 'u9'));
  expect(await next.waitFor(later, ALL, WITHIN_MS)).toBe(true);
  expect(await parkedEvents()).toEqual(parked);
  const users = (await next.status()).find(({ projection }) => projection === 'users');
  expect(users).toMatchObject({
    parkedStreams: 1,
    parkedBecause: 'Error: contradiction',
    position: later,
    lastError: null,
  });
  expect(logger.lines).toEqual([
    {
      projection: 'users',
      generation: 1,
      position: 'm-2',
      error: 'Error: contradiction',
      message: 'an event cannot be applied: its stream is parked for this read model',
    },
  ]);
});

test('an event that cannot be applied does not keep an erasure in its stream waiting: the people are gone, and what follows stays parked', async () => {
  const runner = projected.startRunner({ projectors: failingOn('u1') });
  await projected.ledger.happened(acme, accountOpened(acme), ...manyUsers(acme, 0, 2));
  const person = personOf(acme, 'u0');
  const before = await projected.ledger.happened(other, ...manyUsers(other, 0, 1));
  expect(await runner.waitFor(before, ALL, WITHIN_MS)).toBe(true);
  expect([await usersCounted(), await usersStored()]).toEqual([2, 2]);
  const position = await projected.ledger.happened(acme, erasureRequested([person]));
  expect(await runner.waitFor(position, ALL, WITHIN_MS)).toBe(true);
  expect([await usersCounted(), await usersStored()]).toEqual([1, 1]);
  const { rows } = await projected.pool.query('select person from rm_users_1.users');
  expect(rows).toEqual([{ person: personOf(other, 'u0') }]);
  expect((await parkedEvents()).filter(({ projection }) => projection === 'users')).toMatchObject([
    { stream: acme.stream, revision: 2, reason: 'Error: contradiction' },
  ]);
});

test('an event that cannot be applied is found among hundreds when it is Postgres that refuses it', async () => {
  await projected.ledger.happened(acme, ...manyUsers(acme, 0, 100));
  // A NUL character: JSON can carry it, a text column cannot.
  await projected.ledger.happened(
    other,
    userIdentified(other, 'good'),
    userIdentified(other, 'bad', { firstName: 'N\u0000' }),
    userIdentified(other, 'late'),
  );
  const position = await projected.ledger.happened(acme, ...manyUsers(acme, 100, 200));
  const runner = projected.startRunner();
  expect(await runner.waitFor(position, ALL, WITHIN_MS)).toBe(true);
  expect([await usersCounted(), await usersStored()]).toEqual([201, 201]);
  const ofUsers = (await parkedEvents()).filter(({ projection }) => projection === 'users');
  expect(ofUsers).toMatchObject([
    { stream: other.stream, revision: 1, reason: expect.stringMatching(/^database error 22/) },
  ]);
});

test('an event that cannot be applied and cannot be decoded parks its stream in the projections that read it, and other streams continue', async () => {
  const runner = projected.startRunner();
  await projected.ledger.happened(acme, accountOpened(acme));
  await projected.ledger.happenedUndecodably(acme, userIdentified(acme, 'ann'));
  await projected.ledger.happened(
    acme,
    rewardGranted('w1', partyOf(acme, 'ann'), credit(5)),
    userIdentified(acme, 'bob'),
  );
  const position = await projected.ledger.happened(other, ...manyUsers(other, 0, 1));
  expect(await runner.waitFor(position, ALL, WITHIN_MS)).toBe(true);
  expect([await usersCounted(), await usersStored()]).toEqual([1, 1]);
  expect((await parkedEvents()).filter(({ projection }) => projection === 'users')).toEqual([
    {
      projection: 'users',
      stream: acme.stream,
      revision: 1,
      position: 'm-2',
      reason: 'cannot be decoded: written by a later release',
    },
  ]);
  const status = await runner.status();
  expect(
    status.filter(({ unreadableStreams }) => unreadableStreams > 0).map((row) => row.projection),
  ).toEqual(['users', 'referral-codes']);
  expect(status.every(({ lastError }) => lastError === null)).toBe(true);
});

test('an event that cannot be applied and is an erasure stops the projections, which show no person that it may forget', async () => {
  const runner = projected.startRunner();
  await projected.ledger.happened(acme, accountOpened(acme));
  const { id } = await projected.ledger.happenedUndecodably(
    acme,
    erasureRequested([personOf(acme, 'ann')]),
  );
  const position = await projected.ledger.happened(other, ...manyUsers(other, 0, 1));
  const stopped = async () =>
    (await liveCheckpoints(projected.pool, accountProjectors)).filter(isStopped);
  const withPeople = accountProjectors.filter(({ handles }) => handles.has('ErasureRequested'));
  const nameless: readonly string[] = ['exports'];
  expect(withPeople.map(({ name }) => name)).toEqual(
    ALL.filter((name) => !nameless.includes(name)),
  );
  await eventually(async () => (await stopped()).length === withPeople.length);
  const users = (await stopped()).find(({ projection }) => projection === 'users');
  expect(users).toMatchObject({
    position: 'm-1',
    lastError: expect.stringContaining('m-2 cannot be decoded: written by a later release'),
  });
  expect(await runner.waitFor(position, ALL, 30)).toBe(false);
  projected.ledger.undecodable.delete(id);
  expect(await runner.waitFor(position, ALL, WITHIN_MS)).toBe(true);
  await eventually(async () =>
    (await runner.status()).every(({ lastError }) => lastError === null),
  );
});

const isStopped = ({ lastError }: Checkpoint): boolean => lastError !== null;

test('following waits for a log that is away', async () => {
  const runner = projected.startRunner();
  await eventually(() => runner.leads('users'));
  const position = await projected.ledger.happened(acme, ...manyUsers(acme, 0, 3));
  projected.log.away = true;
  expect(await runner.waitFor('m-4', ALL, 20)).toBe(false);
  projected.log.comeBack();
  const later = await projected.ledger.happened(acme, ...manyUsers(acme, 3, 5));
  expect(projected.log.compare(later, position)).toBeGreaterThan(0);
  expect(await runner.waitFor(later, ALL, WITHIN_MS)).toBe(true);
  expect(await usersCounted()).toBe(5);
});
