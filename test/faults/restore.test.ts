import { execFile } from 'node:child_process';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { projectRoot } from '../harness/service-process.js';
import { loadConfig } from '../../src/config/config.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { startService, type Service } from '../../src/process/service.js';
import { ApiClient, query } from '../support/api-client.js';
import { createDataDir, eventually, removeDataDir } from '../support/embedded.js';
import { filesWith, formsOf } from '../support/marks.js';

/**
 * The runbook (docs/runbooks/restore-and-erasures.md), step by step, on the embedded server: a
 * backup from before an erasure comes back.
 */

const GONE = 'gorzxst';
const at = (accountId: string, userId: string): string =>
  `/open/account/${accountId}/user/${userId}`;

let folder: string;
let dataDir: string;
let running: Service | undefined;
beforeAll(async () => {
  folder = await createDataDir();
  dataDir = join(folder, 'data');
});
afterAll(async () => {
  await running?.stop();
  await removeDataDir(dataDir);
  await rm(folder, { recursive: true, force: true });
});

const start = async (): Promise<Service> => {
  const config = loadConfig({
    DATA_DIR: dataDir,
    PORT: '0',
    POSITION_WAIT_MS: '20000',
    OWN_WRITES_WAIT_MS: '20000',
  });
  running = await startService({
    config,
    logger: pino({ level: 'silent' }),
    version: '0.0.0',
    fsync: false,
  });
  return running;
};

const isReady = async ({ url }: Service): Promise<boolean> =>
  (await fetch(`${url}/health/ready`)).status === 200;

async function cli(...words: readonly string[]): Promise<string> {
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir };
  return (
    await promisify(execFile)(
      process.execPath,
      [join(projectRoot(), 'dist/bin/cli.js'), ...words],
      { env },
    )
  ).stdout;
}

test('people forgotten after a backup stay forgotten when it is restored, with and without its read models', async () => {
  const before = await start();
  const made = await before.core.tenantCommands.create({
    alias: 'shop',
    programType: 'API_ONLY',
    openEndpoints: true,
    program: DEFAULT_PROGRAM,
  });
  if ('refused' in made) throw new Error(made.refused);
  const client = ({ url }: Service): ApiClient => new ApiClient(url, 'shop', `:${made.liveApiKey}`);
  for (const [account, user] of [
    ['a', GONE],
    ['b', 'stays'],
  ] as const)
    expect(
      (await client(before).put(at(account, user), { firstName: user, referralCode: user })).status,
    ).toBe(200);
  await before.stop();
  await cp(dataDir, join(folder, 'backup'), { recursive: true });

  const after = await start();
  expect((await client(after).call('DELETE', `${at('a', GONE)}?doNotTrack=true`)).status).toBe(204);
  await after.stop();
  const list = join(folder, 'erasures.jsonl');
  await writeFile(list, await cli('privacy', 'list-erasures'));
  await rm(dataDir, { recursive: true });
  await cp(join(folder, 'backup'), dataDir, { recursive: true });

  expect(await cli('privacy', 'replay-erasures', '--from', list)).toMatch(/, 1 keys destroyed\n$/);
  let restored = await start();
  const holdsNobodyGone = async (): Promise<void> => {
    const api = client(restored);
    expect((await api.get(at('a', GONE))).status).toBe(404);
    expect((await api.get(`/users${query({ query: GONE })}`)).body).toMatchObject({
      totalCount: 0,
    });
    expect((await api.put(at('a', GONE), {})).body).toMatchObject({ apiErrorCode: 'DO_NOT_TRACK' });
    expect((await api.get(at('b', 'stays'))).body).toMatchObject({ firstName: 'stays' });
  };
  const shown = async (): Promise<string> =>
    JSON.stringify((await client(restored).get('/users')).body);
  // Its read models are those of the backup: nothing of them is shown before they have caught up.
  const answers: string[] = [];
  await eventually(async () => {
    answers.push(await shown());
    return isReady(restored);
  });
  expect(answers.filter((answer) => answer.includes(GONE))).toStrictEqual([]);
  await holdsNobodyGone();
  await cli('privacy', 'scrub');
  expect(await filesWith(dataDir, formsOf(GONE))).toStrictEqual([]);

  // A backup may leave the read models out: they come back from the log, and 503 is said until they
  // are there.
  const { pool } = restored.core;
  const { rows } = await pool.query<{ schema: string }>(
    `select nspname as schema from pg_namespace where nspname like 'rm\\_%'`,
  );
  await pool.query(rows.map(({ schema }) => `drop schema ${schema} cascade`).join(';'));
  await restored.stop();
  restored = await start();
  await eventually(() => isReady(restored));
  await holdsNobodyGone();
}, 240_000);
