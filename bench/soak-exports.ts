import { exportRounds } from './export-rounds.js';
import { seedFrom, SeededRandom } from './seeded-random.js';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * kill -9 of the service or of Postgres while exports are written, over and over on the same data.
 * Fails (exit 1) with the exports that ended otherwise than they may, and the seed.
 * `SOAK_ROUNDS` (30), `SOAK_SEED`, `SOAK_PEOPLE` (2 000).
 */
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 30);
const PEOPLE = Number(process.env.SOAK_PEOPLE ?? 2_000);
const seed = seedFrom(process.env.SOAK_SEED);

async function main(): Promise<void> {
  console.log(`seed ${seed}`);
  const dataDir = await makeDataDir();
  let service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    const result = await exportRounds({
      dataDir,
      service,
      apiKey: printedKey(service.output()),
      rounds: ROUNDS,
      random: new SeededRandom(seed),
      exportsEach: 6,
      people: PEOPLE,
      report: (line) => console.log(line),
    });
    ({ service } = result);
    if (result.violations.length > 0)
      throw new Error(`${result.violations.length} faults:\n  ${result.violations.join('\n  ')}`);
  } finally {
    await service.kill();
    await removeDataDir(dataDir);
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.error(`again with SOAK_SEED=${seed}`);
  process.exitCode = 1;
});
