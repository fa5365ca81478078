import { crashRounds } from '../../bench/crash-rounds.js';
import { SeededRandom, seedFrom } from '../../bench/seeded-random.js';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess, type ServiceProcess } from '../../bench/service-process.js';

/** The long form is `npm run soak:kill`. */
describe('kill -9 under load', () => {
  const seed = seedFrom(process.env.SOAK_SEED);
  let dataDir: string;
  let service: ServiceProcess;

  beforeAll(async () => {
    dataDir = await makeDataDir();
    service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
    await service.ready();
  });
  afterAll(async () => {
    await service.kill();
    await removeDataDir(dataDir);
  });

  it('loses nothing that was acknowledged, and does nothing twice', async () => {
    const result = await crashRounds({
      ...{ dataDir, service, apiKey: printedKey(service.output()), rounds: 3, random: new SeededRandom(seed), by: 'node' },
      loadMs: { min: 200, max: 700 },
    });
    ({ service } = result);
    expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
    expect(result.repeated).toBeGreaterThan(0);
    expect(result.accounts).toBeGreaterThan(0);
  }, 60_000);
});
