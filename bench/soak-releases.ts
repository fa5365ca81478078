import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.js';
import {
  buildNextRelease,
  buildPreviousRelease,
  presentRelease,
  removePreviousRelease,
  runCommand,
  startRelease,
  type BuiltRelease,
} from './releases/built-release.js';
import { ReleaseLoad } from './releases/release-load.js';
import {
  makeDataDir,
  removeDataDir,
  type ServiceProcess,
} from '../test/harness/service-process.js';

/**
 * Two releases side by side on one database under load, as docs/runbooks/upgrade.md describes it:
 * the newer one starts next to the older one, takes over, the older one comes back and takes over,
 * the newer one again, and is confirmed. First from the previous release to this one, then from
 * this one to a next one, whose tables all differ. Fails (exit 1) with every answer that was not
 * right, and every command that did not say what it should. `SOAK_ACCOUNTS` (40): carried through
 * in each step; `SOAK_CLIENTS` (8).
 */
const ACCOUNTS = Number(process.env.SOAK_ACCOUNTS ?? 40);
const CLIENTS = Number(process.env.SOAK_CLIENTS ?? 8);
const READY_WITHIN_MS = 300_000;
const SAMPLED = 20;
const TENANT = 'demo';

type Environment = Readonly<Record<string, string>>;

interface Stage {
  readonly env: Environment;
  readonly load: ReleaseLoad;
  readonly older: BuiltRelease;
  readonly newer: BuiltRelease;
}

interface Running {
  readonly release: BuiltRelease;
  readonly service: ServiceProcess;
}

/** What was expected and did not happen. */
const faults: string[] = [];
/** All processes, so that none outlives this program. */
const started: ServiceProcess[] = [];

async function main(): Promise<void> {
  const folder = await makeDataDir();
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'server'), fsync: false });
  let previous: BuiltRelease | undefined;
  try {
    await mkdir(join(folder, 'releases'));
    previous = await buildPreviousRelease(join(folder, 'releases'));
    const next = await buildNextRelease(join(folder, 'releases'));
    console.log(`built ${previous.name} and ${next.name}`);
    const env = await environmentOf(folder, server.url);
    const made = await runCommand(previous, env, ['tenant', 'create', TENANT]);
    if (made.code !== 0) throw new Error(`no tenant: ${made.stderr}`);
    const { liveApiKey: apiKey } = JSON.parse(made.stdout) as { liveApiKey: string };
    const load = new ReleaseLoad({ apiKey, tenant: TENANT });
    const present = presentRelease();
    const first = await start(previous, env);
    load.add(previous.name, first.service.url);
    load.start(CLIENTS);
    await load.more(ACCOUNTS);
    const second = await upgrade({ env, load, older: previous, newer: present }, first);
    const third = await upgrade({ env, load, older: present, newer: next }, second);
    await load.stop();
    await replay(next, env);
    await end(third);
    console.log(
      `${load.requests} requests, ${load.accounts.length} accounts carried through, ` +
        `${load.stale} reads said Ledger-Stale, ${load.faults.length + faults.length} faults`,
    );
    faults.push(...load.faults);
    if (faults.length > 0) throw new Error(faults.slice(0, 50).join('\n  '));
  } finally {
    for (const service of started) await service.kill();
    if (previous) await removePreviousRelease(previous);
    await server.stop();
    await removeDataDir(folder);
  }
}

async function environmentOf(folder: string, url: string): Promise<Environment> {
  const masterKeyFile = join(folder, 'master.key');
  await writeFile(masterKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  await rm(join(folder, 'data'), { recursive: true, force: true });
  return {
    DATABASE_URL: url,
    MASTER_KEY_FILE: masterKeyFile,
    DATA_DIR: join(folder, 'data'),
    SHUTDOWN_GRACE_MS: '10000',
  };
}

/** Both ways, and confirmed. @returns the newer one, which runs alone. */
async function upgrade(stage: Stage, first: Running): Promise<Running> {
  const { env, load, older, newer } = stage;
  const tables = await liveTables(stage);
  const other = await takeOver(stage, newer, first);
  await sameAnswers(stage, 'side by side');
  const { otherProcesses, migrations } = await statusOf(newer, env);
  // Releases with the same tables and migrations count as one.
  if (otherProcesses > 0) {
    const refused = await runCommand(newer, env, ['release', 'confirm']);
    expectIn('a confirmation next to the older release', refused, 1, 'of another release');
  }
  await leave(stage, first);
  await replay(newer, env);

  const back = await takeOver(stage, older, other);
  await sameAnswers(stage, 'after going back');
  await leave(stage, other);
  await replay(older, env);
  const kept = await liveTables(stage);
  if (kept !== tables) faults.push(`live tables changed from ${tables} to ${kept}`);

  const again = await takeOver(stage, newer, back);
  await leave(stage, back);
  const confirmed = await runCommand(newer, env, ['release', 'confirm']);
  expectIn('the confirmation', confirmed, 0, 'confirmed');
  if (migrations.unconfirmed.length > 0) await refusesToStart(stage);
  await load.more(ACCOUNTS);
  return again;
}

/** Starts a release next to the running one and sends it requests, too, once it is ready. */
async function takeOver({ env, load }: Stage, release: BuiltRelease, other: Running) {
  const running = await start(release, env);
  load.add(release.name, running.service.url);
  await load.more(ACCOUNTS);
  console.log(`${release.name} serves next to ${other.release.name}`);
  return running;
}

async function leave({ load }: Stage, running: Running): Promise<void> {
  await load.remove(running.release.name);
  await end(running);
  await load.more(ACCOUNTS);
  console.log(`${running.release.name} has ended`);
}

async function start(release: BuiltRelease, env: Environment): Promise<Running> {
  const service = await startRelease(release, env);
  started.push(service);
  const ms = await service.ready(READY_WITHIN_MS);
  console.log(`${release.name} is ready after ${Math.round(ms)} ms`);
  return { release, service };
}

async function end({ release, service }: Running): Promise<void> {
  const code = await service.terminate();
  if (code !== 0) faults.push(`${release.name} ended with ${code}:\n${service.output()}`);
  for (const line of service.output().split('\n'))
    if (/"level":(50|60|"error"|"fatal")/.test(line)) faults.push(`${release.name}: ${line}`);
}

async function replay(release: BuiltRelease, env: Environment): Promise<void> {
  const result = await runCommand(release, env, ['ledger', 'replay', TENANT, '--json']);
  expectIn(`replay by ${release.name}`, result, 0, '"differences":[]');
}

async function statusOf(release: BuiltRelease, env: Environment) {
  const { stdout } = await runCommand(release, env, ['release', 'status', '--json']);
  return JSON.parse(stdout) as {
    readonly otherProcesses: number;
    readonly migrations: { readonly unconfirmed: readonly string[] };
  };
}

/** The older release does not know the newer one's migrations. */
async function refusesToStart({ env, older }: Stage): Promise<void> {
  const service = await startRelease(older, env);
  started.push(service);
  const { code } = await service.exited;
  const stderr = service.output();
  expectIn(
    `${older.name} after the confirmation`,
    { code: code ?? -1, stdout: '', stderr },
    1,
    'the database is newer than this release',
  );
  if (stderr.trim().split('\n').length !== 1) faults.push(`${older.name} said more: ${stderr}`);
}

/** Every service shows the same of the same account. */
async function sameAnswers({ load }: Stage, when: string): Promise<void> {
  for (const account of load.accounts.slice(-SAMPLED)) {
    const answers = await load.balances(account);
    if (new Set(answers.values()).size !== 1)
      faults.push(`${when}, ${account} differs: ${JSON.stringify([...answers])}`);
  }
}

/** Which generations the older release serves, by its own account. */
async function liveTables({ env, older }: Stage): Promise<string> {
  const { stdout } = await runCommand(older, env, ['projection', 'status', '--json']);
  const rows = JSON.parse(stdout) as readonly { name: string; generation: number }[];
  return rows.map(({ name, generation }) => `${name} ${generation}`).join(', ');
}

function expectIn(
  what: string,
  { code, stdout, stderr }: Awaited<ReturnType<typeof runCommand>>,
  expected: number,
  text: string,
): void {
  const said = `${stdout}${stderr}`.replaceAll(/\s+/g, ' ');
  if (code !== expected || !said.replaceAll(' ', '').includes(text.replaceAll(' ', '')))
    faults.push(`${what} ended with ${code} and said ${said.slice(0, 500)}`);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
