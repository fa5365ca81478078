import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { pollPause } from './poll-pause.js';

/**
 * Waits until the condition holds; an exception counts as "not yet". The time limit is below that
 * of a test, so that a failure names the condition.
 */
export async function eventually(
  condition: () => Promise<boolean> | boolean,
  timeoutMs = 50_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let looks = 1; ; looks++) {
    if (
      await Promise.resolve()
        .then(condition)
        .catch(() => false)
    )
      return;
    if (performance.now() > deadline)
      throw new Error(`not so within ${timeoutMs} ms: ${condition.toString()}`);
    await pollPause(looks);
  }
}

export interface OtherProcess {
  readonly url: string;
  readonly socketFolder: string;
  readonly attached: boolean;
  /** Stops as a service does. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const PROGRAM = `
  const { startEmbeddedPostgres } = await import(process.argv[1]);
  const server = await startEmbeddedPostgres({ dataDir: process.argv[2], fsync: false });
  console.log(JSON.stringify({ url: server.url, socketFolder: server.socketFolder, attached: server.attached }));
  process.stdin.once('end', () => server.stop()).resume();
`;

/** Another process that starts, or attaches to, the server of a data folder. */
export async function startInOtherProcess(dataDir: string): Promise<OtherProcess> {
  const supervisor = pathToFileURL(
    join(__dirname, '../../dist/src/embedded-postgres/embedded-postgres.js'),
  ).href;
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', PROGRAM, supervisor, dataDir],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const started = JSON.parse(await firstLine(child)) as Omit<OtherProcess, 'stop' | 'kill'>;
  const ended = once(child, 'exit');
  return {
    ...started,
    stop: async () => {
      child.stdin.end();
      await ended;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no output to read');
  for await (const line of createInterface(child.stdout)) return line;
  throw new Error('the other process ended without a word');
}

export function textOf(dataDir: string, ...path: string[]): Promise<string> {
  return readFile(join(dataDir, ...path), 'utf8').catch(() => '');
}

/** The address of a member, for the superuser instead of the service's role. */
export async function superuserUrl(dataDir: string, url: string): Promise<string> {
  const superuser = new URL(url);
  superuser.username = 'ledger';
  superuser.password = (await textOf(dataDir, 'postgres.password')).trim();
  return superuser.href;
}
