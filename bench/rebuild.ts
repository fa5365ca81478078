import { pino } from 'pino';
import { accountProjectors } from '../projections/account-projectors.js';
import { loadConfig } from '../src/config/config.js';
import { openCore, type Core } from '../src/stores/core.js';
import { openPool } from '../src/postgres/database.js';
import type { GenerationParts } from '../src/projecting/generations/catch-up.js';
import { decodeForProjectors } from '../src/projecting/decode-events.js';
import { ensureLiveGenerations } from '../src/projecting/generations/generations.js';
import {
  buildInSql,
  buildOneByOne,
  digestOf,
  followLive,
  rebuildBalances,
  sumInSql,
} from './balance-builds.js';
import { writeBalanceEvents } from './balance-events.js';
import { makeDataDir, removeDataDir } from '../test/harness/service-process.js';

/**
 * How long a rebuild of the balances takes, against what Postgres alone needs to make the same
 * tables of the same events, in the same run; and how fast they are followed live, against a
 * transaction an event. All ways must give the same digest. Also the time for the bare
 * sums, which is no equal work: no rows of single rewards, no envelopes, no keys, no indexes.
 *
 * `BENCH_EVENTS` (500 000), `BENCH_SINGLE_EVENTS` (1 000) for the one by one, `BENCH_ROUNDS` (2):
 * rebuild and SQL take turns, so that a slow spell hits both, and the best of each counts.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 500_000);
const SINGLE = Number(process.env.BENCH_SINGLE_EVENTS ?? 1_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 2);
const AIMS = { rebuild: 0.5, live: 30 };

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  try {
    const core = await openCore({
      config: loadConfig({ DATA_DIR: dataDir }),
      logger: pino({ level: 'warn' }),
      applicationName: 'bench-rebuild',
      fsync: false,
      actor: { kind: 'system', id: 'bench' },
    });
    const pool = openPool({ url: core.databaseUrl, max: 8, applicationName: 'bench-rebuild' });
    try {
      await run(core, {
        pool,
        log: core.log,
        decode: decodeForProjectors(core.codec),
        projectors: accountProjectors,
      });
    } finally {
      await pool.end();
      await core.close();
    }
  } finally {
    await removeDataDir(dataDir);
  }
}

async function run(core: Core, parts: GenerationParts): Promise<void> {
  const { pool } = parts;
  console.log(`writing ${EVENTS} events`);
  const events = await writeBalanceEvents(core, EVENTS);
  await pool.query('vacuum analyze ledger.events');
  await ensureLiveGenerations(pool, accountProjectors);
  /** What each way left last: a rebuild drops the one before. */
  const tables = new Map<string, string>();
  /** Events a second; the fastest of the rounds. */
  const rates: Record<string, number> = {};
  const measure = async (
    name: string,
    build: () => Promise<string>,
    ofEvents = events,
  ): Promise<number> => {
    const startedAt = performance.now();
    const table = await build();
    const rate = ofEvents / ((performance.now() - startedAt) / 1_000);
    if (ofEvents === events) tables.set(name, table);
    return (rates[name] = Math.max(rates[name] ?? 0, rate));
  };
  const single = await measure(
    'one transaction an event',
    () => buildOneByOne(parts, SINGLE),
    SINGLE,
  );
  const live = await measure('live, in batches', () => followLive(parts));
  for (let round = 0; round < ROUNDS; round++) {
    await measure('SQL, sums only', () => sumInSql(pool));
    await measure('SQL, same tables', () => buildInSql(pool));
    await measure('rebuild, indexed and compared', () => rebuildBalances(parts));
  }
  for (const [name, rate] of Object.entries(rates))
    console.log(`${name.padEnd(36)} ${Math.round(rate).toString().padStart(8)} events/s`);
  const rebuilt = rates['rebuild, indexed and compared'] ?? 0;
  const ratio = (name: string, value: number, aim?: number): void =>
    console.log(
      `${name.padEnd(36)} ${value.toFixed(2).padStart(8)} ${aim === undefined ? '' : `${value >= aim ? 'met' : 'missed'} (${aim})`}`,
    );
  ratio('live to one by one', live / single, AIMS.live);
  ratio('rebuild to SQL, same tables', rebuilt / (rates['SQL, same tables'] ?? 0), AIMS.rebuild);
  ratio('rebuild to SQL, sums only', rebuilt / (rates['SQL, sums only'] ?? 0));
  const digests = new Set(
    await Promise.all([...tables.values()].map((table) => digestOf(pool, table))),
  );
  console.log(`digests ${digests.size === 1 ? 'equal' : 'DIFFER'}: ${[...digests].join(' ')}`);
  if (digests.size !== 1) process.exitCode = 1;
}

await main();
