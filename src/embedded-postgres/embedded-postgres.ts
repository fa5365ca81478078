import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  link,
  open,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { errorMessage, hasCode } from '../foundation/error-code.js';
import type { Logger } from '../foundation/logger.js';
import { waitAtMost, withTimeout } from '../foundation/timeout.js';
import { backOffMs, pause } from '../foundation/pause.js';
import { LOCKS } from '../postgres/locks.js';
import { isThere, makeDataFolder } from './data-folder.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { type FileLock, lockFile } from './file-lock.js';
import { type PostgresAccount, choosePostgresAccount } from './postgres-account.js';
import { isAlive, isServerOf, readPostmasterFile } from './postmaster-file.js';
import { provisionServiceRole, SERVICE_ROLE, servicePassword } from './service-role.js';
import {
  makeSocketFolder,
  refuseOpenFolder,
  removeStaleSocket,
  SOCKET_PORT,
} from './socket-folder.js';

export interface EmbeddedPostgresOptions {
  /** Created (0700) when missing: `postgres`, `postgres.password` and `socket`. */
  readonly dataDir: string;
  readonly logger?: Logger;
  /** False only for tests: a power cut then loses the database. Default true. */
  readonly fsync?: boolean;
  /** More only for tests, which open many services on one server. Default 120. */
  readonly maxConnections?: number;
}

export interface EmbeddedPostgres {
  /** Contains the password. To be read at every connect: the socket may move. */
  readonly url: string;
  /** The folder of the server's socket. It listens nowhere else. */
  readonly socketFolder: string;
  /** Another process started the server, or a killed one left it. */
  readonly attached: boolean;
  /** Leaves the server; the last process stops it. Not restarted for this process. */
  stop(): Promise<void>;
}

/** All application data; the supervisor's connection and lock are in `postgres`. */
const DATABASE = 'ledger';
/** Used by the supervisor alone. */
const SUPERUSER = 'ledger';

const LOCK_WAIT_MS = 90_000;
const READY_WAIT_MS = 60_000;
const STOP_WAIT_MS = 30_000;
const ANSWER_WITHIN_MS = 2_000;
const POLL_MS = 4;
const RESTART = { first: 20, max: 5_000 };

/**
 * Starts the embedded Postgres, or attaches to one that runs on this data folder. Any number of
 * processes share a server; the last one stops it, and a server that dies is restarted.
 * @throws {EmbeddedPostgresError} with one line for the operator.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  await makeDataFolder(dataDir);
  const { fsync = true, maxConnections = 120, logger } = options;
  const member = new ServerMember(await realpath(dataDir), { fsync, maxConnections }, logger);
  await member.enter();
  return member;
}

type Tuning = Readonly<Required<Pick<EmbeddedPostgresOptions, 'fsync' | 'maxConnections'>>>;

/** This process's share in the server of one data folder. */
class ServerMember implements EmbeddedPostgres {
  private readonly pgdata: string;
  private password = '';
  private connection: pg.Client | undefined;
  private recovering: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;
  private readonly leaving = new AbortController();
  socketFolder = '';
  attached = false;

  constructor(
    private readonly dataDir: string,
    private readonly tuning: Tuning,
    private readonly logger: Logger | undefined,
  ) {
    this.pgdata = join(dataDir, 'postgres');
  }

  get url(): string {
    const host = encodeURIComponent(this.socketFolder);
    const password = servicePassword(this.password);
    return `postgresql://${SERVICE_ROLE}:${password}@${host}:${SOCKET_PORT}/${DATABASE}?sslmode=disable`;
  }

  /** Attaches or starts, serialised over the processes of a data folder. */
  async enter(): Promise<void> {
    const began = performance.now();
    const turn = await this.takeLock();
    try {
      this.password = await this.readPassword();
      this.attached = await this.attach();
      if (!this.attached) await this.launch(turn.held);
    } finally {
      await turn.release();
    }
    this.logger?.info(
      { attached: this.attached, ms: Math.round(performance.now() - began) },
      this.attached ? 'attached to the embedded Postgres' : 'started the embedded Postgres',
    );
  }

  stop(): Promise<void> {
    this.stopping ??= this.leave();
    return this.stopping;
  }

  private async leave(): Promise<void> {
    this.leaving.abort();
    await this.recovering;
    const connection = this.connection;
    this.connection = undefined;
    if (!connection) return;
    const turn = await this.takeLock();
    try {
      // A server without an answer stays: others may use it, and the next start will.
      if (await withTimeout(isLast(connection), ANSWER_WITHIN_MS).catch(() => false))
        await this.shutDown();
    } finally {
      await waitAtMost(
        ANSWER_WITHIN_MS,
        connection.end().catch(() => undefined),
      );
      await turn.release();
    }
  }

  private async shutDown(): Promise<void> {
    const server = await readPostmasterFile(this.pgdata);
    if (!server || !(await isServerOf(this.pgdata, server.pid))) return;
    // Fast: cuts off running statements. Every process with an open statement is stopping as well.
    process.kill(server.pid, 'SIGINT');
    if (!(await until(async () => !(await isServerOf(this.pgdata, server.pid)), STOP_WAIT_MS))) {
      this.logger?.warn(
        { pid: server.pid },
        'the embedded Postgres is still shutting down; not waiting any longer',
      );
      return;
    }
    if (server.socketFolder.startsWith(tmpdir()))
      await rm(server.socketFolder, { recursive: true, force: true });
  }

  private async takeLock(): Promise<FileLock> {
    const path = join(this.dataDir, 'postgres.lock');
    try {
      return await lockFile(path, LOCK_WAIT_MS);
    } catch (error) {
      throw new EmbeddedPostgresError(`cannot lock ${path}: ${errorMessage(error)}`);
    }
  }

  /** Written to another file and linked, so that no process reads half of it. */
  private async readPassword(): Promise<string> {
    const path = join(this.dataDir, 'postgres.password');
    const known = await readFile(path, 'utf8').catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw new EmbeddedPostgresError(`cannot read ${path}: ${errorMessage(error)}`);
    });
    if (known) return known.trim();
    if (await this.isInitialised())
      throw new EmbeddedPostgresError(
        `${path} is missing: it belongs to the database in ${this.pgdata}`,
      );
    const made = randomBytes(32).toString('hex');
    const aside = `${path}.${randomBytes(6).toString('hex')}`;
    await writeFile(aside, `${made}\n`, { mode: 0o600, flag: 'wx', flush: true });
    try {
      await link(aside, path);
      return made;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
      return (await readFile(path, 'utf8')).trim();
    } finally {
      await rm(aside, { force: true });
    }
  }

  private isInitialised(): Promise<boolean> {
    return isThere(join(this.pgdata, 'PG_VERSION'));
  }

  /** True: a server of this data folder runs, and this process is now a member. */
  private async attach(): Promise<boolean> {
    const deadline = performance.now() + READY_WAIT_MS;
    let refused: unknown;
    for (;;) {
      const server = await readPostmasterFile(this.pgdata);
      if (!server || !(await isServerOf(this.pgdata, server.pid))) return false;
      // Waits for a server that is starting (recovery after a crash) or stopping.
      if (server.status === 'ready') {
        try {
          await refuseOpenFolder(server.socketFolder);
          await this.join(server.socketFolder);
          return true;
        } catch (error) {
          if (error instanceof EmbeddedPostgresError) throw error;
          refused = error;
        }
      }
      if (performance.now() > deadline) {
        const reason = refused ? `: ${errorMessage(refused)}` : '';
        throw new EmbeddedPostgresError(
          `the Postgres of ${this.pgdata} (pid ${server.pid}) is ${server.status} and refuses connections${reason}`,
        );
      }
      await delay(POLL_MS);
    }
  }

  private async launch(alone: boolean): Promise<void> {
    const account = await choosePostgresAccount(this.dataDir, this.pgdata);
    if (!(await this.isInitialised())) await this.initialise(account, alone);
    await this.refuseOtherVersion(account);
    const folder = await makeSocketFolder(this.dataDir);
    if (alone) await removeStaleSocket(folder);
    const deadline = performance.now() + READY_WAIT_MS;
    for (;;) {
      if (await this.launchIn(folder, account)) {
        await this.join(folder);
        return;
      }
      // Without a lock another process may have started a server first.
      if (await this.attach()) {
        this.attached = true;
        return;
      }
      const reason = await this.lastWords();
      // The last sessions of a killed server may hold its shared memory for a moment.
      const passes = /shared memory block|lock file/.test(reason);
      if (performance.now() > deadline || !passes) {
        throw new EmbeddedPostgresError(
          `the embedded Postgres does not start: ${reason || 'it wrote no message'} (log: ${join(this.pgdata, 'log')})`,
        );
      }
      await delay(25);
    }
  }

  /** False when the server ended before it was ready. */
  private async launchIn(folder: string, { prefix, binaries }: PostgresAccount): Promise<boolean> {
    const settings = Object.entries(serverSettings(folder, this.tuning)).flatMap(
      ([name, value]) => ['-c', `${name}=${value}`],
    );
    const [command = binaries.postgres, ...args] = [
      ...prefix,
      binaries.postgres,
      '-D',
      this.pgdata,
      ...settings,
    ];
    const stale = await readPostmasterFile(this.pgdata);
    const words = await open(join(this.dataDir, 'postgres-start.log'), 'w', 0o600);
    try {
      const child = spawn(command, args, {
        cwd: this.dataDir,
        // Its own session: neither Ctrl-C nor a closing terminal reaches it.
        detached: true,
        stdio: ['ignore', words.fd, words.fd],
        env: {
          PATH: process.env.PATH,
          LC_ALL: 'C',
          TZ: 'UTC',
          // A crash may leave a pid file with the pid of another program, and Postgres would refuse
          // to start. It ignores the pid in this variable, meant for pg_ctl's parent, and replaces
          // the file itself.
          ...(stale && isAlive(stale.pid) ? { PG_GRANDPARENT_PID: String(stale.pid) } : {}),
        },
      });
      let ended = false;
      child.once('error', () => (ended = true));
      child.once('exit', () => (ended = true));
      child.unref();
      const began = performance.now();
      let isReported = false;
      for (;;) {
        if (ended) return false;
        const server = await readPostmasterFile(this.pgdata);
        if (server && server.pid === child.pid && server.status === 'ready') return true;
        const waited = performance.now() - began;
        if (!isReported && waited > 2_000) {
          isReported = true;
          this.logger?.info({}, 'the embedded Postgres replays its log after a crash');
        }
        // Recovery is bounded by max_wal_size; a server that needs this long hangs.
        if (waited > READY_WAIT_MS) {
          child.kill('SIGQUIT');
          throw new EmbeddedPostgresError(
            `the embedded Postgres was not ready within ${READY_WAIT_MS / 1000} s`,
          );
        }
        await delay(POLL_MS);
      }
    } finally {
      await words.close();
    }
  }

  /** Creates the database under another name and renames it: an incomplete one is never used. */
  private async initialise({ prefix, binaries }: PostgresAccount, alone: boolean): Promise<void> {
    if (alone) {
      for (const entry of await readdir(this.dataDir)) {
        if (entry.startsWith('postgres.new-'))
          await rm(join(this.dataDir, entry), { recursive: true, force: true });
      }
    }
    const made = join(this.dataDir, `postgres.new-${randomBytes(6).toString('hex')}`);
    const passwordFile = join(this.dataDir, 'postgres.password');
    const [command = binaries.initdb, ...args] = [
      ...prefix,
      binaries.initdb,
      `--pgdata=${made}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      // The password is 256 random bits: iterations would not protect it, and would cost 3 ms at
      // every connect.
      '--set=scram_iterations=1',
      ...(this.tuning.fsync ? [] : ['--no-sync']),
    ];
    try {
      await promisify(execFile)(command, args, {
        cwd: this.dataDir,
        env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      });
      await rename(made, this.pgdata);
      await syncFolder(this.dataDir);
    } catch (error) {
      await rm(made, { recursive: true, force: true });
      if (await this.isInitialised()) return;
      if (hasCode(error, 'ENOTEMPTY', 'EEXIST'))
        throw new EmbeddedPostgresError(`${this.pgdata} contains files, but no database`);
      throw new EmbeddedPostgresError(
        `cannot create the database in ${this.pgdata}: ${lastLine(stderrOf(error)) || errorMessage(error)}`,
      );
    }
  }

  private async refuseOtherVersion({ version }: PostgresAccount): Promise<void> {
    const files = (await readFile(join(this.pgdata, 'PG_VERSION'), 'utf8')).trim();
    const [program] = version.split('.');
    if (program !== files) {
      throw new EmbeddedPostgresError(
        `the database in ${this.pgdata} is of Postgres ${files}, the embedded one is ${program}: dump with the old release, load with this one`,
      );
    }
  }

  /** Connects, checks that the server is the one of this data folder, and becomes a member. */
  private async join(folder: string): Promise<void> {
    const superuser: pg.ClientConfig = {
      host: folder,
      port: SOCKET_PORT,
      user: SUPERUSER,
      password: this.password,
      ssl: false,
      application_name: 'ledger-supervisor',
      connectionTimeoutMillis: 5_000,
    };
    const connection = new pg.Client({ ...superuser, database: 'postgres' });
    // An error without a listener would end the process; 'end' follows and is handled.
    connection.on('error', () => undefined);
    try {
      await connection.connect();
      const { rows } = await connection.query<{ folder: string; owner: string | null }>(
        `select current_setting('data_directory') as folder,
           (select pg_get_userbyid(datdba) from pg_database where datname = '${DATABASE}') as owner`,
      );
      const [server] = rows;
      if (!server || !(await isSameFolder(server.folder, this.pgdata))) {
        throw new EmbeddedPostgresError(
          `the Postgres that listens in ${folder} is not the one of ${this.pgdata}: left alone`,
        );
      }
      await connection.query('select pg_advisory_lock_shared($1)', [
        LOCKS['use embedded Postgres'],
      ]);
      if (server.owner === null) await makeDatabase(connection);
      if (server.owner !== SERVICE_ROLE)
        await provisionServiceRole(
          { ...superuser, database: DATABASE },
          servicePassword(this.password),
        );
    } catch (error) {
      await connection.end().catch(() => undefined);
      throw error;
    }
    this.socketFolder = folder;
    this.connection = connection;
    connection.once('end', () => {
      if (this.connection !== connection) return;
      this.connection = undefined;
      if (!this.leaving.signal.aborted) this.recovering = this.recover();
    });
  }

  /** Reconnects or restarts the server with growing delay, until it runs or this process leaves. */
  private async recover(): Promise<void> {
    this.logger?.warn({}, 'lost the embedded Postgres');
    for (let failures = 0; !this.leaving.signal.aborted; failures++) {
      const retryInMs = Math.round(backOffMs(failures, RESTART));
      try {
        await this.enter();
        return;
      } catch (error) {
        this.logger?.warn(
          { reason: errorMessage(error), retryInMs },
          'cannot restart the embedded Postgres yet, retrying',
        );
      }
      await pause(retryInMs, this.leaving.signal);
    }
  }

  /** Output from before the server's log was open, else the newest line of the log. */
  private async lastWords(): Promise<string> {
    const early = await readFile(join(this.dataDir, 'postgres-start.log'), 'utf8').catch(() => '');
    const log = join(this.pgdata, 'log');
    const names = await readdir(log).catch(() => []);
    const files = await Promise.all(
      names.map(async (name) => ({ name, at: (await stat(join(log, name))).mtimeMs })),
    );
    const newest = files.sort((a, b) => b.at - a.at)[0];
    const later = newest ? await readFile(join(log, newest.name), 'utf8').catch(() => '') : '';
    return lastLine(early, /FATAL|PANIC/) || lastLine(later, /FATAL|PANIC/) || lastLine(early);
  }
}

/** Passed at every start, so that a new release's settings reach old data folders. */
function serverSettings(
  socketFolder: string,
  { fsync, maxConnections }: Tuning,
): Readonly<Record<string, string | number>> {
  return {
    // No TCP: after a crash another user's process could take the port and receive the password.
    listen_addresses: '',
    port: SOCKET_PORT,
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: maxConnections,
    timezone: 'UTC',
    log_timezone: 'UTC',
    jit: 'off',
    // Statements, DETAIL lines and many error messages ("invalid input syntax … : ‹value›") contain
    // personal data. The client receives them; the log has only messages about the server itself.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_statement: 'none',
    log_min_duration_statement: -1,
    log_autovacuum_min_duration: -1,
    // Plans follow a table that grows from nothing.
    autovacuum_naptime: '15s',
    log_checkpoints: 'off',
    logging_collector: 'on',
    log_directory: 'log',
    // One small file per weekday, overwritten a week later.
    log_filename: 'postgres-%a.log',
    log_truncate_on_rotation: 'on',
    log_rotation_age: '1d',
    log_rotation_size: 0,
    log_file_mode: '0600',
    // Erased bytes must leave the disk: a recycled segment keeps them for long.
    wal_recycle: 'off',
    // Bounds the replay after a crash: measured 1.3 s at worst under random updates, 1.9 s with
    // twice as much. Compressed page images keep frequent checkpoints from costing throughput (735
    // transactions a second against 514 without).
    max_wal_size: '128MB',
    min_wal_size: '32MB',
    wal_compression: 'on',
    checkpoint_timeout: '5min',
    ...(fsync ? { fsync: 'on' } : { fsync: 'off', full_page_writes: 'off' }),
  };
}

/** No other process is a member. A broken connection: the server is already down. */
async function isLast(connection: pg.Client): Promise<boolean> {
  try {
    await connection.query('select pg_advisory_unlock_shared($1)', [
      LOCKS['use embedded Postgres'],
    ]);
    const { rows } = await connection.query<{ last: boolean }>(
      'select pg_try_advisory_lock($1) as last',
      [LOCKS['use embedded Postgres']],
    );
    return rows[0]?.last ?? false;
  } catch {
    return false;
  }
}

async function makeDatabase(connection: pg.Client): Promise<void> {
  try {
    await connection.query(`create database ${DATABASE}`);
  } catch (error) {
    // Another process was faster: 42P04, or a moment earlier 23505 from the unique index.
    if (!hasCode(error, '42P04', '23505')) throw error;
  }
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  try {
    const [a, b] = await Promise.all([stat(one), stat(other)]);
    return a.dev === b.dev && a.ino === b.ino;
  } catch {
    return false;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function until(condition: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

function lastLine(text: string, matching = /\S/): string {
  return (
    text
      .trimEnd()
      .split('\n')
      .findLast((line) => matching.test(line))
      ?.trim() ?? ''
  );
}

function stderrOf(error: unknown): string {
  return typeof error === 'object' &&
    error !== null &&
    'stderr' in error &&
    typeof error.stderr === 'string'
    ? error.stderr
    : '';
}
