import { startEventStoreDbDouble } from '../../test/support/eventstoredb-double/double.js';
import { seedFrom, SeededRandom } from '../seeded-random.js';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess } from '../service-process.js';
import { faultRounds, type FaultReport } from './fault-rounds.js';

/**
 * The service on a store that misbehaves at random, under mixed load over HTTP. Fails (exit 1) with
 * what was lost, doubled or contradicted, and the seed. `--rounds` (500); `--seed`: the same choice
 * of faults again, `--from`: from this round on. `SOAK_ROUNDS` and `SOAK_SEED` say the same.
 */
const ROUNDS = Number(option('rounds') ?? process.env.SOAK_ROUNDS ?? 500);
const FROM = Number(option('from') ?? 1);
const seed = seedFrom(option('seed') ?? process.env.SOAK_SEED);
/** Of an append: short, so that a store that hangs for a moment is seen from outside, too. */
const DEADLINE_MS = 2_000;

async function main(): Promise<void> {
  console.log(`seed ${seed}`);
  const startedAt = performance.now();
  const double = await startEventStoreDbDouble();
  const environment = {
    DATA_DIR: await makeDataDir(),
    EVENT_STORE_URL: `${double.url}&defaultDeadline=${DEADLINE_MS}`,
  };
  let service = await startServiceProcess({ env: environment });
  try {
    await service.ready();
    const report = await faultRounds({
      double,
      environment,
      service,
      apiKey: printedKey(service.output()),
      rounds: ROUNDS,
      from: FROM,
      random: new SeededRandom(seed),
      report: (line) => console.log(line),
    });
    ({ service } = report);
    const code = await service.terminate();
    console.log(summary(report, (performance.now() - startedAt) / 1000));
    const violations = [
      ...report.violations,
      ...(code === 0 ? [] : [`the last stop ended with ${code}`]),
    ];
    if (violations.length > 0)
      throw new Error(`${violations.length} faults:\n  ${violations.slice(0, 50).join('\n  ')}`);
  } finally {
    await service.kill();
    await removeDataDir(environment.DATA_DIR);
    await double.stop();
  }
}

function summary(
  { requests, repeated, unanswered, accounts, events, faults }: FaultReport,
  seconds: number,
): string {
  const each = [...faults].map(([name, count]) => `${name} ${count}`).sort();
  return [
    `${ROUNDS - FROM + 1} rounds in ${seconds.toFixed(0)} s, seed ${seed}: ${requests} requests, ${repeated} writes repeated (${unanswered} without an answer before),`,
    `${events} events read back, ${accounts} accounts folded and compared; faults: ${each.join(', ')}`,
  ].join('\n');
}

/** `--name value` or `--name=value`. */
function option(name: string): string | undefined {
  const args = process.argv.slice(2);
  const at = args.findIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  return at < 0 ? undefined : (args[at]?.split('=')[1] ?? args[at + 1]);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.error(`again with --seed ${seed}`);
  process.exitCode = 1;
});
