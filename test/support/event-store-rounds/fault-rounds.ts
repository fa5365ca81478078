import { setTimeout as delay } from 'node:timers/promises';
import type { EventStoreDbDouble } from '../eventstoredb-double/double.js';
import { brokenPromises } from '../../../bench/kept-promises.js';
import { openLedgerAudit, reachesHead } from '../../../bench/ledger-audit.js';
import { LedgerClient } from '../../harness/ledger-client.js';
import { MixedLoad } from '../../../bench/mixed-load.js';
import type { SeededRandom } from '../../harness/seeded-random.js';
import {
  startServiceProcess,
  statusOf,
  type ServiceProcess,
} from '../../harness/service-process.js';
import { LogScan } from './log-scan.js';
import { inflict, planFaults, type FaultKind } from './store-faults.js';

/**
 * A service on a store with faults, under mixed load over HTTP: each round causes faults, lifts
 * them, and checks all answers of the service. The faults are drawn from `random` alone; how far
 * the load has come by then depends on the machine.
 */

export interface FaultRoundsOptions {
  readonly double: EventStoreDbDouble;
  /** The options that the service was started with; some rounds kill and restart it. */
  readonly environment: Readonly<Record<string, string>> & { readonly DATA_DIR: string };
  readonly service: ServiceProcess;
  readonly apiKey: string;
  /** The last round. */
  readonly rounds: number;
  /** Rounds before this one are drawn and left out. Default 1. */
  readonly from?: number;
  readonly random: SeededRandom;
  /** Clients at a time. Default 8. */
  readonly clients?: number;
  /**
   * The books are looked at from inside after so many rounds, and after the last one. Default 10.
   */
  readonly auditEvery?: number;
  readonly report?: (line: string) => void;
}

export interface FaultReport {
  readonly requests: number;
  /** Writes with a key that were sent again. */
  readonly repeated: number;
  /** Those of them that had got no answer before. */
  readonly unanswered: number;
  readonly accounts: number;
  readonly events: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly violations: readonly string[];
  /** The service that runs now. */
  readonly service: ServiceProcess;
}

/** A service that was killed starts again within this time, too, also on a busy machine. */
const BACK_WITHIN_MS = 90_000;

/** @throws when the service does not start again; other faults are in the report. */
export async function faultRounds(options: FaultRoundsOptions): Promise<FaultReport> {
  const {
    double,
    environment,
    apiKey,
    rounds,
    from = 1,
    random,
    clients = 8,
    auditEvery = 10,
    report = () => undefined,
  } = options;
  let { service } = options;
  const scan = new LogScan();
  const inflicted = new Map<FaultKind, number>();
  const violations: string[] = [];
  let requests = 0;
  let repeated = 0;
  let unanswered = 0;
  let accounts = 0;
  const restart = async (): Promise<void> => {
    await service.kill();
    service = await startServiceProcess({ env: environment, port: service.port });
  };

  for (let round = 1; round <= rounds; round++) {
    const [ofFaults, ofClients] = [random.fork(), random.fork()];
    if (round < from) continue;
    const plan = planFaults(ofFaults);
    const names = plan.map(({ name }) => name).join(', ');
    const crowd = new Crowd(service.url, apiKey, `r${round}`, clients, ofClients);
    for (const fault of plan) {
      await inflict(fault, double, restart);
      inflicted.set(fault.name, (inflicted.get(fault.name) ?? 0) + 1);
    }
    double.faults.clear();
    if (!(await crowd.isServed())) {
      void crowd.leave();
      throw new Error(
        `round ${round} (${names}): no request is served ${BACK_WITHIN_MS} ms after all faults were lifted\n${service.output()}`,
      );
    }
    const actors = await crowd.leave();

    const client = new LedgerClient({ url: service.url, apiKey });
    const keyed = actors.flatMap((actor) => actor.keyed);
    const open = keyed.filter(({ answer }) => answer === undefined).length;
    const found = [
      ...actors.flatMap((actor) => actor.violations),
      ...(await brokenPromises(client, actors)),
    ];
    client.close();
    if (round % auditEvery === 0 || round === rounds) {
      const books = await audited(environment, scan);
      found.push(...books.faults);
      accounts += books.accounts;
    }
    const sent = actors.reduce((sum, actor) => sum + actor.requests, 0);
    requests += sent;
    repeated += keyed.length;
    unanswered += open;
    violations.push(...found.map((fault) => `round ${round} (${names}): ${fault}`));
    report(
      `round ${round}: ${names}; ${sent} requests, ${keyed.length} repeated, ${open} of them unanswered` +
        (found.length > 0 ? `, ${found.length} FAULTS\n  ${found.join('\n  ')}` : ''),
    );
  }
  return {
    requests,
    repeated,
    unanswered,
    accounts,
    events: scan.events,
    faults: inflicted,
    violations,
    service,
  };
}

/**
 * So many clients in parallel. One without an answer ends, and a new one starts as soon as the
 * service is ready.
 */
class Crowd {
  private readonly actors: MixedLoad[] = [];
  private readonly client: LedgerClient;
  private readonly places: Promise<void>[];
  private isOver = false;

  constructor(
    private readonly url: string,
    apiKey: string,
    private readonly name: string,
    clients: number,
    random: SeededRandom,
  ) {
    this.client = new LedgerClient({ url, apiKey });
    this.places = Array.from({ length: clients }, (_, place) => this.fill(place, random.fork()));
  }

  /**
   * Waits for enough acknowledged writes to show that the service works again. @returns false when
   * that takes too long.
   */
  async isServed(): Promise<boolean> {
    const deadline = performance.now() + BACK_WITHIN_MS;
    const served = (): number =>
      this.actors.reduce((sum, actor) => sum + actor.positions.length, 0);
    const before = served();
    while (served() < before + 3 * this.places.length) {
      if (performance.now() > deadline) return false;
      await delay(5);
    }
    return true;
  }

  /** @returns all clients of all rounds. */
  async leave(): Promise<readonly MixedLoad[]> {
    this.isOver = true;
    for (const actor of this.actors) actor.stop();
    await Promise.all(this.places);
    this.client.close();
    return this.actors;
  }

  private async fill(place: number, random: SeededRandom): Promise<void> {
    for (let turn = 0; !this.isOver; turn++) {
      const actor = new MixedLoad(
        this.client,
        `${this.name}p${place}t${turn}-${random.seed}`,
        random.fork(),
      );
      this.actors.push(actor);
      await actor.run();
      while (!this.isOver && (await statusOf(`${this.url}/health/ready`)) !== 200) await delay(20);
    }
  }
}

async function audited(
  environment: FaultRoundsOptions['environment'],
  scan: LogScan,
): Promise<{ readonly accounts: number; readonly faults: readonly string[] }> {
  const books = await openLedgerAudit(environment.DATA_DIR, environment);
  try {
    if (!(await reachesHead(books)))
      return { accounts: 0, faults: ['the read models do not reach the head of the log'] };
    const { streams, faults: logFaults } = await scan.advance(books.log);
    const { accounts, faults } = await books.differences(streams);
    return { accounts, faults: [...logFaults, ...(await books.logFaults()), ...faults] };
  } finally {
    await books.close();
  }
}
