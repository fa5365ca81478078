import { audited } from '../../bench/crash-rounds.js';
import { brokenPromises } from '../../bench/kept-promises.js';
import { LedgerClient } from '../harness/ledger-client.js';
import { SeededRandom, seedFrom } from '../harness/seeded-random.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';
import { loadWithFaults } from '../support/event-store-rounds.js';
import {
  startEventStoreDbDouble,
  type EventStoreDbDouble,
} from '../support/eventstoredb-double/double.js';

const seed = seedFrom(process.env.SOAK_SEED);
const random = new SeededRandom(seed);
let double: EventStoreDbDouble;
let environment: Readonly<Record<string, string>> & { readonly DATA_DIR: string };
let service: ServiceProcess;

beforeAll(async () => {
  double = await startEventStoreDbDouble();
  environment = {
    DATA_DIR: await makeDataDir(),
    EVENT_STORE_URL: `${double.url}&defaultDeadline=2000`,
  };
  service = await startServiceProcess({ env: environment });
  await service.ready();
}, 60_000);
afterAll(async () => {
  await service.kill();
  await removeDataDir(environment.DATA_DIR);
  await double.stop();
});

const restart = async (): Promise<void> => {
  const { port } = service;
  await service.kill();
  service = await startServiceProcess({ env: environment, port });
};

it('a store that misbehaves under load loses nothing that was acknowledged, and does nothing twice', async () => {
  const apiKey = printedKey(service.output());
  const troubled = { double, apiKey, random, service: () => service, restart };
  const violations: string[] = [];
  for (let round = 1; round <= 3; round += 1) {
    const actors = await loadWithFaults(troubled, `r${round}`);
    const client = new LedgerClient({ url: service.url, apiKey });
    violations.push(...actors.flatMap((actor) => actor.violations));
    violations.push(...(await brokenPromises(client, actors)));
    client.close();
    expect(actors.flatMap(({ keyed }) => keyed).length).toBeGreaterThan(0);
  }
  const books = await audited(environment.DATA_DIR, environment);
  expect({ seed, violations: [...violations, ...books.faults] }).toEqual({ seed, violations: [] });
  expect(books.accounts).toBeGreaterThan(0);
}, 300_000);
