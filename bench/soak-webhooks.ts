import { seedFrom, SeededRandom } from './seeded-random.js';
import { makeDataDir, removeDataDir } from './service-process.js';
import { webhookRounds } from './webhook-rounds.js';

/**
 * The service, a worker and Postgres are killed at random while 100 events a second flow to 20
 * receivers, half of which fail, hang or break off. Fails (exit 1) with what did not arrive,
 * arrived with two bodies or ids, is not in the log, or stays behind; and the seed.
 * `SOAK_ROUNDS` (50), `SOAK_SEED`.
 */
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 50);
const seed = seedFrom(process.env.SOAK_SEED);

async function main(): Promise<void> {
  console.log(`seed ${seed}`);
  const dataDir = await makeDataDir();
  try {
    const { events, deliveries, repeated, violations } = await webhookRounds({
      dataDir,
      rounds: ROUNDS,
      random: new SeededRandom(seed),
      tenants: 5,
      eventsPerSecond: 100,
      loadMs: { min: 300, max: 1_500 },
      report: (line) => console.log(line),
    });
    console.log(`${events} events, ${deliveries} deliveries, ${repeated} sent more than once`);
    if (violations.length > 0)
      throw new Error(`${violations.length} faults:\n  ${violations.slice(0, 50).join('\n  ')}`);
  } finally {
    await removeDataDir(dataDir);
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.error(`again with SOAK_SEED=${seed}`);
  process.exitCode = 1;
});
