import { setTimeout as delay } from 'node:timers/promises';
import { fastify } from 'fastify';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { z } from 'zod';
import { openCore } from '../src/core/core.js';
import { loadConfig } from '../src/config/config.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';
import { openPool } from '../src/postgres/database.js';
import { fillUsers } from './filled-users.js';
import { LedgerClient } from './ledger-client.js';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * Searches of one tenant with very many users: how long each kind takes alone, and what many of
 * them at once cost the reads of another tenant; then pages of a hundred of the whole list with its
 * total, in turns with a bare Fastify route that reads the page alone. The users are written into
 * the read model.
 * Exits with 1 when a read of the other tenant is not answered with 200.
 *
 * `BENCH_USERS` (1 000 000), `BENCH_SEARCHES` (20 at a time), `BENCH_SECONDS` (5).
 */
const USERS = Number(process.env.BENCH_USERS ?? 1_000_000);
const SEARCHES = Number(process.env.BENCH_SEARCHES ?? 20);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const READS = 5;
const PAGES = 30;
const PAGE = 100;
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

/** A route like that of the service, for a page without a total. */
async function barePages(pool: Pool): Promise<{ readonly url: string; close(): Promise<void> }> {
  const app = fastify();
  app.get('/api/v1/demo/users', async (request) => {
    const { limit, offset } = pageQuery.parse(request.query);
    const { rows } = await pool.query({ ...BARE_PAGE, values: [limit, offset] });
    return { users: rows };
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { url, close: () => app.close() };
}

const pageQuery = z.object({ limit: z.coerce.number(), offset: z.coerce.number() });
const BARE_PAGE = {
  name: 'page',
  text: `select profile from rm_users_1.users where tenant = 'demo' and mode = 'live'
    order by date_created desc, person limit $1 offset $2`,
};

async function measurePages(demo: LedgerClient, bare: LedgerClient): Promise<void> {
  for (const offset of [0, 4_900, USERS / 2, USERS - PAGE]) {
    const [ours, alone]: [number[], number[]] = [[], []];
    for (let n = 0; n < PAGES; n++)
      for (const [client, times] of [
        [demo, ours],
        [bare, alone],
      ] as const) {
        const { status, ms } = await client.get(`users?limit=${PAGE}&offset=${offset}`);
        if (status !== 200) process.exitCode = 1;
        times.push(ms);
      }
    report(`a page of ${PAGE} from ${offset} on, with the total`, ours);
    report('  the page alone', alone);
    const ratio = percentile(alone, 0.5) / percentile(ours, 0.5);
    process.stdout.write(`  ${ratio.toFixed(2)} of the page alone\n`);
  }
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
    const { url } = service;
    const demo = new LedgerClient({ url, apiKey: printedKey(service.output()) });
    const other = new LedgerClient({ url, apiKey: created.liveApiKey, tenant: 'other' });
    await measure(demo, other);
    const pages = await barePages(pool);
    const bare = new LedgerClient({ url: pages.url, apiKey: '' });
    await measurePages(demo, bare);
    for (const client of [demo, other, bare]) client.close();
    await pages.close();
    await pool.end();
    await core.close();
  } finally {
    await service.terminate();
    await removeDataDir(dataDir);
  }
}

await main();
