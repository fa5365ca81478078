import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  projectRoot,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';
import { ApiClient } from '../support/api-client.js';
import { blocksOf, startOwnPostgres, type OwnPostgres } from '../harness/own-postgres.js';

/** The statements of docs/how-to/use-your-own-postgres.md, and the service under that role. */

const PAGE = join(projectRoot(), 'docs/how-to/use-your-own-postgres.md');

let server: OwnPostgres;
let service: ServiceProcess | undefined;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  server = await startOwnPostgres({ wal_recycle: 'off' });
  const [role = '', grants = '', inDatabase = ''] = await blocksOf(PAGE, 'sql');
  const statements = `${role}${grants}`.split(/(?<=;)\n/).filter((line) => line.trim() !== '');
  await server.asSuperuser('postgres', ...statements);
  await server.asSuperuser('ledger', inDatabase);
  const masterKeyFile = join(server.folder, 'master.key');
  await writeFile(masterKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  env = {
    DATABASE_URL: server.url('ledger', 'a-long-random-password', 'ledger'),
    MASTER_KEY_FILE: masterKeyFile,
  };
}, 120_000);
afterAll(async () => {
  await service?.terminate();
  await server.remove();
});

async function cli(...words: readonly string[]): Promise<string> {
  const program = join(projectRoot(), 'dist/bin/cli.js');
  const environment = { PATH: process.env.PATH, ...env };
  const ran = promisify(execFile)(process.execPath, [program, ...words], { env: environment });
  return (await ran).stdout;
}

test('the role of the page is enough for all that the service does, over TLS alone', async () => {
  service = await startServiceProcess({ env });
  await service.ready();
  const tenant = JSON.parse(
    await cli('tenant', 'create', 'shop', '--open-endpoints', '--json'),
  ) as Readonly<Record<string, string>>;
  const client = new ApiClient(service.url, 'shop', `:${tenant.liveApiKey}`);
  const written = await client.put('/open/account/a/user/u', { firstName: 'Ann' });
  expect(written.status).toBe(200);
  expect(await client.get('/users?query=Ann')).toMatchObject({ status: 200 });

  const connections = await server.asSuperuser(
    'ledger',
    `select distinct usename, rolsuper or rolcreatedb or rolcreaterole or rolreplication as strong, ssl
     from pg_stat_activity join pg_stat_ssl using (pid) join pg_roles on rolname = usename
     where datname = 'ledger' and application_name like 'ledger-%'`,
  );
  expect(connections).toEqual([{ usename: 'ledger', strong: false, ssl: true }]);

  expect(await cli('privacy', 'scrub')).not.toMatch(/may not/);
  expect(service.output()).not.toMatch(/permission denied/);
}, 120_000);

test('a server with another certificate gets no connection', async () => {
  const foreign = env.DATABASE_URL?.replace(/&sslrootcert=.*/, '') ?? '';
  const started = await startServiceProcess({ env: { ...env, DATABASE_URL: foreign } });
  expect((await started.exited).code).toBe(1);
  expect(started.output()).toMatch(/certificate/);
}, 60_000);
