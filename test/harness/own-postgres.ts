import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { choosePostgresAccount } from '../../src/embedded-postgres/postgres-account.js';
import { readPostmasterFile } from '../../src/embedded-postgres/postmaster-file.js';
import { selfSignedCertificate } from './self-signed.js';
import { freePort, makeDataDir } from './service-process.js';

/** A Postgres as an operator runs one: over TCP with TLS only, with settings of its own. */
export interface OwnPostgres {
  /** The folder of the server's files, of its certificate and of what a test adds. */
  readonly folder: string;
  readonly pgdata: string;
  readonly port: number;
  /** The authority of its certificate, in PEM. */
  readonly certFile: string;
  /** With `sslmode=verify-full`. */
  url(user: string, password: string, database: string): string;
  /** Runs statements as superuser, one after the other; returns the rows of the last one. */
  asSuperuser(database: string, ...statements: readonly string[]): Promise<readonly unknown[]>;
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** As `pg_ctl stop --mode fast`. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

const PASSWORD = 'of-the-superuser';

/** Makes the files of a server in a new folder, and starts it. */
export async function startOwnPostgres(
  settings: Readonly<Record<string, string>> = {},
  place: { readonly folder?: string; readonly port?: number } = {},
): Promise<OwnPostgres> {
  const folder = place.folder === undefined ? await makeDataDir() : resolve(place.folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pgdata = join(folder, 'pgdata');
  const port = place.port ?? (await freePort());
  const account = await choosePostgresAccount(folder, pgdata);
  const run = ([command = '', ...args]: readonly string[]) =>
    promisify(execFile)(command, args, { cwd: folder, env: environment });
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, `${PASSWORD}\n`, { mode: 0o600 });
  await run([
    ...account.prefix,
    account.binaries.initdb,
    `--pgdata=${pgdata}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ]);
  const { key, cert, remove: removeFiles } = await selfSignedCertificate(['DNS:localhost']);
  await removeFiles();
  const certFile = join(folder, 'postgres-ca.pem');
  await writeFile(join(pgdata, 'server.key'), key, { mode: 0o600 });
  for (const file of [join(pgdata, 'server.crt'), certFile]) await writeFile(file, cert);
  await writeFile(
    join(pgdata, 'pg_hba.conf'),
    'hostssl all all 127.0.0.1/32 scram-sha-256\nhostssl replication all 127.0.0.1/32 scram-sha-256\n',
  );
  await mkdir(join(folder, 'archive'), { mode: 0o700 });
  const url: OwnPostgres['url'] = (user, password, database) =>
    `postgresql://${user}:${password}@localhost:${port}/${database}?sslmode=verify-full&sslrootcert=${certFile}`;

  const start: OwnPostgres['start'] = async (further = {}) => {
    const all = { ...DEFAULTS, port: String(port), ...settings, ...further };
    const words = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const [command = '', ...args] = [
      ...account.prefix,
      account.binaries.postgres,
      '-D',
      pgdata,
      ...words,
    ];
    const child = spawn(command, args, { cwd: folder, env: environment, stdio: 'pipe' });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const ended = once(child, 'exit');
    while (child.exitCode === null && (await readPostmasterFile(pgdata))?.status !== 'ready')
      await delay(20);
    if (child.exitCode !== null) throw new Error(`the server ended: ${said}`);
    running = { pid: child.pid ?? 0, ended };
  };
  let running: { readonly pid: number; readonly ended: Promise<unknown> } | undefined;
  const stop = async (): Promise<void> => {
    if (!running) return;
    process.kill(running.pid, 'SIGINT');
    await running.ended;
    running = undefined;
  };
  await start();
  return {
    folder,
    pgdata,
    port,
    certFile,
    url,
    start,
    stop,
    asSuperuser: async (database, ...statements) => {
      const client = new pg.Client(url('postgres', PASSWORD, database));
      await client.connect();
      try {
        let rows: readonly unknown[] = [];
        for (const statement of statements) ({ rows } = await client.query<object>(statement));
        return rows;
      } finally {
        await client.end();
      }
    },
    remove: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Adds lines to the configuration of a stopped server. */
export const configure = (pgdata: string, lines: string): Promise<void> =>
  appendFile(join(pgdata, 'postgresql.auto.conf'), lines);

const environment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

const DEFAULTS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '120',
  ssl: 'on',
  fsync: 'off',
};

/** The blocks of a language in a page of the documentation, in their order. */
export async function blocksOf(page: string, language: string): Promise<readonly string[]> {
  const text = await readFile(page, 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, block = '']) => block,
  );
}
