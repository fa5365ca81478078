import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '../support/embedded.js';
import { personal, useService, useTenant } from '../support/running-service.js';

const running = useService();
const tenant = useTenant(running);

beforeAll(async () => {
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

test('an interrupted replay ends in one line and exit 1, and leaves no temporary tables', async () => {
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
