import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { openCore, type Core } from '../../src/stores/core.js';
import { openPool } from '../../src/postgres/database.js';
import { LedgerClient } from '../../test/harness/ledger-client.js';
import { SeededRandom } from '../../test/harness/seeded-random.js';
import {
  projectRoot,
  residentMb,
  startServiceProcess,
  type ServiceProcess,
} from '../../test/harness/service-process.js';
import { fillLedger, type FilledLedger } from './fill-ledger.js';
import { LARGE } from './filled-accounts.js';
import { READS, WRITES, type Filled, type ScaleCall } from './scale-calls.js';
import { tableOf, timesOf, type Line, type Times } from './scale-table.js';

/** The sizes of the benchmark: each a ledger on a data folder of its own, with its own service. */

/** A ledger that is filled and followed; nothing runs on it. */
export interface PreparedLedger {
  readonly dataDir: string;
  readonly filled: FilledLedger;
  /** Of the whole ledger, by what it is; seconds unless the name says otherwise. */
  readonly whole: Map<string, number>;
}

/** Of calls in milliseconds, by their names. */
export type Measured = ReadonlyMap<string, Times>;

type Say = (line: string) => void;

const CATCH_UP_MS = 6 * 3_600_000;
const LOOK_EVERY_MS = 200;
const WARM_UP = 5;
const SAID_EVERY = 50_000;

const seconds = async <T>(work: () => Promise<T>): Promise<readonly [number, T]> => {
  const began = performance.now();
  const result = await work();
  return [(performance.now() - began) / 1_000, result];
};

export async function prepareLedger(
  dataDir: string,
  accounts: number,
  say: Say,
): Promise<PreparedLedger> {
  const whole = new Map<string, number>();
  const [fillTime, filled] = await seconds(() => fill(dataDir, accounts, say));
  whole.set('fill the log', fillTime);
  say(`${filled.events} events of ${filled.users} users in ${fillTime.toFixed(0)} s`);
  const prepared = { dataDir, filled, whole };
  await following(prepared, say);
  return prepared;
}

/** The calls of all ledgers in turns, so that a slow spell of the machine hits all of them. */
export async function measureTogether(
  ledgers: readonly PreparedLedger[],
  times: number,
  say: Say,
): Promise<readonly Measured[]> {
  const services: ServiceProcess[] = [];
  try {
    for (const { dataDir, whole } of ledgers) {
      const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
      services.push(service);
      whole.set('start', (await service.ready(CATCH_UP_MS)) / 1_000);
      whole.set('resident after a start, MB', await residentMb(await service.pid()));
    }
    const measured = await measureCalls(ledgers, services, times, say);
    for (const [at, { dataDir, whole }] of ledgers.entries()) {
      const service = services[at];
      if (service) whole.set('resident after the calls, MB', await residentMb(await service.pid()));
      for (const [name, words] of COMMANDS) {
        const [took] = await seconds(() => command(dataDir, words));
        whole.set(name, took);
        say(`${name}: ${took.toFixed(1)} s`);
      }
    }
    return measured;
  } finally {
    await Promise.all(services.map((service) => service.terminate()));
  }
}

const COMMANDS: readonly (readonly [name: string, words: readonly string[]])[] = [
  ['verify the large tenant', ['ledger', 'verify', LARGE]],
  ['rebuild all read models', ['projection', 'rebuild', '--all']],
];

async function fill(dataDir: string, accounts: number, say: Say): Promise<FilledLedger> {
  const core = await coreOn(dataDir);
  try {
    return await fillLedger(core, accounts, (done) => {
      if (done % SAID_EVERY === 0) say(`  ${done} accounts`);
    });
  } finally {
    await core.close();
  }
}

const coreOn = (dataDir: string): Promise<Core> =>
  openCore({
    config: loadConfig({ DATA_DIR: dataDir }),
    logger: pino({ level: 'warn' }),
    actor: { kind: 'system', id: 'bench' },
    applicationName: 'bench-scale',
    fsync: false,
  });

/** Until read models, policies, webhooks and chain are at the end of the log; then its size. */
async function following(
  { dataDir, filled: { events }, whole }: PreparedLedger,
  say: Say,
): Promise<void> {
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    const core = await coreOn(dataDir);
    // Without the time-out of requests.
    const pool = openPool({ url: core.databaseUrl(), max: 1, applicationName: 'bench-scale' });
    try {
      const [caughtUp] = await seconds(async () => {
        await service.ready(CATCH_UP_MS);
        const head = await core.log.head();
        for (;;) {
          const { rows } = await pool.query<{ position: string | null }>(FOLLOWERS);
          if (rows.every(({ position }) => core.log.compare(position ?? undefined, head) >= 0))
            return;
          await delay(LOOK_EVERY_MS);
        }
      });
      whole.set('followers catch up', caughtUp);
      say(`followed in ${caughtUp.toFixed(0)} s`);
      await pool.query('vacuum analyze');
      const { rows } = await pool.query<{ log: string; all: string }>(
        `select pg_total_relation_size('ledger.events')::text as log, pg_database_size(current_database())::text as all`,
      );
      whole.set('log on disk, bytes an event', Number(rows[0]?.log) / events);
      whole.set('all on disk, bytes an event', Number(rows[0]?.all) / events);
    } finally {
      await pool.end();
      await core.close();
    }
  } finally {
    await service.terminate();
  }
}

const FOLLOWERS = `
  select position from ledger.projection_checkpoints union all
  select position from ledger.handler_checkpoints union all
  select position from ledger.chain_checkpoints`;

async function measureCalls(
  ledgers: readonly PreparedLedger[],
  services: readonly ServiceProcess[],
  times: number,
  say: Say,
): Promise<readonly Measured[]> {
  const clients = ledgers.map(({ filled: { apiKeys } }, at) => {
    const { url = '' } = services[at] ?? {};
    return new LedgerClient({ url, apiKey: apiKeys.get(LARGE) ?? '', tenant: LARGE });
  });
  try {
    const on: Filled[] = [];
    for (const [at, { filled, whole }] of ledgers.entries()) {
      const client = clients[at];
      if (!client) continue;
      const [exportTime, exportId] = await seconds(() => exportRewards(client));
      whole.set('export of all rewards', exportTime);
      on.push(callsOn(client, filled, exportId));
    }
    const measured = on.map(() => new Map<string, Times>());
    for (const calls of [READS, WRITES]) {
      await timesOfCalls(calls, on, WARM_UP);
      for (const [at, of] of (await timesOfCalls(calls, on, times)).entries())
        for (const [name, ms] of of) measured[at]?.set(name, timesOf(ms));
      const sizes = on.map(({ accounts: { size } }) => `${size}`);
      say(tableOf(sizes, linesOf(calls, measured)));
    }
    return measured;
  } finally {
    for (const client of clients) client.close();
  }
}

/** @param ledgers what was measured of each size. */
export const linesOf = (
  calls: readonly ScaleCall[],
  ledgers: readonly Measured[],
): readonly Line[] =>
  calls.map(({ name, isListOfAll: grows = false }) => ({
    name,
    figures: ledgers.map((of) => of.get(name) ?? { p50: NaN, p99: NaN }),
    grows,
  }));

export function callsOn(
  client: LedgerClient,
  { accounts }: FilledLedger,
  exportId: string,
): Filled {
  let made = 0;
  return {
    client,
    accounts,
    random: new SeededRandom(1),
    exportId,
    next: () => (made += 1),
    written: new Set(),
  };
}

/**
 * In turns. @returns for each ledger, by the name of the call. @throws for an answer with another
 * status.
 */
export async function timesOfCalls(
  calls: readonly ScaleCall[],
  ledgers: readonly Filled[],
  times: number,
): Promise<readonly ReadonlyMap<string, readonly number[]>[]> {
  const measured = ledgers.map(() => new Map<string, number[]>());
  for (let turn = 0; turn < times; turn++)
    for (const { name, call, status: expected = 200 } of calls)
      for (const [at, on] of ledgers.entries()) {
        const { status, body, ms } = await call(on);
        if (status !== expected) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
        measured[at]?.set(name, [...(measured[at].get(name) ?? []), ms]);
      }
  return measured;
}

/** @returns its id, when the file is there. */
export async function exportRewards(client: LedgerClient): Promise<string> {
  const asked = await client.post('export', { type: 'REWARD' });
  const { id } = asked.body as { readonly id: string };
  if (asked.status !== 201) throw new Error(`an export was refused with ${asked.status}`);
  for (;;) {
    const { status } = (await client.get(`export/${id}`)).body as { readonly status: string };
    if (status === 'COMPLETED') return id;
    if (status !== 'PENDING') throw new Error(`an export is ${status}`);
    await delay(LOOK_EVERY_MS / 4);
  }
}

async function command(dataDir: string, words: readonly string[]): Promise<void> {
  const program = join(projectRoot(), 'dist/src/cli/cli.js');
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir };
  const options = { env, maxBuffer: 64 * 1024 * 1024 };
  await promisify(execFile)(process.execPath, [program, ...words, '--json'], options);
}
