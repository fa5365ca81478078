import { randomBytes } from 'node:crypto';
import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startServiceProcess, type ServiceProcess } from '../harness/service-process.js';
import { ApiClient } from '../support/api-client.js';
import { runHere, type Ran } from '../support/command-line.js';
import { eventually } from '../support/embedded.js';
import { configure, startOwnPostgres, type OwnPostgres } from '../harness/own-postgres.js';

/** The runbook docs/runbooks/backup-and-restore.md, step by step, on a server with an archive. */

let server: OwnPostgres;
let service: ServiceProcess | undefined;
let env: Readonly<Record<'DATABASE_URL' | 'MASTER_KEY_FILE', string>>;
const wal = () => join(server.folder, 'archive');

beforeAll(async () => {
  server = await startOwnPostgres({ wal_level: 'replica' });
  await server.stop();
  await configure(
    server.pgdata,
    `archive_mode = on\narchive_command = 'test ! -f ${wal()}/%f && cp %p ${wal()}/%f'\n`,
  );
  await server.start();
  await server.asSuperuser(
    'postgres',
    `create role ledger login password 'pw'`,
    `create database ledger owner ledger encoding 'UTF8' template template0`,
  );
  const masterKeyFile = join(server.folder, 'master.key');
  await writeFile(masterKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  env = { DATABASE_URL: server.url('ledger', 'pw', 'ledger'), MASTER_KEY_FILE: masterKeyFile };
}, 120_000);
afterAll(async () => {
  await service?.kill();
  await server.remove();
});

const cli = (...words: readonly string[]): Promise<Ran> =>
  runHere({ databaseUrl: env.DATABASE_URL, masterKeyFile: env.MASTER_KEY_FILE }, words);

async function start(): Promise<ServiceProcess> {
  service = await startServiceProcess({ env });
  await service.ready(120_000);
  return service;
}

async function baseBackup(target: string): Promise<void> {
  const client = new pg.Client(server.url('postgres', 'of-the-superuser', 'postgres'));
  await client.connect();
  await client.query(`select pg_backup_start('daily', true)`);
  await cp(server.pgdata, target, {
    recursive: true,
    filter: (path) => !/postmaster\.(pid|opts)$/.test(path),
  });
  const { rows } = await client.query<{ label: string }>(
    'select labelfile as label from pg_backup_stop()',
  );
  await client.end();
  await rm(join(target, 'pg_wal'), { recursive: true });
  await mkdir(join(target, 'pg_wal'), { mode: 0o700 });
  await writeFile(join(target, 'backup_label'), rows[0]?.label ?? '', { mode: 0o600 });
}

test('log, keys and seals come back together as they were at a moment, and who was forgotten later stays forgotten', async () => {
  const before = await start();
  const made = await cli('tenant', 'create', 'shop', '--open-endpoints', '--json');
  const { liveApiKey = '' } = JSON.parse(made.out) as Readonly<Record<string, string>>;
  const client = ({ url }: ServiceProcess) => new ApiClient(url, 'shop', `:${liveApiKey}`);
  const at = (account: string) => `/open/account/${account}/user/u`;
  const put = async (account: string) =>
    expect(await client(before).put(at(account), { firstName: account })).toMatchObject({
      status: 200,
    });
  await put('early');
  await put('gone');
  await baseBackup(join(server.folder, 'base'));
  await put('afterwards');
  const digest = join(server.folder, 'digest.json');
  await writeFile(digest, (await cli('ledger', 'digest', 'shop', '--sign')).out);
  const [moment] = (await server.asSuperuser(
    'postgres',
    `select clock_timestamp()::text as at`,
  )) as readonly { readonly at: string }[];

  await put('mistake');
  expect((await client(before).call('DELETE', '/open/account/gone')).status).toBeLessThan(300);
  const erasures = join(server.folder, 'erasures.jsonl');
  await eventually(async () => {
    const { out } = await cli('privacy', 'list-erasures');
    await writeFile(erasures, out);
    return out.trim() !== '';
  });
  await before.terminate();
  await server.asSuperuser('postgres', 'select pg_switch_wal()');
  await eventually(async () => {
    const [row] = (await server.asSuperuser(
      'postgres',
      `select last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 16777216) as done from pg_stat_archiver`,
    )) as readonly { readonly done: boolean | null }[];
    return row?.done === true;
  });
  await server.stop();

  await rename(server.pgdata, join(server.folder, 'lost'));
  await rename(join(server.folder, 'base'), server.pgdata);
  await configure(
    server.pgdata,
    `restore_command = 'cp ${wal()}/%f %p'\nrecovery_target_time = '${moment?.at ?? ''}'\nrecovery_target_action = 'promote'\n`,
  );
  await writeFile(join(server.pgdata, 'recovery.signal'), '', { mode: 0o600 });
  await server.start();
  await eventually(async () => {
    const [row] = (await server.asSuperuser(
      'postgres',
      'select pg_is_in_recovery() as recovering',
    )) as readonly { readonly recovering: boolean }[];
    return row?.recovering === false;
  });

  expect((await cli('privacy', 'replay-erasures', '--from', erasures)).code).toBe(0);
  const after = await start();
  expect(await client(after).get(at('early'))).toMatchObject({ body: { firstName: 'early' } });
  expect(await client(after).get(at('afterwards'))).toMatchObject({
    body: { firstName: 'afterwards' },
  });
  expect((await client(after).get(at('mistake'))).status).toBe(404);
  expect((await client(after).get(at('gone'))).status).toBe(404);
  expect((await cli('ledger', 'verify', 'shop')).code).toBe(0);
  expect((await cli('ledger', 'verify', 'shop', '--digest', digest)).code).toBe(0);
  expect((await cli('ledger', 'replay', 'shop')).code).toBe(0);
  expect((await cli('privacy', 'scrub')).code).toBe(0);
  expect(await client(after).put(at('mistake'), { firstName: 'again' })).toMatchObject({
    status: 200,
  });
}, 300_000);
