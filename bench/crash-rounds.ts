import { setTimeout as delay } from 'node:timers/promises';
import { brokenPromises } from './kept-promises.js';
import { openLedgerAudit, reachesHead } from './ledger-audit.js';
import { LedgerClient } from '../test/harness/ledger-client.js';
import { MixedLoad } from './mixed-load.js';
import type { SeededRandom } from '../test/harness/seeded-random.js';
import {
  postmasterPid,
  startServiceProcess,
  type ServiceProcess,
} from '../test/harness/service-process.js';

/**
 * Kills the service in the middle of its work and starts it again on the same data; then checks all
 * of its earlier answers.
 */

export interface CrashRoundsOptions {
  readonly dataDir: string;
  /** Running; the rounds kill it. */
  readonly service: ServiceProcess;
  readonly apiKey: string;
  readonly rounds: number;
  readonly random: SeededRandom;
  readonly by: 'node' | 'npm';
  readonly clients?: number;
  /** The crash comes at a random moment within this time of load. Default 300 to 1 500 ms. */
  readonly loadMs?: { readonly min: number; readonly max: number };
  readonly report?: (line: string) => void;
}

export interface CrashReport {
  /** Milliseconds from the start of the process to ready, per round. */
  readonly readyMs: readonly number[];
  readonly requests: number;
  readonly repeated: number;
  readonly accounts: number;
  readonly violations: readonly string[];
  /** The service that runs now. */
  readonly service: ServiceProcess;
}

const VICTIMS = ['service', 'service', 'service, then postgres', 'postgres, then service'] as const;

/** @throws when the service does not start again; other faults are in the report. */
export async function crashRounds(options: CrashRoundsOptions): Promise<CrashReport> {
  const {
    dataDir,
    apiKey,
    rounds,
    random,
    by,
    clients = 8,
    loadMs = { min: 300, max: 1_500 },
    report = () => undefined,
  } = options;
  let { service } = options;
  const readyMs: number[] = [];
  const violations: string[] = [];
  let requests = 0;
  let repeated = 0;
  let accounts = 0;
  for (let round = 1; round <= rounds; round++) {
    const load = new LedgerClient({ url: service.url, apiKey });
    const actors = Array.from(
      { length: clients },
      (_, index) => new MixedLoad(load, `r${round}a${index}-${random.seed}`, random.fork()),
    );
    const running = Promise.all(actors.map((actor) => actor.run()));
    await delay(random.integer(loadMs.min, loadMs.max));
    const victim = random.pick(VICTIMS);
    await crash(victim, service, dataDir);
    await running;
    load.close();

    service = await startServiceProcess({ env: { DATA_DIR: dataDir }, port: service.port, by });
    const ms = await service.ready();
    readyMs.push(ms);
    const client = new LedgerClient({ url: service.url, apiKey });
    const keyed = actors.flatMap((actor) => actor.keyed);
    const found = [
      ...actors.flatMap((actor) => actor.violations),
      ...(await brokenPromises(client, actors)),
    ];
    client.close();
    const books = await audited(dataDir);
    found.push(...books.faults);

    const sent = actors.reduce((sum, actor) => sum + actor.requests, 0);
    requests += sent;
    repeated += keyed.length;
    accounts = books.accounts;
    violations.push(...found.map((fault) => `round ${round} (killed: ${victim}): ${fault}`));
    report(
      `round ${round}: killed ${victim} after ${sent} requests, ready in ${ms.toFixed(0)} ms, ${keyed.length} repeated, ${accounts} accounts` +
        (found.length > 0 ? `, ${found.length} FAULTS` : ''),
    );
  }
  return { readyMs, requests, repeated, accounts, violations, service };
}

async function crash(
  victim: (typeof VICTIMS)[number],
  service: ServiceProcess,
  dataDir: string,
): Promise<void> {
  const killPostgres = async (): Promise<void> => {
    const pid = await postmasterPid(dataDir);
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  };
  if (victim === 'postgres, then service') await killPostgres();
  await service.kill();
  if (victim === 'service, then postgres') await killPostgres();
}

/**
 * The faults in the books, and the number of accounts.
 * @param environment of the service, as far as it names the log.
 */
export async function audited(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly accounts: number; readonly faults: readonly string[] }> {
  const books = await openLedgerAudit(dataDir, environment);
  try {
    if (!(await reachesHead(books)))
      return { accounts: 0, faults: ['the read models do not reach the head of the log'] };
    const { accounts, faults } = await books.differences();
    return { accounts, faults: [...(await books.logFaults()), ...faults] };
  } finally {
    await books.close();
  }
}
