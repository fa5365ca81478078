import { cutRounds } from './cut-rounds.js';
import { openLedgerAudit } from './ledger-audit.js';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * Each connection of each pool is ended under load, and each follower's leading process killed,
 * over and over: everything comes back by itself. Fails (exit 1) with what did not, or was lost.
 * `SOAK_ROUNDS` (50), `SOAK_BACK_MS` (15 000: how soon everything must work after each cut).
 */
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 50);
const BACK_MS = Number(process.env.SOAK_BACK_MS ?? 15_000);

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    const result = await cutRounds({
      dataDir,
      service,
      apiKey: printedKey(service.output()),
      rounds: ROUNDS,
      killsLeaders: true,
      backWithinMs: BACK_MS,
      report: (line) => console.log(line),
    });
    const faults = [...result.violations];
    const code = await service.terminate();
    if (code !== 0) faults.push(`the stop ended with ${code}`);
    const books = await openLedgerAudit(dataDir);
    faults.push(...(await books.logFaults()), ...(await books.differences()).faults);
    await books.close();
    const sorted = [...result.backMs].sort((a, b) => a - b);
    for (const [name, count] of result.cuts) console.log(`${name}: ended ${count} times`);
    console.log(
      `${sorted.length} connections ended, ${result.leadersKilled} leading processes killed, ` +
        `${result.requests} requests, ${result.repeated} repeated; everything worked again after a median of ` +
        `${sorted[Math.floor(sorted.length / 2)]?.toFixed(0)} ms, at worst ${sorted.at(-1)?.toFixed(0)} ms`,
    );
    if (faults.length > 0)
      throw new Error(`${faults.length} faults:\n  ${faults.slice(0, 50).join('\n  ')}`);
  } finally {
    await service.kill();
    await removeDataDir(dataDir);
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
