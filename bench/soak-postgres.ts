import { postgresRounds } from './postgres-rounds.js';
import { seedFrom, SeededRandom } from '../test/harness/seeded-random.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
} from '../test/harness/service-process.js';

/**
 * Postgres is killed, restarted and frozen under one service that is never started again, over and
 * over; in every second round two busy processes run, too. Fails (exit 1) with what was lost,
 * doubled or contradicted, and the seed. `SOAK_ROUNDS` (300), `SOAK_SEED`, `SOAK_BACK_MS` (5 000:
 * how soon after the return of the database a write must be accepted).
 */
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 300);
const BACK_MS = Number(process.env.SOAK_BACK_MS ?? 5_000);
const seed = seedFrom(process.env.SOAK_SEED);

async function main(): Promise<void> {
  console.log(`seed ${seed}`);
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    const result = await postgresRounds({
      dataDir,
      service,
      apiKey: printedKey(service.output()),
      rounds: ROUNDS,
      random: new SeededRandom(seed),
      isBusy: (round) => round % 2 === 0,
      report: (line) => console.log(line),
    });
    const sorted = [...result.backMs].sort((a, b) => a - b);
    const [median = NaN, worst = NaN] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    console.log(
      `${ROUNDS} rounds, ${result.requests} requests, ${result.repeated} repeated, ${result.accounts} accounts; ` +
        `a write accepted after a median of ${median.toFixed(0)} ms, at worst ${worst.toFixed(0)} ms`,
    );
    const code = await service.terminate();
    const faults = [
      ...result.violations,
      ...(worst <= BACK_MS
        ? []
        : [`a write was accepted only after ${worst.toFixed(0)} ms, more than ${BACK_MS}`]),
      ...(code === 0 ? [] : [`the stop ended with ${code}`]),
    ];
    if (faults.length > 0)
      throw new Error(`${faults.length} faults:\n  ${faults.slice(0, 50).join('\n  ')}`);
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
