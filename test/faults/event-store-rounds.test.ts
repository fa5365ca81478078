import { faultRounds } from '../support/event-store-rounds/fault-rounds.js';
import { SeededRandom, seedFrom } from '../harness/seeded-random.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';
import {
  startEventStoreDbDouble,
  type EventStoreDbDouble,
} from '../support/eventstoredb-double/double.js';

describe('a store that misbehaves, under mixed load', () => {
  const seed = seedFrom(process.env.SOAK_SEED);
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

  it('loses nothing that was acknowledged, and does nothing twice', async () => {
    const report = await faultRounds({
      double,
      environment,
      service,
      apiKey: printedKey(service.output()),
      rounds: 3,
      random: new SeededRandom(seed),
    });
    ({ service } = report);
    expect({ seed, violations: report.violations }).toEqual({ seed, violations: [] });
    expect(report.repeated).toBeGreaterThan(0);
    expect(report.accounts).toBeGreaterThan(0);
    expect(report.events).toBeGreaterThan(report.accounts);
  }, 180_000);
});
