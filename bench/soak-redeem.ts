import { LedgerClient } from './ledger-client.js';
import { raceForOneReward } from './redeem-race.js';
import { seedFrom, SeededRandom } from './seeded-random.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from './service-process.js';

/**
 * 64 parallel redemptions of one reward, again and again; in every second round half of them go to
 * a second process on the same data. Fails (exit 1) with what was wrong and the seed. `SOAK_ROUNDS`
 * (200), `SOAK_SEED`.
 */
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 200);
const seed = seedFrom(process.env.SOAK_SEED);

async function run(first: ServiceProcess, second: ServiceProcess): Promise<void> {
  const apiKey = printedKey(first.output());
  const clients = [first, second].map(({ url }) => new LedgerClient({ url, apiKey }));
  const random = new SeededRandom(seed);
  const totals = { accepted: 0, refused: 0, longestMs: 0 };
  for (let round = 1; round <= ROUNDS; round++) {
    const taking = round % 2 === 0 ? clients : clients.slice(0, 1);
    const report = await raceForOneReward({
      clients: taking,
      name: `race-${seed}-${round}`,
      random,
    });
    if (report.violations.length > 0) {
      throw new Error(
        `round ${round} over ${taking.length} process(es):\n  ${report.violations.join('\n  ')}`,
      );
    }
    totals.accepted += report.accepted;
    totals.refused += report.refused;
    totals.longestMs = Math.max(totals.longestMs, report.ms);
  }
  for (const client of clients) client.close();
  console.log(
    `${ROUNDS} rounds: ${totals.accepted} redemptions, ${totals.refused} refused, never more than there was; longest round ${totals.longestMs.toFixed(0)} ms`,
  );
}

async function main(): Promise<void> {
  console.log(`seed ${seed}`);
  const dataDir = await makeDataDir();
  const started: ServiceProcess[] = [];
  try {
    for (let n = 0; n < 2; n++) {
      const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
      started.push(service);
      await service.ready();
    }
    const [first, second] = started;
    if (first && second) await run(first, second);
    for (const service of started) {
      const code = await service.terminate();
      if (code !== 0) throw new Error(`the service ended with ${code}:\n${service.output()}`);
    }
  } finally {
    await Promise.all(started.map((service) => service.kill()));
    await removeDataDir(dataDir);
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.error(`again with SOAK_SEED=${seed}`);
  process.exitCode = 1;
});
