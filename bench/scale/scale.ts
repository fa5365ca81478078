import { makeDataDir, removeDataDir } from '../../test/harness/service-process.js';
import { linesOf, measureTogether, prepareLedger, type PreparedLedger } from './measure-ledger.js';
import { READS, WRITES } from './scale-calls.js';
import { isFlat } from './scale-table.js';

/**
 * What a large ledger costs against a small one: a ledger of 1 %, 10 % and 100 % of
 * `SCALE_ACCOUNTS` (1 000 000) accounts with 1.2 users and ten events each is filled, followed,
 * started, read, written, exported, verified and rebuilt. Calls go one after the other, the sizes
 * in turns, each to another account of the tenant that has 60 % of all; a write to one that has had
 * none. Prints the medians' ratio to the smallest size.
 *
 * `SCALE_SHARES` (0.01,0.1,1) of it; `SCALE_TIMES` (100) each call is measured.
 * Exits with 1 when a call that is no list of all is not flat within 1.5.
 */
const ACCOUNTS = Number(process.env.SCALE_ACCOUNTS ?? 1_000_000);
const SHARES = (process.env.SCALE_SHARES ?? '0.01,0.1,1').split(',').map(Number);
const TIMES = Number(process.env.SCALE_TIMES ?? 100);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Of the whole ledger, a line each. */
function wholeOf(ledgers: readonly PreparedLedger[]): readonly string[] {
  const names = [...(ledgers[0]?.whole.keys() ?? [])];
  return names.map((name) => {
    const figures = ledgers.map(({ whole }) => (whole.get(name) ?? NaN).toFixed(1).padStart(14));
    return name.padEnd(52) + figures.join('');
  });
}

async function main(): Promise<void> {
  const dataDirs: string[] = [];
  try {
    const ledgers: PreparedLedger[] = [];
    for (const share of SHARES) {
      const accounts = Math.ceil(ACCOUNTS * share);
      say(`${accounts} accounts`);
      const dataDir = await makeDataDir();
      dataDirs.push(dataDir);
      ledgers.push(await prepareLedger(dataDir, accounts, say));
    }
    const measured = await measureTogether(ledgers, TIMES, say);
    say(wholeOf(ledgers).join('\n'));
    if (!linesOf([...READS, ...WRITES], measured).every(isFlat)) process.exitCode = 1;
  } finally {
    for (const dataDir of dataDirs) await removeDataDir(dataDir);
  }
}

await main();
