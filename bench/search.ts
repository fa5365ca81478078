import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { openCore } from '../src/core/core.js';
import { loadConfig } from '../src/config/config.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';
import { openPool } from '../src/postgres/database.js';
import { fillUsers } from './filled-users.js';
import { LedgerClient } from './ledger-client.js';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * Searches of one tenant with very many users: how long each kind takes alone, and what many of
 * them at once cost the reads of another tenant. The users are written into the read model.
 * Exits with 1 when a read of the other tenant is not answered with 200.
 *
 * `BENCH_USERS` (1 000 000), `BENCH_SEARCHES` (20 at a time), `BENCH_SECONDS` (5).
 */
const USERS = Number(process.env.BENCH_USERS ?? 1_000_000);
const SEARCHES = Number(process.env.BENCH_SEARCHES ?? 20);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const READS = 5;
/** In every user; in one of a thousand; in one; too short for the index, in some. */
const QUERIES = ['example.com', 'mara 77', `user${USERS - 1}@`, '9@'];

const percentile = (times: readonly number[], share: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? NaN;

async function readFor(seconds: number, other: LedgerClient): Promise<readonly number[]> {
  const times: number[] = [];
  for (const end = performance.now() + seconds * 1_000; performance.now() < end;) {
    const { status, ms } = await other.get('users?limit=1');
    if (status !== 200) process.exitCode = 1;
    times.push(ms);
  }
  return times;
}

function report(name: string, times: readonly number[]): void {
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  process.stdout.write(`${name}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms\n`);
}

async function measure(demo: LedgerClient, other: LedgerClient): Promise<void> {
  for (const query of QUERIES) {
    const times: number[] = [];
    let total = 0;
    for (let n = 0; n < READS; n++) {
      const { body, ms } = await demo.get(`users?limit=10&query=${encodeURIComponent(query)}`);
      times.push(ms);
      total = (body as { readonly totalCount: number }).totalCount;
    }
    report(`a search that finds ${total} of ${USERS}`, times);
  }
  await readFor(1, other);
  report('another tenant alone', await readFor(SECONDS, other));
  let isOver = false;
  const searching = Array.from({ length: SEARCHES }, async () => {
    while (!isOver) await demo.get('users?query=example.com');
  });
  await delay(500);
  report(`another tenant beside ${SEARCHES} searches`, await readFor(SECONDS, other));
  isOver = true;
  await Promise.all(searching);
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    const core = await openCore({
      config: loadConfig({ DATA_DIR: dataDir }),
      logger: pino({ level: 'silent' }),
      actor: { kind: 'system', id: 'bench' },
      applicationName: 'bench',
    });
    const created = await core.tenantCommands.create({
      alias: 'other',
      programType: 'API_ONLY',
      openEndpoints: false,
      program: DEFAULT_PROGRAM,
    });
    if ('refused' in created) throw new Error(created.refused);
    // Without the time-out of requests.
    const pool = openPool({ url: core.databaseUrl(), max: 1, applicationName: 'bench' });
    await fillUsers(pool, USERS);
    await pool.end();
    await core.close();
    const { url } = service;
    const demo = new LedgerClient({ url, apiKey: printedKey(service.output()) });
    const other = new LedgerClient({ url, apiKey: created.liveApiKey, tenant: 'other' });
    await measure(demo, other);
    for (const client of [demo, other]) client.close();
  } finally {
    await service.terminate();
    await removeDataDir(dataDir);
  }
}

await main();
