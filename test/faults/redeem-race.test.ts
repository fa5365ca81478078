import { LedgerClient } from '../../bench/ledger-client.js';
import { raceForOneReward } from '../../bench/redeem-race.js';
import { SeededRandom } from '../../bench/seeded-random.js';
import { startServiceProcess, type ServiceProcess } from '../../bench/service-process.js';
import { createTenantDatabase, type TenantDatabase } from '../support/tenant-database.js';

/** The long form is `npm run soak:redeem`. */
describe('64 redemptions of one reward at the same time', () => {
  let database: TenantDatabase;
  let services: ServiceProcess[];
  let clients: LedgerClient[];

  beforeAll(async () => {
    database = await createTenantDatabase();
    services = await Promise.all([1, 2].map(() => startServiceProcess({ env: database.env })));
    await Promise.all(services.map((service) => service.ready()));
    clients = services.map(({ url }) => new LedgerClient({ url, apiKey: database.apiKey }));
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await Promise.all(services.map((service) => service.kill()));
    await database.drop();
  });

  it.each([
    ['one process', 1],
    ['two processes on one log', 2],
  ])('spend what is there and never more: %s', async (_name, processes) => {
    const random = new SeededRandom(processes);
    for (let round = 1; round <= 5; round++) {
      const report = await raceForOneReward({
        clients: clients.slice(0, processes),
        name: `race-${processes}-${round}`,
        random,
      });
      expect(report.violations).toEqual([]);
      expect(report.accepted + report.refused).toBe(64);
      expect(report.accepted).toBeGreaterThan(0);
      expect(report.refused).toBeGreaterThan(0);
    }
  });
});
