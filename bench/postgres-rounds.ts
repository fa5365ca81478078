import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { readPostmasterFile } from '../src/embedded-postgres/postmaster-file.js';
import { audited } from './crash-rounds.js';
import { brokenPromises } from './kept-promises.js';
import { LedgerClient, positionOf } from '../test/harness/ledger-client.js';
import { MixedLoad } from './mixed-load.js';
import type { SeededRandom } from '../test/harness/seeded-random.js';
import {
  postgresPids,
  postmasterPid,
  statusOf,
  type ServiceProcess,
} from '../test/harness/service-process.js';

/**
 * Kills, restarts or freezes the embedded Postgres under a working service, which has to survive,
 * accept writes soon after the database is back, and keep all of its earlier answers.
 */

export const TROUBLES = [
  'the postmaster is killed',
  'a backend is killed',
  'a backend is terminated',
  'killed twice within 300 ms',
  'killed again during recovery',
  'SIGQUIT',
  'SIGSTOP',
] as const;
export type Trouble = (typeof TROUBLES)[number];

export interface PostgresRoundsOptions {
  readonly dataDir: string;
  /** Running; it is never started again. */
  readonly service: ServiceProcess;
  readonly apiKey: string;
  readonly rounds: number;
  readonly random: SeededRandom;
  readonly clients?: number;
  /** Whether two processes that do nothing but compute run during this round (counted from 1). */
  readonly isBusy?: (round: number) => boolean;
  /** The trouble comes at a random moment within this time of load. Default 200 to 1 000 ms. */
  readonly loadMs?: { readonly min: number; readonly max: number };
  readonly report?: (line: string) => void;
}

export interface PostgresReport {
  /**
   * Milliseconds from the return of the database to the first write that was accepted, per round.
   */
  readonly backMs: readonly number[];
  readonly requests: number;
  readonly repeated: number;
  readonly accounts: number;
  readonly violations: readonly string[];
}

/** @throws when the service ended or does not recover; what it did wrong is in the report. */
export async function postgresRounds(options: PostgresRoundsOptions): Promise<PostgresReport> {
  const {
    service,
    apiKey,
    rounds,
    random,
    isBusy = () => false,
    report = () => undefined,
  } = options;
  const backMs: number[] = [];
  const violations: string[] = [];
  const totals = { requests: 0, repeated: 0, accounts: 0 };
  // Each kind as often as the others, in an order of its own.
  const troubles: Trouble[] = [];
  for (let round = 1; round <= rounds; round++) {
    if (troubles.length === 0) troubles.push(...shuffled(TROUBLES, random));
    const trouble = troubles.pop() ?? TROUBLES[0];
    const client = new LedgerClient({ url: service.url, apiKey });
    const rest = isBusy(round) ? startBusy(2) : () => undefined;
    try {
      const found = await oneRound(options, { round, trouble, client });
      backMs.push(found.backMs);
      totals.requests += found.requests;
      totals.repeated += found.repeated;
      totals.accounts = found.accounts;
      violations.push(...found.faults.map((fault) => `round ${round} (${trouble}): ${fault}`));
      report(
        `round ${round}: ${trouble}${isBusy(round) ? ', busy' : ''}; a write accepted ${found.backMs.toFixed(0)} ms after the return, ` +
          `${found.requests} requests, ${found.accounts} accounts${found.faults.length > 0 ? `, ${found.faults.length} FAULTS` : ''}`,
      );
    } finally {
      rest();
      client.close();
    }
  }
  return { backMs, ...totals, violations };
}

interface Round {
  readonly round: number;
  readonly trouble: Trouble;
  readonly client: LedgerClient;
}

async function oneRound(
  {
    dataDir,
    service,
    apiKey,
    random,
    clients = 6,
    loadMs = { min: 200, max: 1_000 },
  }: PostgresRoundsOptions,
  { round, trouble, client }: Round,
) {
  const name = `p${round}-${random.seed}`;
  const actors = Array.from(
    { length: clients },
    (_, index) => new MixedLoad(client, `${name}-${index}`, random.fork()),
  );
  const running = Promise.all(actors.map((actor) => actor.run()));
  await delay(random.integer(loadMs.min, loadMs.max));
  await makeTrouble(trouble, dataDir, random);
  const back = await whenBack(dataDir);
  // On its own connections: hanging writes must not block it.
  const asking = new LedgerClient({ url: service.url, apiKey, connectionsMax: 1_000 });
  const accepted = await firstAcceptedWrite(asking, service, name).finally(() => asking.close());
  // Load on a service that has just recovered, too.
  await delay(100);
  for (const actor of actors) actor.stop();
  await running;
  await whenReady(service);
  // The last write is shown, with all of its reactions.
  const last = await client.post('accountsync', {
    id: `${name}-last`,
    subscription: { status: 'TRIAL' },
  });
  const shown = await client.get('users?limit=0', {
    'Ledger-Position-At-Least': positionOf(last) ?? '',
  });
  const faults =
    shown.status === 200
      ? []
      : [`the end of the round is not shown: ${last.status}, ${shown.status}`];
  const keyed = actors.flatMap((actor) => actor.keyed);
  faults.push(
    ...actors.flatMap((actor) => actor.violations),
    ...(await brokenPromises(client, actors)),
  );
  const books = await audited(dataDir);
  faults.push(...books.faults);
  const requests = actors.reduce((sum, actor) => sum + actor.requests, 0);
  return {
    backMs: Math.max(0, accepted - back),
    requests,
    repeated: keyed.length,
    accounts: books.accounts,
    faults,
  };
}

/** Done to the embedded Postgres of a data folder, which comes back by itself. */
export async function makeTrouble(
  trouble: Trouble,
  dataDir: string,
  random: SeededRandom,
): Promise<void> {
  switch (trouble) {
    case 'the postmaster is killed':
      return kill(await postmasterPid(dataDir), 'SIGKILL');
    case 'a backend is killed':
      return kill(await aBackend(dataDir, random), 'SIGKILL');
    case 'a backend is terminated':
      // What pg_terminate_backend sends.
      return kill(await aBackend(dataDir, random), 'SIGTERM');
    case 'killed twice within 300 ms':
      kill(await postmasterPid(dataDir), 'SIGKILL');
      await delay(random.integer(20, 300));
      return kill(await postmasterPid(dataDir), 'SIGKILL');
    case 'killed again during recovery': {
      const killed = await postmasterPid(dataDir);
      kill(killed, 'SIGKILL');
      const deadline = performance.now() + 10_000;
      let next = killed;
      while ((next === undefined || next === killed) && performance.now() < deadline) {
        await delay(5);
        next = await postmasterPid(dataDir);
      }
      return kill(next, 'SIGKILL');
    }
    case 'SIGQUIT':
      return kill(await postmasterPid(dataDir), 'SIGQUIT');
    case 'SIGSTOP': {
      const frozen = await postgresPids(dataDir);
      for (const pid of frozen) kill(pid, 'SIGSTOP');
      await delay(random.integer(1_000, 4_000));
      for (const pid of frozen) kill(pid, 'SIGCONT');
    }
  }
}

/** One that is gone already needs no signal. */
function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, signal);
  } catch {
    return;
  }
}

/** Any of the server's processes but the postmaster: a session, or one of its own. */
async function aBackend(dataDir: string, random: SeededRandom): Promise<number | undefined> {
  const [, ...backends] = await postgresPids(dataDir);
  return backends.length === 0 ? undefined : random.pick(backends);
}

/**
 * Asks the database itself until it takes a write. @returns that moment. @throws when it does not
 * come back.
 */
async function whenBack(dataDir: string, withinMs = 60_000): Promise<number> {
  const password = (await readFile(join(dataDir, 'postgres.password'), 'utf8')).trim();
  const deadline = performance.now() + withinMs;
  for (;;) {
    const folder = (await readPostmasterFile(join(dataDir, 'postgres')))?.socketFolder;
    if (folder && (await answers(folder, password))) return performance.now();
    if (performance.now() > deadline)
      throw new Error(`the database is not back within ${withinMs} ms`);
    await delay(10);
  }
}

async function answers(socketFolder: string, password: string): Promise<boolean> {
  const client = new pg.Client({
    host: socketFolder,
    user: 'ledger',
    password,
    database: 'ledger',
    ssl: false,
    connectionTimeoutMillis: 1_000,
    query_timeout: 1_000,
    application_name: 'soak-postgres',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select txid_current()');
    return true;
  } catch {
    return false;
  } finally {
    void client.end().catch(() => undefined);
  }
}

/**
 * Begins a write every 50 ms without waiting for the one before. @returns when one was accepted.
 * @throws when none is, or the service ended.
 */
async function firstAcceptedWrite(
  client: LedgerClient,
  service: ServiceProcess,
  name: string,
  withinMs = 60_000,
): Promise<number> {
  const deadline = performance.now() + withinMs;
  let accepted: number | undefined;
  for (let n = 0; accepted === undefined; n++) {
    void client
      .post('accountsync', { id: `${name}-back-${n}`, subscription: { status: 'TRIAL' } })
      .then(
        ({ status }) => {
          if (status === 200) accepted ??= performance.now();
        },
        () => undefined,
      );
    await delay(50);
    await mustLive(service);
    if (performance.now() > deadline)
      throw new Error(`no write was accepted within ${withinMs} ms:\n${service.output()}`);
  }
  return accepted;
}

/** Waits for a service that runs. @throws when it ended or is late. */
export async function whenReady(service: ServiceProcess, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while ((await statusOf(`${service.url}/health/ready`)) !== 200) {
    await mustLive(service);
    if (performance.now() > deadline)
      throw new Error(`not ready again within ${withinMs} ms:\n${service.output()}`);
    await delay(20);
  }
}

async function mustLive(service: ServiceProcess): Promise<void> {
  const ended = await Promise.race([service.exited, Promise.resolve(undefined)]);
  if (ended)
    throw new Error(
      `the service ended (${ended.code ?? ended.signal ?? 'unknown'}):\n${service.output()}`,
    );
}

function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  return items
    .map((item) => ({ item, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/**
 * Processes that compute until they are ended, or this one ends. They end by themselves after two
 * minutes.
 */
function startBusy(count: number): () => void {
  const busy = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', 'const end = Date.now() + 120_000; while (Date.now() < end);'], {
      stdio: 'ignore',
    }),
  );
  const end = (): void => busy.forEach((one) => one.kill('SIGKILL'));
  process.once('exit', end);
  return () => {
    process.off('exit', end);
    end();
  };
}
