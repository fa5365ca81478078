import { SeededRandom, seedFrom } from '../harness/seeded-random.js';
import { makeDataDir, removeDataDir } from '../harness/service-process.js';
import { webhookRounds } from '../harness/webhook-rounds.js';

/** The long form is `npm run soak:webhooks`. */
it('webhooks arrive whatever is killed, with the same ids and bodies, and nothing else does', async () => {
  const seed = seedFrom(process.env.SOAK_SEED);
  const dataDir = await makeDataDir();
  try {
    const { violations, deliveries } = await webhookRounds({
      dataDir,
      rounds: 2,
      random: new SeededRandom(seed),
      tenants: 2,
      eventsPerSecond: 50,
      loadMs: { min: 200, max: 400 },
    });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    expect(deliveries).toBeGreaterThan(0);
  } finally {
    await removeDataDir(dataDir);
  }
}, 900_000);
