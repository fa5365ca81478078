import { crashRounds } from '../../bench/crash-rounds.js';
import { postgresRounds } from '../../bench/postgres-rounds.js';
import { SeededRandom, seedFrom } from '../harness/seeded-random.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';

/** The long forms are `npm run soak:kill` and `npm run soak:postgres`. */
const seed = seedFrom(process.env.SOAK_SEED);
let dataDir: string;
let service: ServiceProcess;
let apiKey: string;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  await service.ready();
  apiKey = printedKey(service.output());
});
afterAll(async () => {
  await service.kill();
  await removeDataDir(dataDir);
});

it('a service outlives its Postgres, and keeps everything that it acknowledged', async () => {
  const result = await postgresRounds({
    dataDir,
    service,
    apiKey,
    rounds: 2,
    random: new SeededRandom(seed),
    clients: 4,
    loadMs: { min: 200, max: 500 },
  });
  expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
  expect(result.repeated).toBeGreaterThan(0);
}, 180_000);

it('a service under load that is killed loses nothing that was acknowledged, and does nothing twice', async () => {
  const result = await crashRounds({
    dataDir,
    service,
    apiKey,
    rounds: 2,
    random: new SeededRandom(seed),
    by: 'node',
    loadMs: { min: 200, max: 700 },
  });
  ({ service } = result);
  expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
  expect(result.repeated).toBeGreaterThan(0);
  expect(result.accounts).toBeGreaterThan(0);
}, 180_000);
