import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { crashRounds } from './crash-rounds.js';
import { seedFrom, SeededRandom } from '../test/harness/seeded-random.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
} from '../test/harness/service-process.js';

/**
 * kill -9 under load and `npm start` again, over and over on the same data; in some rounds Postgres
 * dies as well. Fails (exit 1) with what was lost, doubled or contradicted, and the seed.
 * `SOAK_ROUNDS` (20), `SOAK_SEED`, `SOAK_READY_MS` (3 000: the median allowed).
 */
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 20);
const READY_MS = Number(process.env.SOAK_READY_MS ?? 3_000);
const seed = seedFrom(process.env.SOAK_SEED);

const BARE_STARTS = 9;

/** A start of Node that does nothing: what the machine takes for one at the moment, in ms. */
async function bareStart(): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < BARE_STARTS; n++) {
    const began = performance.now();
    await once(spawn(process.execPath, ['--eval', '0']), 'exit');
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[Math.floor(BARE_STARTS / 2)] ?? NaN;
}

async function main(): Promise<void> {
  console.log(`seed ${seed}`);
  const dataDir = await makeDataDir();
  let service = await startServiceProcess({ env: { DATA_DIR: dataDir }, by: 'npm' });
  try {
    await service.ready();
    const apiKey = printedKey(service.output());
    const result = await crashRounds({
      dataDir,
      service,
      apiKey,
      rounds: ROUNDS,
      random: new SeededRandom(seed),
      by: 'npm',
      report: (line) => console.log(line),
    });
    ({ service } = result);
    const sorted = [...result.readyMs].sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? NaN;
    console.log(
      `${ROUNDS} crashes, ${result.requests} requests, ${result.repeated} repeated, ${result.accounts} accounts; ` +
        `ready after a median of ${median.toFixed(0)} ms (${sorted[0]?.toFixed(0)} to ${sorted.at(-1)?.toFixed(0)}); ` +
        `a start of Node alone takes ${(await bareStart()).toFixed(0)} ms here`,
    );
    const code = await service.terminate();
    const faults = [
      ...result.violations,
      ...(median < READY_MS ? [] : [`ready after ${median.toFixed(0)} ms, more than ${READY_MS}`]),
      ...(code === 0 ? [] : [`the last stop ended with ${code}`]),
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
