import { setTimeout as delay } from 'node:timers/promises';
import { MixedLoad } from '../../bench/mixed-load.js';
import { whenReady } from '../../bench/postgres-rounds.js';
import { LedgerClient } from '../harness/ledger-client.js';
import type { SeededRandom } from '../harness/seeded-random.js';
import type { ServiceProcess } from '../harness/service-process.js';
import type { EventStoreDbDouble } from './eventstoredb-double/double.js';

const CLIENTS = 8;

export interface TroubledService {
  readonly double: EventStoreDbDouble;
  readonly apiKey: string;
  readonly random: SeededRandom;
  readonly service: () => ServiceProcess;
  /** Kills the service, and starts it again. */
  readonly restart: () => Promise<void>;
}

/** Faults of the store and of the service, each for some calls or some time. */
const FAULTS: readonly ((of: TroubledService, calls: number, ms: number) => unknown)[] = [
  ...(['unavailable', 'cut', 'silence'] as const).map(
    (how) =>
      ({ double }: TroubledService, calls: number) =>
        double.faults.next('answer-lost', calls, { how, methods: ['append'] }),
  ),
  ({ double }, calls, ms) => double.faults.next('answer-late', calls, { ms }),
  ({ double }, calls) => double.faults.next('stream-ended', calls, { methods: ['subscribe'] }),
  ({ double }, calls) => double.faults.next('connection-cut', calls),
  ({ double }, calls) => double.faults.next('not-leader', calls),
  ({ double }, calls) => double.faults.next('slow-consumer', calls),
  ({ double }, calls) => double.faults.next('hung', calls, { methods: ['append'] }),
  ({ double }, _, ms) => double.faults.during('not-ready', () => delay(ms)),
  ({ double }, _, ms) => double.faults.during('hung', () => delay(ms)),
  ({ double }) => double.cutConnections(),
  async ({ double }, _, ms) => {
    await double.kill();
    await delay(ms);
    await double.restart();
  },
  ({ restart }) => restart(),
];

/**
 * Load on a service whose store has faults, and again once they are lifted.
 * @returns its clients.
 */
export async function loadWithFaults(
  troubled: TroubledService,
  name: string,
): Promise<readonly MixedLoad[]> {
  const { double, apiKey, random, service } = troubled;
  const actors: MixedLoad[] = [];
  for (const hasFaults of [true, false]) {
    const client = new LedgerClient({ url: service().url, apiKey });
    const crowd = Array.from(
      { length: CLIENTS },
      (_, n) => new MixedLoad(client, `${name}${hasFaults}${n}-${random.seed}`, random.fork()),
    );
    actors.push(...crowd);
    const running = Promise.all(crowd.map((actor) => actor.run()));
    for (let faults = random.integer(1, 3); hasFaults && faults > 0; faults -= 1) {
      await delay(random.integer(20, 250));
      await random.pick(FAULTS)(troubled, random.integer(1, 12), random.integer(20, 700));
    }
    double.faults.clear();
    await whenReady(service(), 90_000);
    await delay(200);
    for (const actor of crowd) actor.stop();
    await running;
    client.close();
  }
  return actors;
}
