import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { personal, startWithStores, type RunningService, type TestStores, type TestTenant } from '../support/running-service.js';

/** The command line for read models as it ships, beside a running service on the same stores. */

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}
type Json = Record<string, unknown>;

let service: RunningService;
let stores: TestStores;
let end: () => Promise<void>;
let tenant: TestTenant;
const [account, user] = [personal('acc'), personal('usr')];

beforeAll(async () => {
  ({ service, stores, end } = await startWithStores());
  tenant = await service.createTenant();
  await open(account, user);
  await give(100);
});
afterAll(() => end());

async function open(accountId: string, userId: string): Promise<void> {
  const created = await tenant.live.post(`/open/account/${accountId}/user/${userId}`, { id: userId, accountId });
  expect(created.status).toBeLessThan(300);
}

async function give(assignedCredit: number): Promise<void> {
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit };
  expect((await tenant.live.post(`/rewards/account/${account}/user/${user}`, reward)).status).toBeLessThan(300);
}

async function available(): Promise<unknown> {
  const { body } = await tenant.live.get<readonly Json[]>(`/reward/balance?accountId=${account}`);
  return body[0]?.['totalAvailableCredit'] ?? body;
}

const environment = () => ({ ...process.env, DATABASE_URL: stores.databaseUrl, MASTER_KEY_FILE: stores.masterKeyFile });

function cli(...words: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['dist/src/operations/cli.js', 'projection', ...words], { env: environment() }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });
}

async function json(code: number, ...words: readonly string[]): Promise<Json> {
  const ran = await cli(...words, '--json');
  expect(ran).toMatchObject({ code });
  return JSON.parse(ran.out) as Json;
}

const breakBalances = (generation: number) =>
  service.service.core.pool.query(`update rm_reward_balances_${generation}.reward_balances set available_credit = available_credit + 5`);

test('a wrong balance: the rebuild beside the service changes nothing, the diff shows the row, the swap repairs it, the roll-back undoes that', async () => {
  expect(await available()).toBe(100);
  await breakBalances(1);
  expect(await available()).toBe(105);
  expect(await json(0, 'rebuild', 'reward-balances', '--dry-run')).toMatchObject({
    dryRun: true,
    projections: [{ generation: 2, liveGeneration: 1 }],
  });
  const built = await json(0, 'rebuild', 'reward-balances', '--by', 'Ada');
  expect(built).toMatchObject({ projections: [{ projection: 'reward-balances', generation: 2, liveGeneration: 1, differences: 1 }] });
  expect(await available()).toBe(105);

  const diff = await cli('diff', 'reward-balances', '--json');
  expect(diff).toMatchObject({ code: 2, err: '1 rows of reward-balances differ\n' });
  const position = await service.head();
  expect(JSON.parse(diff.out)).toMatchObject({
    ...{ projection: 'reward-balances', position, count: 1 },
    differences: [
      {
        ...{ table: 'reward_balances', tenant: tenant.alias, mode: 'live', kind: 'changed' },
        columns: [{ column: 'available_credit', live: 105, new: 100 }],
      },
    ],
  });
  // Whoever compares need not learn who the people are.
  for (const word of [account, user]) expect(diff.out).not.toContain(word);

  await give(7);
  expect(await json(0, 'swap', 'reward-balances')).toMatchObject({ projections: [{ generation: 2, previous: 1 }] });
  await give(1);
  expect(await available()).toBe(108);
  expect(await json(0, 'rollback', 'reward-balances')).toMatchObject({ projections: [{ generation: 1, previous: 2 }] });
  await give(1);
  expect(await available()).toBe(114);

  const target = ['--tenant', tenant.alias, '--account', account];
  expect(await json(0, 'rebuild', 'reward-balances', ...target)).toMatchObject({
    projections: [{ generation: 1, changed: 1, added: 0, removed: 0 }],
  });
  expect(await available()).toBe(109);
  const history = (await json(0, 'history')) as unknown as readonly Json[];
  expect(history.map(({ action, outcome }) => [action, outcome])).toEqual(
    ['repair', 'rollback', 'swap', 'rebuild'].map((action) => [action, 'done']),
  );
  expect(history.at(-1)).toMatchObject({ actor: 'Ada', generation: 2, previous: 1, projection: 'reward-balances' });
  expect(JSON.stringify(history)).not.toContain(account);
});

test('all projections are built in one pass and switched at once; status says where they stand', async () => {
  expect((await json(0, 'rebuild', '--all'))['projections']).toHaveLength(6);
  const ready = (await json(0, 'status')) as unknown as readonly Json[];
  expect(ready.every((row) => row['ready'] !== null && row['parked'] === 0 && row['lagEvents'] === 0 && row['lastError'] === null)).toBe(
    true,
  );
  const swapped = await json(0, 'swap', '--all');
  expect(swapped['projections']).toHaveLength(6);
  await give(1);
  expect(await available()).toBe(110);
  expect((await tenant.live.get<{ totalCount: number }>('/users')).body.totalCount).toBe(1);
  expect(await json(0, 'retry-parked')).toMatchObject({
    projections: Array.from({ length: 6 }, () => ({ retried: 0, released: 0, parked: 0 })),
  });
  expect((await cli('swap', '--all')).err).toBe('no projection has a new generation: rebuild first\n');
});

test('bad input is one line and exit 1, and changes nothing', async () => {
  const before = (await cli('history', '--json')).out;
  const refused = async (line: RegExp, ...words: readonly string[]): Promise<void> => {
    const ran = await cli(...words);
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toMatch(/^[^\n]+\n$/);
    expect(ran.err).toMatch(line);
  };
  await Promise.all([
    refused(/^there is no projection "nothing"; there are accounts, users/, 'rebuild', 'nothing'),
    refused(/^name one projection, or say --all/, 'rebuild'),
    refused(/^name one projection, or say --all/, 'swap', 'users', '--all'),
  ]);
  await Promise.all([
    refused(/^there is no tenant nobody/, 'rebuild', 'users', '--tenant', 'nobody'),
    refused(/^there is no such account/, 'rebuild', 'users', '--tenant', tenant.alias, '--account', 'nobody'),
    refused(/^--account and --mode need --tenant/, 'rebuild', 'users', '--account', account),
  ]);
  await Promise.all([
    refused(/^there is no new generation of users/, 'diff', 'users'),
    refused(/^--mode must be one of/, 'rebuild', 'users', '--tenant', tenant.alias, '--mode', 'neither'),
    refused(/^--by takes/, 'rollback', 'users', '--by', 'a;b'),
  ]);
  expect((await cli('history', '--json')).out).toBe(before);
});

test('a second rebuild beside a first one is refused; interrupted, the first ends in one line', async () => {
  const { pool } = service.service.core;
  // Holds the first one up where it writes its history, so that there is a moment to come in between.
  const client = await pool.connect();
  await client.query('begin');
  await client.query('lock table ledger.projection_history in exclusive mode');
  const first = spawn(process.execPath, ['dist/src/operations/cli.js', 'projection', 'rebuild', 'users'], { env: environment() });
  let err = '';
  first.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const ended = once(first, 'exit');
  for (;;) {
    const { rows } = await client.query(`select from pg_locks where not granted and relation = 'ledger.projection_history'::regclass`);
    if (rows.length > 0) break;
  }
  expect((await cli('rebuild', 'rewards')).err).toMatch(/^another rebuild.*is running/);
  first.kill('SIGINT');
  await client.query('commit');
  client.release();
  expect((await ended)[0]).toBe(1);
  expect(err.trim().split('\n').at(-1)).toMatch(/^stopped; nothing that is read was changed/);
  const [newest] = (await json(0, 'history')) as unknown as readonly Json[];
  expect(newest).toMatchObject({ action: 'rebuild', projection: 'users', outcome: 'cancelled' });
});
