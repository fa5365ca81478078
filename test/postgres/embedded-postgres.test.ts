import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, readdir, readlink, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { openPool } from '../../src/postgres/database.js';
import { EmbeddedPostgresError } from '../../src/embedded-postgres/embedded-postgres-error.js';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.js';
import { makeDataDir, removeDataDir, postmasterPid } from '../harness/service-process.js';
import { eventually, startInOtherProcess, superuserUrl, textOf } from '../support/embedded.js';

/** A database that a first start made: making one takes seconds, copying its files does not. */
let madeBefore: string;
let dataDir: string;
let members: EmbeddedPostgres[];

beforeAll(async () => {
  madeBefore = await makeDataDir();
  const server = await startEmbeddedPostgres({ dataDir: madeBefore, fsync: false });
  await server.stop();
});
afterAll(() => removeDataDir(madeBefore));

beforeEach(async () => {
  dataDir = await makeDataDir();
  members = [];
});

afterEach(async () => {
  await Promise.all(members.map((member) => member.stop()));
  await removeDataDir(dataDir);
});

async function copyDatabaseTo(folder = dataDir): Promise<void> {
  await promisify(execFile)('cp', ['-a', `${madeBefore}/.`, folder]);
}

async function start(folder = dataDir): Promise<EmbeddedPostgres> {
  const member = await startEmbeddedPostgres({ dataDir: folder, fsync: false });
  members.push(member);
  return member;
}

async function ask(url: string, statement: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<[string]>({ text: statement, rowMode: 'array' });
    return String(rows[0]?.[0]);
  } finally {
    await client.end();
  }
}

/** Only a superuser may ask where the server's files are. */
async function dataDirectoryOf(folder: string, { url }: EmbeddedPostgres): Promise<string> {
  return ask(await superuserUrl(folder, url), 'show data_directory');
}

function killServer(pid: number | undefined): void {
  if (pid === undefined) throw new Error('no server runs');
  process.kill(pid, 'SIGKILL');
}

/** What a server that was killed with the machine leaves behind. */
async function leavePostmasterFile(
  folder: string,
  pid: number,
  socketFolder: string,
): Promise<void> {
  const lines = [pid, join(folder, 'postgres'), 1_700_000_000, 5432, socketFolder, '', '', 'ready'];
  await writeFile(join(folder, 'postgres', 'postmaster.pid'), `${lines.join('\n')}\n`, {
    mode: 0o600,
  });
}

test('the first start creates a database, and a later one has its data', async () => {
  const first = await start();
  expect(first.attached).toBe(false);
  expect(
    await ask(
      first.url,
      `select concat_ws(' ', datlocprovider, datlocale, pg_encoding_to_char(encoding)) from pg_database where datname = current_database()`,
    ),
  ).toBe('b C.UTF-8 UTF8');
  await ask(first.url, 'create table kept as select 7 as value');
  await first.stop();
  expect(await postmasterPid(dataDir)).toBeUndefined();

  const second = await start();
  expect(second.attached).toBe(false);
  expect(await ask(second.url, 'select value from kept')).toBe('7');
});

test('the data folder is created for its owner only, at any path', async () => {
  const folder = join(dataDir, 'Daten des Bücherwurms', '日本語 "&$x', '.data');
  const server = await start(folder);
  expect(await ask(server.url, 'select 1')).toBe('1');
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder, 'postgres'))).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder, 'postgres.password'))).mode & 0o777).toBe(0o600);
  await server.stop();
});

test('concurrent first starts share one server', async () => {
  const [one, two, three] = await Promise.all([start(), start(), startInOtherProcess(dataDir)]);
  expect([one, two, three].filter(({ attached }) => !attached)).toHaveLength(1);
  expect(new Set([one, two, three].map(({ socketFolder }) => socketFolder)).size).toBe(1);
  await three.stop();
  expect((await readdir(dataDir)).sort()).toEqual([
    'postgres',
    'postgres-start.log',
    'postgres.lock',
    'postgres.password',
    'socket',
  ]);
});

test('a second process attaches, and the last one to stop stops the server', async () => {
  await copyDatabaseTo();
  const starter = await startInOtherProcess(dataDir);
  const second = await start();
  expect(second).toMatchObject({ attached: true, socketFolder: starter.socketFolder });
  await starter.stop();
  expect(await ask(second.url, 'select 1')).toBe('1');
  await second.stop();
  expect(await postmasterPid(dataDir)).toBeUndefined();
});

test('a start during a stop gets a server', async () => {
  await copyDatabaseTo();
  const first = await start();
  const [second] = await Promise.all([start(), first.stop()]);
  expect(await ask(second.url, 'select 1')).toBe('1');
});

test('a server whose process was killed is found again, and stopped by the next one', async () => {
  await copyDatabaseTo();
  const killed = await startInOtherProcess(dataDir);
  const pid = await postmasterPid(dataDir);
  await killed.kill();
  const next = await start();
  expect(next).toMatchObject({ attached: true, socketFolder: killed.socketFolder });
  expect(await postmasterPid(dataDir)).toBe(pid);
  await eventually(
    async () =>
      (await ask(
        next.url,
        `select count(*) from pg_stat_activity where application_name = 'ledger-supervisor'`,
      )) === '1',
  );
  await next.stop();
  expect(await postmasterPid(dataDir)).toBeUndefined();
});

test('the start after process and server were killed together recovers', async () => {
  await copyDatabaseTo();
  const killed = await startInOtherProcess(dataDir);
  await ask(killed.url, 'create table kept as select generate_series(1, 1000) as value');
  const pid = await postmasterPid(dataDir);
  await killed.kill();
  killServer(pid);
  const next = await start();
  expect(next.attached).toBe(false);
  expect(await ask(next.url, 'select count(*) from kept')).toBe('1000');
});

test('a process id that another program has now is no obstacle, and that program is not touched', async () => {
  await copyDatabaseTo();
  const before = await start();
  await before.stop();
  // Of all the programs that could have it: this very test.
  await leavePostmasterFile(dataDir, process.pid, before.socketFolder);
  const after = await start();
  expect(after.attached).toBe(false);
  expect(await ask(after.url, 'select 1')).toBe('1');
});

test('the server of another data folder at the recorded process and port is not touched', async () => {
  await copyDatabaseTo();
  const other = await makeDataDir();
  await copyDatabaseTo(other);
  try {
    const foreign = await start(other);
    const foreignPid = await postmasterPid(other);
    const before = await start();
    await before.stop();
    await leavePostmasterFile(dataDir, foreignPid ?? 0, foreign.socketFolder);

    const own = await start();
    expect(own.attached).toBe(false);
    expect(own.socketFolder).not.toBe(foreign.socketFolder);
    expect(await dataDirectoryOf(dataDir, own)).toBe(join(dataDir, 'postgres'));
    await own.stop();
    expect(await postmasterPid(other)).toBe(foreignPid);
    expect(await dataDirectoryOf(other, foreign)).toBe(join(other, 'postgres'));
    await foreign.stop();
  } finally {
    await removeDataDir(other);
  }
});

test('a crashed server restarts, and pools recover', async () => {
  await copyDatabaseTo();
  const server = await start();
  const pool = openPool({ url: () => server.url, max: 3, applicationName: 'test' });
  try {
    await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0)')));
    const pid = await postmasterPid(dataDir);
    killServer(pid);
    await eventually(
      async () =>
        (await pool.query('select 1')).rows.length === 1 && (await postmasterPid(dataDir)) !== pid,
    );
  } finally {
    await pool.end();
  }
});

test('after a crash every attached process is attached again', async () => {
  await copyDatabaseTo();
  const other = await startInOtherProcess(dataDir);
  const one = await start();
  const pid = await postmasterPid(dataDir);
  killServer(pid);
  await eventually(
    async () =>
      (await ask(
        one.url,
        `select count(*) from pg_locks where locktype = 'advisory' and mode = 'ShareLock'`,
      )) === '2',
  );
  await one.stop();
  expect(await postmasterPid(dataDir)).toBeDefined();
  await other.stop();
  expect(await postmasterPid(dataDir)).toBeUndefined();
});

test('nothing is restarted once it was stopped', async () => {
  await copyDatabaseTo();
  const server = await start();
  killServer(await postmasterPid(dataDir));
  await server.stop();
  await server.stop();
  await eventually(async () => (await postmasterPid(dataDir)) === undefined);
});

test('the values of a statement are not logged', async () => {
  await copyDatabaseTo();
  const server = await start();
  await expect(ask(server.url, `select 'jane@example.com'::integer`)).rejects.toThrow(
    'jane@example.com',
  );
  await ask(server.url, 'create table person (email text primary key)');
  await ask(server.url, `insert into person values ('jane@example.com')`);
  await expect(ask(server.url, `insert into person values ('jane@example.com')`)).rejects.toThrow(
    'duplicate key',
  );
  await server.stop();
  const [name = ''] = await readdir(join(dataDir, 'postgres', 'log'));
  const log = await textOf(dataDir, 'postgres', 'log', name);
  expect(log).toContain('ready to accept connections');
  expect(log).not.toContain('jane');
});

test("a folder with other files in the database's place is refused in one line", async () => {
  await mkdir(join(dataDir, 'postgres'));
  await writeFile(join(dataDir, 'postgres', 'notes.txt'), 'mine');
  const refusal: unknown = await start().catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(EmbeddedPostgresError);
  expect(String(refusal)).toMatch(/contains files, but no database$/);
  expect(await textOf(dataDir, 'postgres', 'notes.txt')).toBe('mine');
});

test('a lost password is named, not replaced', async () => {
  await mkdir(join(dataDir, 'postgres'));
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
  await expect(start()).rejects.toThrow(/postgres\.password is missing/);
});

/** The sockets that the server of a data folder has open, from the kernel. */
async function listeningSockets(folder: string): Promise<readonly string[]> {
  const pid = await postmasterPid(folder);
  const links = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) =>
      readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''),
    ),
  );
  const inodes = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(
    ['tcp', 'tcp6', 'udp', 'udp6', 'unix'].map(async (family) =>
      (await readFile(`/proc/${pid}/net/${family}`, 'utf8').catch(() => '')).split('\n').slice(1),
    ),
  );
  return tables.flat().filter((row) => row.split(/\s+/).some((word) => inodes.has(word)));
}

test('the server listens on one Unix socket alone, which only its owner can use', async () => {
  await copyDatabaseTo();
  const server = await start();
  expect(await ask(server.url, 'show listen_addresses')).toBe('');
  expect(server.socketFolder).toBe(join(dataDir, 'socket'));
  const path = join(dataDir, 'socket', '.s.PGSQL.5432');
  // Other systems do not show them as files.
  const sockets = process.platform === 'linux' ? await listeningSockets(dataDir) : [path];
  expect(sockets).toEqual([expect.stringMatching(new RegExp(`${path}$`))]);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  expect((await stat(join(dataDir, 'socket'))).mode & 0o777).toBe(0o700);
});

const folderFor = (socketPathBytes: number): string =>
  join(dataDir, 'x'.repeat(socketPathBytes - `${dataDir}//socket/.s.PGSQL.5432`.length));

test('a socket is inside a data folder whose path has 107 bytes, and in the temporary directory from 108 on', async () => {
  const inside = await start(folderFor(107));
  expect(inside.socketFolder).toBe(join(folderFor(107), 'socket'));
  await inside.stop();

  const folder = folderFor(108);
  const server = await start(folder);
  const named = server.socketFolder;
  expect(named.startsWith(tmpdir())).toBe(true);
  const about = await stat(named);
  expect([about.mode & 0o777, about.uid]).toEqual([0o700, process.getuid?.()]);
  expect(await ask(server.url, 'select 1')).toBe('1');

  const other = await startInOtherProcess(folder);
  expect(other).toMatchObject({ attached: true, socketFolder: named });
  await server.stop();
  await other.stop();
  await expect(stat(named)).rejects.toThrow('ENOENT');
});

test('a folder of the socket that others can enter is refused in one line', async () => {
  await copyDatabaseTo();
  await mkdir(join(dataDir, 'socket'), { recursive: true });
  await chmod(join(dataDir, 'socket'), 0o755);
  await expect(start()).rejects.toThrow(/socket must be a folder of the user .* mode 0700/);
  expect(await postmasterPid(dataDir)).toBeUndefined();
});

test('the role of the service is an ordinary one that owns its database', async () => {
  await copyDatabaseTo();
  const { url } = await start();
  const role = 'from pg_roles where rolname = current_user';
  expect(await ask(url, `select rolsuper or rolcreaterole or rolcreatedb ${role}`)).toBe('false');
  expect(
    await ask(
      url,
      'select pg_get_userbyid(datdba) = current_user from pg_database where datname = current_database()',
    ),
  ).toBe('true');
  await expect(ask(url, `copy (select 1) to program 'true'`)).rejects.toThrow(/permission denied/);
  await expect(ask(url, `select pg_read_file('PG_VERSION')`)).rejects.toThrow(/permission denied/);
});

test('the role of the service is made at the next start of a server that was killed before', async () => {
  await copyDatabaseTo();
  const killed = await startInOtherProcess(dataDir);
  await killed.kill();
  await ask(await superuserUrl(dataDir, killed.url), 'alter database ledger owner to ledger');
  const next = await start();
  expect(next.attached).toBe(true);
  expect(await ask(next.url, 'create schema mine')).toBe('undefined');
});
