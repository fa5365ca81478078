// Over 5 s: the whole contract over a proxy that breaks and freezes connections.
import { inspect } from 'node:util';
import pg from 'pg';
import { InvalidAppend } from '../../src/event-log/append-checks.js';
import { LogAheadOfClock } from '../../src/event-log/clock.js';
import { EventLogUnavailable, type EventLog } from '../../src/event-log/event-log.js';
import {
  PostgresEventLog,
  type PostgresEventLogOptions,
} from '../../src/event-log/postgres/postgres-event-log.js';
import { clockMovedBy, DAY_MS } from '../support/clock-of-process.js';
import { createTestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';
import {
  at,
  collect,
  event,
  eventLogContract,
  expectWhole,
  readToEnd,
  stored,
  untilAnswered,
  type LogUnderTest,
} from './event-log.contract.js';
import { openForEach } from '../support/opened.js';

interface PostgresUnderTest extends LogUnderTest {
  /** To the database itself, past the line that the log's connections go through. */
  readonly sql: pg.Client;
  /** Until a lock holds up a batch that one of the logs has under way (or none, with `false`). */
  untilWriterWaits(waits?: boolean): Promise<void>;
  open(options?: Omit<PostgresEventLogOptions, 'url'>): Promise<PostgresEventLog>;
}

const ordinal = (position: string): bigint => BigInt(position.split('-')[1] ?? '');

async function postgresLog(): Promise<PostgresUnderTest> {
  const database = await createTestDatabase();
  const { proxy, url } = await startPostgresProxy(database.url);
  const sql = await connect(database.url);
  // The template's log has an id, and its clones would all be one log.
  await sql.query('update ledger.log_head set log_id = gen_random_uuid()');
  const logs: EventLog[] = [];
  // Within a transaction all looks at the activity show what the first one saw, so this is another
  // connection.
  const watch = await connect(database.url);
  const clients = [sql, watch];
  const untilWriterWaits = (waits = true): Promise<void> =>
    eventually(async () => {
      const { rows } = await watch.query(
        `select from pg_stat_activity
          where datname = current_database() and application_name = 'ledger-log-writer' and wait_event_type = 'Lock'`,
      );
      return rows.length > 0 === waits;
    });
  return {
    sql,
    untilWriterWaits,
    ordinal,
    open: async (options) => {
      const log = await PostgresEventLog.open({ url, ...options });
      logs.push(log);
      return log;
    },
    cut: () => proxy.cut(),
    freeze: () => proxy.freeze(),
    thaw: () => proxy.thaw(),
    appendHeldOpen: async (stream) => {
      const writer = await connect(database.url);
      clients.push(writer);
      const { id, type, data, metadata } = event();
      await writer.query('begin');
      await writer.query('select ledger.append_one(null, $1, -1, $2, $3, $4, $5, $6, null)', [
        stream,
        id,
        type,
        data,
        metadata,
        Date.now(),
      ]);
      return {
        untilSomebodyWaits: () => untilWriterWaits(),
        commit: async () => {
          await writer.query('commit');
        },
      };
    },
    dispose: async () => {
      proxy.thaw();
      await Promise.all(logs.map((log) => log.close()));
      await Promise.all(clients.map((client) => client.end()));
      await proxy.close();
      await database.drop();
    },
  };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function backends(applicationName: string): Promise<readonly number[]> {
  const { rows } = await subject.sql.query<{ pid: number }>(
    'select pid from pg_stat_activity where datname = current_database() and application_name = $1',
    [applicationName],
  );
  return rows.map(({ pid }) => pid);
}

async function backend(applicationName: string): Promise<number> {
  await eventually(async () => (await backends(applicationName)).length > 0);
  const [pid] = await backends(applicationName);
  if (pid === undefined) throw new Error(`no ${applicationName}`);
  return pid;
}

eventLogContract('postgres', postgresLog);

const subject = openForEach(postgresLog, 'dispose');
const batches: number[] = [];
let log: PostgresEventLog;

beforeEach(async () => {
  batches.length = 0;
  log = await subject.open({ observe: { batch: (appends) => void batches.push(appends) } });
});

/** Holds the head, so that later appends gather in one batch. @returns how to release it. */
async function heldUp(): Promise<{ readonly first: Promise<unknown>; release(): Promise<void> }> {
  await subject.sql.query('begin');
  await subject.sql.query('select from ledger.log_head for update');
  const first = log.append('holds the writer', 'no-stream', [event()]);
  await subject.untilWriterWaits();
  return {
    first,
    release: async () => {
      await subject.sql.query('commit');
    },
  };
}

it('a batch takes all waiting appends, each with its own result', async () => {
  const taken = event();
  await log.append('taken', 'no-stream', [taken]);
  batches.length = 0;
  const { first, release } = await heldUp();
  const results = Promise.all([
    log.append('a', 'no-stream', [event(), event()]),
    log.append('taken', 'no-stream', [event()]),
    log.append('taken', 0n, [event()]),
    log.append('b', 3n, [event()]),
    log.append('c', 'no-stream', [event()]),
  ]);
  const repeat = log.append('taken', 'no-stream', [taken]);
  await release();
  await first;
  expect(await results).toEqual([
    expect.objectContaining({ kind: 'appended', revision: 1n }),
    { kind: 'conflict', expected: 'no-stream', actual: 0n },
    expect.objectContaining({ kind: 'appended', revision: 1n }),
    { kind: 'conflict', expected: 3n, actual: 'no-stream' },
    expect.objectContaining({ kind: 'appended', revision: 0n }),
  ]);
  expect(await repeat).toMatchObject({ kind: 'appended', revision: 0n });
  // The repeat has the expectation of one before it, so it waited for the next one.
  expect(batches).toEqual([1, 5, 1]);
  expectWhole(subject, await readToEnd(log));
});

it('a batch takes several appends to one stream, one after the other', async () => {
  const { first, release } = await heldUp();
  const results = [0, 1, 2, 3].map((revision) => log.append('chain', at(revision), [event()]));
  const broken = log.append('chain', 7n, [event()]);
  await release();
  await first;
  expect((await Promise.all(results)).map((result) => stored(result).revision)).toEqual([
    0n,
    1n,
    2n,
    3n,
  ]);
  expect(await broken).toEqual({ kind: 'conflict', expected: 7n, actual: 3n });
  expect(batches).toEqual([1, 5]);
});

it('a batch is bounded by appends and by bytes', async () => {
  const bounded = await subject.open({
    batchAppendsMax: 10,
    batchBytesMax: 64 * 1024,
    observe: { batch: (appends) => void batches.push(appends) },
  });
  await Promise.all(
    Array.from({ length: 100 }, (_, n) => bounded.append(`s${n}`, 'no-stream', [event()])),
  );
  expect(Math.max(...batches)).toBe(10);
  batches.length = 0;
  const large = { data: 'x'.repeat(30 * 1024) };
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => bounded.append(`large${n}`, 'no-stream', [event(large)])),
  );
  expect(Math.max(...batches)).toBe(2);
  // One that is over the bound by itself goes alone.
  await bounded.append('huge', 'no-stream', [event({ data: 'x'.repeat(100 * 1024) })]);
  expectWhole(subject, await readToEnd(log));
});

it('a batch stores the others when one of its appends cannot be stored', async () => {
  await subject.sql.query(
    `alter table ledger.events add constraint no_poison check (type <> 'Poison')`,
  );
  const { first, release } = await heldUp();
  const good = [1, 2, 3].map((n) => log.append(`good${n}`, 'no-stream', [event()]));
  const bad = log.append('bad', 'no-stream', [event({ type: 'Poison', data: '"private"' })]);
  const refused = bad.then(
    () => undefined,
    (error: unknown) => error,
  );
  await release();
  await first;
  // It says which rule was broken, and nothing of what was in the row.
  expect(await refused).toMatchObject({ message: expect.stringContaining('no_poison') });
  expect(inspect(await refused, { showHidden: true, depth: 9 })).not.toContain('private');
  for (const append of good) expect(await append).toMatchObject({ kind: 'appended' });
  expect(await collect(log.readStream('bad'))).toEqual([]);
  expectWhole(subject, await readToEnd(log));
});

it('a batch waits for a stream that another writer holds, and sees what it did', async () => {
  await log.append('held', 'no-stream', [event()]);
  await subject.sql.query('begin');
  await subject.sql.query(`update ledger.streams set revision = revision where stream = 'held'`);
  const behind = log.append('held', 0n, [event()]);
  await subject.untilWriterWaits();
  const { id, type, data, metadata } = event();
  await subject.sql.query(`select ledger.append_one(null, 'held', 0, $1, $2, $3, $4, $5, null)`, [
    id,
    type,
    data,
    metadata,
    Date.now(),
  ]);
  await subject.sql.query('commit');
  expect(await behind).toEqual({ kind: 'conflict', expected: 0n, actual: 1n });
});

it('the writing session commits to disk and reads committed rows under any default of the database', async () => {
  const { rows } = await subject.sql.query<{ name: string }>('select current_database() as name');
  const name = rows[0]?.name ?? '';
  await subject.sql.query(`alter database ${name} set synchronous_commit = off`);
  await subject.sql.query(
    `alter database ${name} set default_transaction_isolation = 'serializable'`,
  );
  await subject.sql.query(`create table ledger.seen (settings text)`);
  await subject.sql.query(
    `create function ledger.see() returns trigger language plpgsql as $$ begin
           insert into ledger.seen values (current_setting('synchronous_commit') || ', ' || current_setting('transaction_isolation')); return new; end $$`,
  );
  await subject.sql.query(
    'create trigger see after insert on ledger.events for each row execute function ledger.see()',
  );
  const fresh = await subject.open();
  await fresh.append('s', 'no-stream', [event()]);
  await fresh.append('s', 0n, [event(), event()]);
  expect((await subject.sql.query('select distinct settings from ledger.seen')).rows).toEqual([
    { settings: 'on, read committed' },
  ]);
});

it('the writing session continues immediately after its connection was ended, and so does the listening one', async () => {
  const retries: (string | undefined)[] = [];
  const robust = await subject.open({
    pollIntervalMs: 600_000,
    observe: { retry: (code) => void retries.push(code) },
  });
  const ending = new AbortController();
  const pages = robust.follow(undefined, { signal: ending.signal })[Symbol.asyncIterator]();
  const first = pages.next();
  await robust.append('s', 'no-stream', [event()]);
  await first;
  for (const name of ['ledger-log-writer', 'ledger-log-listener', 'ledger-log-reader']) {
    const pid = await backend(name);
    await subject.sql.query(
      'select pg_terminate_backend(pid, 5000) from pg_stat_activity where pid = $1',
      [pid],
    );
  }
  expect(await robust.append('s', 0n, [event()])).toMatchObject({ kind: 'appended' });
  expect((await pages.next()).value).toHaveLength(1);
  // Heard of again without looking: the listener is back.
  await backend('ledger-log-listener');
  const next = pages.next();
  await log.append('s', 1n, [event()]);
  expect((await next).value).toHaveLength(1);
  ending.abort();
});

it('the writing session listens for all tails on one connection, until it is closed', async () => {
  const followed = await subject.open({ pollIntervalMs: 600_000 });
  const listeners = () => backends('ledger-log-listener');
  const endings = [new AbortController(), new AbortController()];
  const [first, second] = endings.map(({ signal }) => {
    const pages = followed.follow(undefined, { signal })[Symbol.asyncIterator]();
    return { pages, next: pages.next() };
  });
  await followed.append('s', 'no-stream', [event()]);
  for (const tail of [first, second]) expect((await tail?.next)?.value).toHaveLength(1);
  const pid = await backend('ledger-log-listener');
  endings[0]?.abort();
  expect((await first?.pages.next())?.done).toBe(true);
  // Another process's append arrives, without polling.
  const next = second?.pages.next();
  await log.append('s', 0n, [event()]);
  expect((await next)?.value).toHaveLength(1);
  expect(await listeners()).toEqual([pid]);
  await second?.pages.return?.();
  await followed.close();
  await eventually(async () => (await listeners()).length === 0);
});

it('the writing session turns to a new connection when the server does not answer on its own', async () => {
  const patient = await subject.open({ appendTimeoutMs: 4_000 });
  await patient.append('s', 'no-stream', [event()]);
  const pids = await backends('ledger-log-writer');
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    expect(await patient.append('s', 0n, [event()])).toMatchObject({
      kind: 'appended',
      revision: 1n,
    });
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
  expect(await collect(patient.readStream('s'))).toHaveLength(2);
});

it('the writing session refuses when too many wait, and those that wait are stored', async () => {
  const narrow = await subject.open({ waitingAppendsMax: 5 });
  await narrow.append('s', 'no-stream', [event()]);
  await subject.sql.query('begin');
  await subject.sql.query('select from ledger.log_head for update');
  const appends = Array.from({ length: 12 }, (_, n) =>
    narrow.append(`s${n}`, 'no-stream', [event()]),
  );
  const outcomes = Promise.allSettled(appends);
  await expect(appends[11]).rejects.toThrow(EventLogUnavailable);
  await subject.sql.query('commit');
  const stored = (await outcomes).filter(({ status }) => status === 'fulfilled');
  expect(stored).toHaveLength(5);
  expect(await readToEnd(log)).toHaveLength(6);
});

it('the writing session gives up an append that a lock holds longer than its time, and does not keep the server busy with it', async () => {
  const hasty = await subject.open({ appendTimeoutMs: 300 });
  await subject.sql.query('begin');
  await subject.sql.query('select from ledger.log_head for update');
  const events = [event()];
  await expect(hasty.append('s', 'no-stream', events)).rejects.toThrow(EventLogUnavailable);
  await subject.untilWriterWaits(false);
  await subject.sql.query('commit');
  expect(await untilAnswered(() => hasty.append('s', 'no-stream', events))).toMatchObject({
    kind: 'appended',
    revision: 0n,
  });
  expect(await readToEnd(log)).toHaveLength(1);
});

it('the writing session does not write into another log at its address', async () => {
  const hasty = await subject.open({ appendTimeoutMs: 300 });
  const first = [event()];
  await untilAnswered(() => hasty.append('s', 'no-stream', first));
  await subject.sql.query('update ledger.log_head set log_id = gen_random_uuid()');
  subject.cut();
  await expect(hasty.append('s', 0n, [event()])).rejects.toThrow(EventLogUnavailable);
  expect((await subject.sql.query('select from ledger.events')).rows).toHaveLength(1);
});

it('the log on postgres is read through the indexes, also by plans that were made when it was empty', async () => {
  await subject.sql.query('analyze ledger.events, ledger.streams');
  const fresh = await subject.open({ readConnectionsMax: 1 });
  for (let n = 0; n < 10; n++) {
    await collect(fresh.readStream('s'));
    await fresh.readAll(undefined, 10);
  }
  await Promise.all(
    Array.from({ length: 300 }, (_, n) => fresh.append(`s${n}`, 'no-stream', [event()])),
  );
  await fresh.append('s0', 0n, [event()]);
  await collect(fresh.readStream('s1'));
  await subject.sql.query('select pg_stat_force_next_flush()');
  const scans = async () => {
    const { rows } = await subject.sql.query<{ scans: string }>(
      `select pg_stat_clear_snapshot(), sum(seq_scan) as scans from pg_stat_user_tables where relname in ('events', 'streams')`,
    );
    return Number(rows[0]?.scans);
  };
  // Analyse itself is no scan; making the indexes' constraints was none either.
  expect(await scans()).toBe(0);
});

it('the log on postgres records no entry before the newest one while the clocks differ by minutes', async () => {
  await log.append('s', 'no-stream', [event()]);
  const ahead = Date.now() + 240_000;
  await subject.sql.query('update ledger.log_head set recorded_at = $1', [ahead]);
  await log.append('s', 0n, [event()]);
  await log.append('s', 1n, [event(), event()]);
  expect(
    (await collect(log.readStream('s', { from: 1n }))).map(({ recordedAt }) => recordedAt),
  ).toEqual([ahead, ahead, ahead]);
});

it('the log on postgres records the time of the clock after a later entry was accepted, by every process', async () => {
  const leave = clockMovedBy(40 * DAY_MS);
  await log.append('s', 'no-stream', [event()]);
  leave();
  const accepting = await subject.open({ acceptsClock: true });
  await accepting.append('s', 0n, [event()]);
  await log.append('s', 1n, [event()]);
  await log.append('s', 2n, [event(), event()]);
  const [ahead = 0, ...later] = (await collect(log.readStream('s'))).map((e) => e.recordedAt);
  expect(ahead).toBeGreaterThan(Date.now() + 39 * DAY_MS);
  for (const at of later) expect(Math.abs(at - Date.now())).toBeLessThan(60_000);
});

it('the log on postgres needs to be accepted again after every later entry ahead of the clock', async () => {
  for (const [revision, days] of [
    ['no-stream', 40],
    [1n, 20],
  ] as const) {
    const leave = clockMovedBy(days * DAY_MS);
    await log.append('s', revision, [event()]);
    leave();
    const next = revision === 'no-stream' ? 0n : 2n;
    await expect(log.append('s', next, [event()])).rejects.toThrow(LogAheadOfClock);
    const accepting = await subject.open({ acceptsClock: true });
    await accepting.append('s', next, [event()]);
  }
});

it('the log on postgres refuses a batch of appends ahead of the clock as a whole, and answers repeated ones', async () => {
  const leave = clockMovedBy(DAY_MS);
  const first = [event()];
  await log.append('s', 'no-stream', first);
  leave();
  const results = await Promise.allSettled([
    log.append('a', 'no-stream', [event()]),
    log.append('b', 'no-stream', [event(), event()]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await log.append('s', 'no-stream', first)).toMatchObject({ kind: 'appended' });
  expect(await collect(log.readStream('b'))).toEqual([]);
});

it('the log on postgres reports every outcome to its observer', async () => {
  const outcomes: string[] = [];
  const observed = await subject.open({
    observe: { append: (ms, outcome) => void outcomes.push(`${outcome} ${ms >= 0}`) },
  });
  const events = [event()];
  await observed.append('s', 'no-stream', events);
  await observed.append('s', 'no-stream', events);
  await observed.append('s', 'no-stream', [event()]);
  await expect(observed.append('', 'no-stream', [event()])).rejects.toThrow(InvalidAppend);
  await observed.close();
  await expect(observed.append('s', 0n, [event()])).rejects.toThrow(EventLogUnavailable);
  expect(outcomes).toEqual(['appended true', 'appended true', 'conflict true', 'failed true']);
});

it('the log on postgres reports at opening that it is unreachable, or that the database is foreign', async () => {
  await expect(
    PostgresEventLog.open({ url: 'postgres://missing@127.0.0.1:1/none' }),
  ).rejects.toThrow(EventLogUnavailable);
  const empty = await createTestDatabase({ migrated: false });
  const opening = PostgresEventLog.open({ url: empty.url });
  await expect(opening).rejects.toThrow(/log_head/);
  await expect(opening).rejects.not.toThrow(EventLogUnavailable);
  await empty.drop();
});
