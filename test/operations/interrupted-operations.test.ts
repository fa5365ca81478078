import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import {
  rebuildProjections,
  showHistory,
  showStatus,
} from '../../src/operations/projections/projection-commands.js';
import {
  chosenOf,
  type ProjectionOperator,
} from '../../src/operations/projections/projection-operator.js';
import type { Outcome } from '../../src/operations/outcome.js';
import { eventually } from '../support/embedded.js';
import { personal, useService, type TestTenant } from '../support/running-service.js';
import { Refused, insisting, withProjections } from '../support/operations.js';

/** Commands that are killed, or stopped, in the middle of what they do. */

const running = useService();
let tenant: TestTenant;

beforeAll(async () => {
  tenant = await running.service.createTenant();
  await open();
});

async function open(): Promise<void> {
  const [account, user] = [personal('acc'), personal('usr')];
  const created = await tenant.live.post(`/open/account/${account}/user/${user}`, {
    id: user,
    accountId: account,
  });
  expect(created.status).toBeLessThan(300);
}

const users = async (): Promise<number> =>
  (await tenant.live.get<{ totalCount: number }>('/users')).body.totalCount;

function start(...words: readonly string[]): {
  readonly child: ChildProcessWithoutNullStreams;
  readonly err: () => string;
} {
  const { databaseUrl, masterKeyFile } = running.stores;
  const env = { ...process.env, DATABASE_URL: databaseUrl, MASTER_KEY_FILE: masterKeyFile };
  const child = spawn(process.execPath, ['dist/bin/cli.js', ...words], { env });
  let err = '';
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return { child, err: () => err };
}

function operate<T>(work: (operator: ProjectionOperator) => Promise<Outcome<T>>): Promise<T> {
  const { core } = running.service.service;
  return insisting(withProjections<T>)(
    core,
    {
      by: { name: 'test', channel: 'cli' },
      signal: new AbortController().signal,
      warn: () => undefined,
    },
    work,
  );
}

/**
 * The server may take a moment to see that the other end of a connection is gone, and to give up
 * its lock.
 */
async function rebuiltUsers(): Promise<object> {
  let built: object | undefined;
  await eventually(async () => {
    built = await operate((operator) =>
      rebuildProjections(operator, chosenOf(operator, { projection: 'users' })),
    ).catch((error: unknown) => {
      if (error instanceof Refused && error.code === 'REFUSED') return undefined;
      return error instanceof Error ? error : {};
    });
    return built !== undefined;
  });
  return built ?? {};
}

const statusOfUsers = async () => (await operate(showStatus)).find(({ name }) => name === 'users');

/**
 * Holds others up at what the statement locks, until one of them waits there and the work on it is
 * done.
 */
async function heldUpAt(
  lock: string,
  application: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const { pool } = running.service.service.core;
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(lock);
    await eventually(async () => {
      // On another connection: within a transaction the first answer stays.
      const { rows } = await pool.query(
        `select from pg_stat_activity where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`,
        [application],
      );
      return rows.length > 0;
    });
    await work();
  } finally {
    await client.query('rollback');
    client.release();
  }
}

const generations = async (): Promise<readonly { generation: number; state: string }[]> => {
  const { rows } = await running.service.service.core.pool.query<{
    generation: number;
    state: string;
  }>(
    `select generation, state from ledger.projection_generations where projection = 'users' order by generation`,
  );
  return rows;
};

test('a killed rebuild leaves the live read models unchanged, and the next one removes its rest and succeeds', async () => {
  expect(await users()).toBe(1);
  const { child } = start('projection', 'rebuild', 'users');
  const ended = once(child, 'exit');
  // Where the new generation, written and indexed, is to be compared with the live one.
  const lock = `select from ledger.projection_checkpoints where projection = 'users' and generation = 1 for update`;
  await heldUpAt(lock, 'ledger-projection', async () => {
    expect(await generations()).toEqual([
      { generation: 1, state: 'live' },
      { generation: 2, state: 'building' },
    ]);
    child.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(await users()).toBe(1);
  });
  await open();
  expect(await users()).toBe(2);
  expect(await statusOfUsers()).toMatchObject({
    generation: 1,
    ready: null,
    previous: null,
    parked: 0,
    lastError: null,
  });

  expect(await rebuiltUsers()).toMatchObject({
    projections: [{ generation: 2, liveGeneration: 1, differences: 0 }],
  });
  expect(await generations()).toEqual([
    { generation: 1, state: 'live' },
    { generation: 2, state: 'ready' },
  ]);
  const history = await operate((operator) => showHistory(operator, 10));
  expect(history).toMatchObject([
    { action: 'rebuild', outcome: 'done', generation: 2 },
    { action: 'rebuild', outcome: 'crashed', generation: null },
  ]);
});

test('an interrupted replay ends in one line and exit 1, and leaves no rest', async () => {
  const before = await running.service.head();
  const { child, err } = start('ledger', 'replay', tenant.alias, '--json');
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const ended = once(child, 'close');
  await heldUpAt('lock table rm_accounts_1.accounts in access exclusive mode', 'ledger-cli', () => {
    child.kill('SIGINT');
    return Promise.resolve();
  });
  expect(await ended).toEqual([1, null]);
  expect(out).toBe('');
  // A line of progress may precede it.
  expect(err()).toMatch(/^(replaying: [^\n]+\n)*stopped; 0 differences in 0 accounts so far\n$/);
  expect(await running.service.head()).toBe(before);
});
