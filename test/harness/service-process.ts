import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isServerOf, readPostmasterFile } from '../../src/embedded-postgres/postmaster-file.js';
import { SeededRandom } from './seeded-random.js';

/** The compiled service as a process. */
export interface ServiceProcess {
  readonly url: string;
  readonly port: number;
  /** The newest part of its output, for reports of failures and the keys of a first start. */
  readonly output: () => string;
  readonly exited: Promise<{
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
  }>;
  /**
   * Waits for the first 200 of /health/ready. @returns milliseconds since the start of the process.
   * @throws when it ended or is late.
   */
  ready(withinMs?: number): Promise<number>;
  /** The process that serves, also below npm. @throws when there is none. */
  pid(): Promise<number>;
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Sends SIGTERM and waits for the end. @returns the exit code. */
  terminate(): Promise<number | null>;
  /** kill -9: nothing is cleaned up. The embedded Postgres stays. */
  kill(): Promise<void>;
}

export interface ServiceProcessOptions {
  /** Of the service, next to what it needs to run at all; DATA_DIR or DATABASE_URL among them. */
  readonly env: Readonly<Record<string, string>>;
  readonly port?: number;
  /** The folder of the built release. Default: this one. */
  readonly root?: string;
  /** `npm`: as an operator starts it, `npm start`. Default `node`: the compiled main itself. */
  readonly by?: 'node' | 'npm';
  /** For node itself, before the program; not with npm. */
  readonly nodeOptions?: readonly string[];
  readonly onOutput?: (text: string) => void;
}

const OUTPUT_KEPT = 64 * 1024;
const LOOK_EVERY_MS = 10;
const RUNNING = new Set<() => void>();
// No process that was started here outlives this one, however it ends (short of kill -9).
process.once('exit', () => RUNNING.forEach((end) => end()));

/** Starts the service; `ready` waits for it. Logs warnings unless LOG_LEVEL is given. */
export async function startServiceProcess({
  env,
  port: wanted,
  root = projectRoot(),
  by = 'node',
  nodeOptions = [],
  onOutput = () => undefined,
}: ServiceProcessOptions): Promise<ServiceProcess> {
  const port = wanted ?? (await freePort());
  const [command, args] =
    by === 'npm'
      ? ['npm', ['start', '--silent']]
      : [process.execPath, [...nodeOptions, join(root, 'dist/bin/main.js')]];
  const startedAt = performance.now();
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      HOST: '127.0.0.1',
      PORT: String(port),
      LOG_LEVEL: 'warn',
      ...env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_KEPT);
      onOutput(text);
    });
  }
  const exited = once(child, 'exit').then(() => ({
    code: child.exitCode,
    signal: child.signalCode,
  }));
  const end = (): void => void child.kill('SIGKILL');
  RUNNING.add(end);
  let ended = false;
  void exited.then(() => {
    ended = true;
    RUNNING.delete(end);
  });

  const url = `http://127.0.0.1:${port}`;
  const pid = async (): Promise<number> => {
    const found = child.pid === undefined || ended ? undefined : await servingProcess(child.pid);
    if (found === undefined) throw new Error('the service is not running');
    return found;
  };
  const signal = async (name: NodeJS.Signals): Promise<void> => {
    // A process that has just ended needs no signal.
    const target = await pid().catch(() => undefined);
    if (target !== undefined) process.kill(target, name);
  };
  return {
    url,
    port,
    exited,
    pid,
    signal,
    output: () => output,
    ready: async (withinMs = 60_000) => {
      for (;;) {
        if ((await statusOf(`${url}/health/ready`)) === 200) return performance.now() - startedAt;
        if (ended) throw new Error(`the service ended before it was ready:\n${output}`);
        if (performance.now() - startedAt > withinMs)
          throw new Error(`the service was not ready within ${withinMs} ms:\n${output}`);
        await delay(LOOK_EVERY_MS);
      }
    },
    terminate: async () => {
      await signal('SIGTERM');
      return (await exited).code;
    },
    kill: async () => {
      await signal('SIGKILL');
      await exited;
    },
  };
}

/** The live API key that a first start on an empty data folder prints. @throws when it did not. */
export function printedKey(output: string): string {
  const [, key] = /live API key\s+(\S+)/.exec(output) ?? [];
  if (key === undefined) throw new Error(`no key was printed:\n${output}`);
  return key;
}

/** The HTTP status of a GET on a new connection; undefined without an answer in time. */
export function statusOf(url: string, withinMs = 3_000): Promise<number | undefined> {
  return new Promise((resolve) => {
    const sent = get(url, { agent: false, timeout: withinMs }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(undefined));
  });
}

export const makeDataDir = (): Promise<string> => mkdtemp(join(tmpdir(), 'ledger-service-'));

/** The embedded server's process on this data folder; undefined when none runs. */
export async function postmasterPid(dataDir: string): Promise<number | undefined> {
  const pgdata = join(dataDir, 'postgres');
  const server = await readPostmasterFile(pgdata);
  return server && (await isServerOf(pgdata, server.pid)) ? server.pid : undefined;
}

/** The embedded server of a data folder and all its sessions. */
export async function postgresPids(dataDir: string): Promise<readonly number[]> {
  const postmaster = await postmasterPid(dataDir);
  if (postmaster === undefined) return [];
  return [
    postmaster,
    ...(await processes()).filter(({ parent }) => parent === postmaster).map(({ pid }) => pid),
  ];
}

/** Removes a data folder, after stopping a server that still runs on it. */
export async function removeDataDir(dataDir: string): Promise<void> {
  const pid = await postmasterPid(dataDir);
  if (pid !== undefined) {
    process.kill(pid, 'SIGCONT');
    process.kill(pid, 'SIGQUIT');
    while ((await postmasterPid(dataDir)) !== undefined) await delay(LOOK_EVERY_MS);
  }
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
}

/** The folder of package.json, from a source file and from its compiled form. */
export function projectRoot(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const above = dirname(folder);
    if (above === folder) throw new Error('no package.json above this program');
    folder = above;
  }
  return folder;
}

/** A port that the system does not use for outgoing connections. */
export async function freePort(): Promise<number> {
  const random = new SeededRandom(
    process.pid * 7_919 + Math.trunc(performance.timeOrigin + performance.now()),
  );
  for (;;) {
    const port = random.integer(10_000, 19_999);
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(false));
      probe.listen({ port, host: '127.0.0.1', exclusive: true }, () =>
        probe.close(() => resolve(true)),
      );
    });
    if (isFree) return port;
  }
}

interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
}

/** Resident memory of a process in MB. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? NaN) / 1_024;
}

/** All processes of the machine that can be seen (Linux). */
async function processes(): Promise<readonly RunningProcess[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
      // The program's name is in parentheses and may contain anything.
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return parent === undefined ? [] : [{ pid: Number(name), parent: Number(parent) }];
    }),
  );
  return found.flat();
}

/** The process itself, or the one below it that npm and its shell started. */
async function servingProcess(pid: number): Promise<number | undefined> {
  const all = await processes();
  let generation = [pid];
  while (generation.length > 0) {
    for (const candidate of generation) {
      const [program = '', ...args] = (
        await readFile(`/proc/${candidate}/cmdline`, 'utf8').catch(() => '')
      ).split('\0');
      const script = args.find((argument) => !argument.startsWith('-')) ?? '';
      if (basename(program) === 'node' && /(^|\/)(scripts\/start\.mjs|bin\/main\.js)$/.test(script))
        return candidate;
    }
    generation = all.filter(({ parent }) => generation.includes(parent)).map((child) => child.pid);
  }
  return undefined;
}
