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
import { END_SESSIONS } from '../support/ended-sessions.js';
import { readModelsToScrub } from '../support/read-models-to-scrub.js';
import { ApiClient, path, query } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { filesWith, formsOf } from '../support/marks.js';

/**
 * The real service is killed while three erasures have come to three different steps, each held
 * there by a lock in its database; then the command that scrubs is killed half way. What a crash
 * does between the key and the word to the other processes is tried with processes of a test
 * (test/command-handling/erasures).
 */

const MARK = 'gokzxnd';
/** Any numbers that nothing else in this database takes. */
const KEY_GATE = 7_301_001;
const TOMBSTONE_GATE = 7_301_002;

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
/** The accounts stay, so their ids tell of nobody. */
const accountOf = (name: string): string => `account-of-${name}`;
const at = (name: string): string =>
  `/open/account${path(accountOf(name))}/user${path(wordOf(name))}`;

/** @returns the person's id in the ledger. */
async function arrives(name: string): Promise<string> {
  const email = `${wordOf(name)}@mail.example`;
  expect(
    (await api.put(at(name), { email, firstName: wordOf(name), referralCode: wordOf(name) }))
      .status,
  ).toBe(200);
  const scope = { tenant: 'shop', mode: 'live' } as const;
  const { state } = await core.streams.accounts.load(
    core.names.accountStream(scope, core.names.accountRef(scope, accountOf(name))),
  );
  const person = state.status === 'open' ? state.personsByUserId.get(wordOf(name)) : undefined;
  if (person === undefined) throw new Error(`${name} is not there`);
  return person;
}

/** Whoever writes such a row waits until the gate is opened. */
async function gate(
  number: number,
  timing: string,
  table: string,
  condition: string,
): Promise<void> {
  await core.pool.query(`
    create function gate_${number}() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(${number}); return new; end';
    create trigger gate before ${timing} on ${table} for each row when (${condition}) execute function gate_${number}()`);
}
const openGate = (number: number) => core.pool.query(`drop function gate_${number} cascade`);
const isWaitedAt = async (number: number): Promise<boolean> =>
  (
    await core.pool.query(
      `select from pg_locks where locktype = 'advisory' and objid = $1 and not granted
          and database = (select oid from pg_database where datname = current_database())`,
      [number],
    )
  ).rowCount === 1;

async function erasuresOf(person: string): Promise<readonly string[]> {
  const { rows } = await core.pool.query<{ type: string }>(
    `select type from ledger.events where type like 'Erasure%' and strpos(data, $1) > 0 order by position`,
    [person],
  );
  return rows.map(({ type }) => type);
}

async function hasKey(person: string): Promise<boolean> {
  const { rowCount } = await core.pool.query(
    'select from vault.subject_keys where subject = $1 and wrapped is not null',
    [person],
  );
  return rowCount === 1;
}

const isShown = async (name: string): Promise<boolean> => {
  const answers = await Promise.all([
    api.get(at(name)),
    api.get(`/code/${wordOf(name)}`),
    api.get(`/users${query({ query: wordOf(name) })}`),
  ]);
  // A refusal repeats what the request named.
  const found = answers.filter(({ status }) => status < 400);
  return JSON.stringify(found.map(({ body }) => body)).includes(wordOf(name));
};

test('killed at each step of an erasure, the service completes it after its restart and shows nothing of the person', async () => {
  const [atKey, atTombstone, atReadModels] = [
    await arrives('key'),
    await arrives('stone'),
    await arrives('rows'),
  ];
  await arrives('stays');
  await eventually(() => isShown('rows'));
  await gate(
    KEY_GATE,
    'insert or update',
    'vault.subject_keys',
    `new.subject = '${atKey}' and new.wrapped is null`,
  );
  await gate(
    TOMBSTONE_GATE,
    'insert',
    'ledger.events',
    `new.type = 'ErasureCompleted' and strpos(new.data, '${atTombstone}') > 0`,
  );
  const holder = await core.pool.connect();
  await holder.query('select pg_advisory_lock($1), pg_advisory_lock($2)', [
    KEY_GATE,
    TOMBSTONE_GATE,
  ]);
  await holder.query('begin; lock table rm_users_1.users in share mode');

  expect((await api.call('DELETE', at('rows'))).status).toBe(204);
  const unanswered = [api.call('DELETE', at('key')).catch(() => undefined)];
  await eventually(() => isWaitedAt(KEY_GATE));
  unanswered.push(api.call('DELETE', at('stone')).catch(() => undefined));
  await eventually(() => isWaitedAt(TOMBSTONE_GATE));
  await service.kill();
  expect(await Promise.all(unanswered)).toStrictEqual([undefined, undefined]);
  // What the dead process had asked for is not carried out any more: a crash of the machine ends
  // its sessions, too.
  await holder.query(`${END_SESSIONS} and application_name <> 'test'`);
  await holder.query('rollback');
  holder.release(true);
  await openGate(KEY_GATE);
  await openGate(TOMBSTONE_GATE);
  expect([await erasuresOf(atKey), await hasKey(atKey)]).toStrictEqual([
    ['ErasureRequested'],
    true,
  ]);
  expect([await erasuresOf(atTombstone), await hasKey(atTombstone)]).toStrictEqual([
    ['ErasureRequested'],
    false,
  ]);
  expect([await erasuresOf(atReadModels), await hasKey(atReadModels)]).toStrictEqual([
    ['ErasureRequested', 'ErasureCompleted'],
    false,
  ]);

  service = await startServiceProcess({ env: { DATA_DIR: dataDir }, port: service.port });
  await service.ready();
  for (const name of ['key', 'stone', 'rows'])
    expect([name, await isShown(name)]).toStrictEqual([name, false]);
  expect(await isShown('stays')).toBe(true);
  // The job comes ten seconds after the request; its time is made to come now.
  for (const person of [atKey, atTombstone])
    await eventually(async () => {
      await core.pool.query(
        `select graphile_worker.reschedule_jobs(array_agg(id), run_at := now()) from graphile_worker.jobs where key like 'finish-erasure/%'`,
      );
      return (await erasuresOf(person)).length === 2 && !(await hasKey(person));
    });
}, 60_000);

test('a scrub that is killed half-way is completed by the next one', async () => {
  const erased = ['key', 'stone', 'rows'].flatMap((name) => formsOf(wordOf(name)));
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
