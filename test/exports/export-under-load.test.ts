import { exportUnderLoad } from '../../bench/export-load.js';
import { grantRewards, rewardLinesAt } from '../../bench/rewards-in-log.js';
import { createStores, RunningService, type TestStores } from '../support/running-service.js';

const ROWS = 3_000;
let stores: TestStores;
let service: RunningService;

beforeAll(async () => {
  stores = await createStores();
  service = await RunningService.start(stores, { DATABASE_CONNECTIONS_MAX: '40' });
});
afterAll(async () => {
  await service.stop();
  await stores.remove();
});

test('a file is the state at its position, as folded from the log, while others write', async () => {
  const { alias, liveKey } = await service.createTenant();
  const scope = { tenant: alias, mode: 'live' } as const;
  const { core } = service.service;
  const granted = await grantRewards(core, scope, ROWS);
  const { before, beside, rows, difference } = await exportUnderLoad({
    url: service.origin,
    apiKey: liveKey,
    core,
    scope,
    writesPerSecond: 50,
    writers: 5,
    readers: 2,
    phaseMs: 500,
  });
  expect(difference).toBeUndefined();
  expect([...before.faults, ...beside.faults]).toEqual([]);
  expect(before.writes).toBeGreaterThan(0);
  expect(rows).toBeGreaterThan(granted);
  // What was written later is not in it.
  const now = await rewardLinesAt(core, scope, (await core.log.head()) ?? '');
  expect(now.length - 1).toBeGreaterThan(rows);
}, 300_000);
