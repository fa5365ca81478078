import pg from 'pg';
import {
  DatabaseUnavailable,
  isRefusedByServer,
  isUnavailable,
  openPool,
} from '../../src/postgres/database.js';
import { createTestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { openForEach, openOnce } from '../support/opened.js';

const database = openOnce(() => createTestDatabase({ migrated: false }), 'drop');
const options = { max: 2, applicationName: 'pool-test', statementTimeoutMs: 300 };
const pool = openForEach(() => openPool({ url: database.url, ...options }), 'end');

async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('it went well');
    },
    (error: unknown) => error,
  );
}

test('bigint is parsed as BigInt, alone and in arrays, and only in our pools', async () => {
  const { rows } = await pool.query(
    `select 9007199254740993 as big, array[1, null, 2]::bigint[] as many, count(*) as counted, 7 as small from pg_class where false`,
  );
  expect(rows).toEqual([{ big: 9007199254740993n, many: [1n, null, 2n], counted: 0n, small: 7 }]);
  const other = new pg.Client(database.url);
  await other.connect();
  expect((await other.query('select 1::bigint as big')).rows).toEqual([{ big: '1' }]);
  await other.end();
});

test('the address is resolved at every connect', async () => {
  let url = 'postgresql://missing:x@127.0.0.1:1/none';
  const following = openPool({ url: () => url, max: 1, applicationName: 'pool-test' });
  expect(isUnavailable(await refusalOf(following.query('select 1')))).toBe(true);
  url = database.url;
  expect((await following.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await following.end();
});

test('a connection that is cut between statements is replaced without an error', async () => {
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const other = new pg.Client(database.url);
  await other.connect();
  await other.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  await other.end();
  await eventually(async () => (await pool.query('select 1')).rows.length === 1);
});

test('every error of an unreachable server counts as unavailable', async () => {
  const client = await pool.connect();
  const cut = refusalOf(client.query('select pg_terminate_backend(pg_backend_pid())'));
  expect(isUnavailable(await cut)).toBe(true);
  expect(isUnavailable(await refusalOf(client.query('select 1')))).toBe(true);
  client.release();
  expect(isUnavailable(await refusalOf(pool.query('select pg_sleep(30)')))).toBe(true);
  expect(isUnavailable(new DatabaseUnavailable('away'))).toBe(true);
  expect(isRefusedByServer(new DatabaseUnavailable('away'))).toBe(false);
  expect(
    isUnavailable(
      new Error('outer', { cause: Object.assign(new Error('inner'), { code: '57P03' }) }),
    ),
  ).toBe(true);
  expect(
    isUnavailable(
      new AggregateError([Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })]),
    ),
  ).toBe(true);
});

test('a full pool counts as unavailable', async () => {
  const taken = await Promise.all([pool.connect(), pool.connect()]);
  expect(isUnavailable(await refusalOf(pool.query('select 1')))).toBe(true);
  for (const client of taken) client.release();
});

test.each([
  ['08006', 'the connection broke'],
  ['25006', 'read-only'],
  ['40001', 'could not be serialised'],
  ['40P01', 'deadlock'],
  ['53100', 'disk full'],
  ['53200', 'out of memory'],
  ['53300', 'too many connections'],
  ['55P03', 'a lock was not granted in time'],
  ['57014', 'cut off'],
  ['57P01', 'shutting down'],
  ['58030', 'the disk failed'],
])('state %s (%s) counts as unavailable, as the server itself says', async (state) => {
  const failing = pool.query(`do $$ begin raise exception 'no' using errcode = '${state}'; end $$`);
  const error = await refusalOf(failing);
  expect({ away: isUnavailable(error), byServer: isRefusedByServer(error) }).toEqual({
    away: true,
    byServer: true,
  });
});

test('a wrong statement does not count as unavailable', async () => {
  expect(isUnavailable(await refusalOf(pool.query('select 1 / 0')))).toBe(false);
  expect(isUnavailable(await refusalOf(pool.query('selct')))).toBe(false);
  expect(isUnavailable(new Error('no'))).toBe(false);
  expect(isUnavailable(undefined)).toBe(false);
});

test('a frozen server causes an error, and its connection is not reused', async () => {
  const client = await pool.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = rows[0]?.pid ?? 0;
  process.kill(pid, 'SIGSTOP');
  try {
    expect(isUnavailable(await refusalOf(client.query('select 1')))).toBe(true);
    expect(isUnavailable(await refusalOf(client.query('rollback')))).toBe(true);
    client.release();
    expect(
      (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid,
    ).not.toBe(pid);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

test('a Unix socket that is gone, or has too many waiting, is an unavailable server', async () => {
  const url = `postgresql://missing:x@${encodeURIComponent('/nowhere/at/all')}:5432/none`;
  const away = openPool({ url, max: 1, applicationName: 'pool-test' });
  const error = await refusalOf(away.query('select 1'));
  expect(error).toMatchObject({ code: 'ENOENT', syscall: 'connect' });
  expect(isUnavailable(error)).toBe(true);
  await away.end();
  const full = Object.assign(new Error('connect EAGAIN'), { code: 'EAGAIN', syscall: 'connect' });
  expect(isUnavailable(full)).toBe(true);
  const file = Object.assign(new Error('open ENOENT'), { code: 'ENOENT', syscall: 'open' });
  expect(isUnavailable(file)).toBe(false);
});
