import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pino } from 'pino';
import {
  makeDataDir,
  projectRoot,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';
import { loadConfig } from '../../src/config/config.js';
import { openCore, type Core } from '../../src/stores/core.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { scrub } from '../../src/privacy/scrub.js';
import { everythingProjected } from '../support/everything-projected.js';
import { readModelsToScrub } from '../support/read-models-to-scrub.js';
import { ApiClient, path } from '../support/api-client.js';
import { filesWith, formsOf } from '../support/marks.js';

/** The command that scrubs is killed half way, next to a service. */

const MARK = 'gokzxnd';

let dataDir: string;
let service: ServiceProcess;
let core: Core;
let api: ApiClient;
beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  await service.ready();
  const config = loadConfig({ DATA_DIR: dataDir });
  core = await openCore({
    config,
    logger: pino({ level: 'silent' }),
    actor: { kind: 'operator', id: 'test' },
    applicationName: 'test',
  });
  const { tenantCommands } = core;
  const made = await tenantCommands.create({
    alias: 'shop',
    programType: 'API_ONLY',
    openEndpoints: true,
    program: DEFAULT_PROGRAM,
  });
  if ('refused' in made) throw new Error(made.refused);
  api = new ApiClient(service.url, 'shop', `:${made.liveApiKey}`);
}, 60_000);
afterAll(async () => {
  await core.close();
  await service.kill();
  await removeDataDir(dataDir);
});

const wordOf = (name: string): string => `${MARK}${name}`;
/** The accounts stay: their ids name no person. */
const accountOf = (name: string): string => `account-of-${name}`;
const at = (name: string): string =>
  `/open/account${path(accountOf(name))}/user${path(wordOf(name))}`;

async function arrives(name: string): Promise<void> {
  const email = `${wordOf(name)}@mail.example`;
  const named = { email, firstName: wordOf(name), referralCode: wordOf(name) };
  expect((await api.put(at(name), named)).status).toBe(200);
}

test('a scrub that is killed half-way is completed by the next one', async () => {
  for (const name of ['goes', 'stays']) await arrives(name);
  expect((await api.call('DELETE', at('goes'))).status).toBe(204);
  await everythingProjected(core);
  const erased = formsOf(wordOf('goes'));
  const holder = await core.pool.connect();
  await holder.query('begin; lock table rm_users_1.users in access share mode');
  const command = spawn(
    process.execPath,
    [join(projectRoot(), 'dist/bin/cli.js'), 'privacy', 'scrub'],
    {
      env: { PATH: process.env.PATH, DATA_DIR: dataDir },
      stdio: ['ignore', 'ignore', 'pipe'] as const,
    },
  );
  const ended = once(command, 'exit');
  for await (const line of createInterface(command.stderr))
    if (line.startsWith('rewrote rm_rewards')) break;
  command.kill('SIGKILL');
  await ended;
  await holder.query('rollback');
  holder.release();
  expect(await filesWith(dataDir, erased)).not.toStrictEqual([]);

  const progress: string[] = [];
  await scrub(core.pool, {
    readModels: readModelsToScrub(core.pool, core.log),
    progress: (line) => progress.push(line),
  });
  expect(progress).toContain('rewrote rm_users_1.users');
  expect(await filesWith(dataDir, erased)).toStrictEqual([]);
  expect(await filesWith(dataDir, formsOf(wordOf('stays')))).not.toStrictEqual([]);
}, 60_000);
