import { pino } from 'pino';
import {
  buildInSql,
  buildOneByOne,
  digestOf,
  followLive,
  rebuildBalances,
  sumInSql,
} from '../../bench/balance-builds.js';
import { writeBalanceEvents } from '../../bench/balance-events.js';
import { accountProjectors } from '../../projections/account-projectors.js';
import { loadConfig } from '../../src/config/config.js';
import { openCore, type Core } from '../../src/core/core.js';
import { openPool } from '../../src/postgres/database.js';
import type { GenerationParts } from '../../src/projecting/generations/catch-up.js';
import { decodeForProjectors } from '../../src/projecting/decode-events.js';
import { ensureLiveGenerations } from '../../src/projecting/generations/generations.js';
import { createStores, type TestStores } from '../support/running-service.js';

/**
 * `npm run bench:rebuild` in small: what it compares must be the same thing, or its ratios say
 * nothing.
 */

const EVENTS = 1_000;

let stores: TestStores;
let core: Core;
let parts: GenerationParts;

beforeAll(async () => {
  stores = await createStores();
  const config = loadConfig({
    DATABASE_URL: stores.databaseUrl,
    MASTER_KEY_FILE: stores.masterKeyFile,
  });
  const actor = { kind: 'system', id: 'test' } as const;
  core = await openCore({
    config,
    logger: pino({ level: 'silent' }),
    applicationName: 'test',
    actor,
  });
  const pool = openPool({ url: stores.databaseUrl, max: 8, applicationName: 'test' });
  parts = {
    pool,
    log: core.log,
    decode: decodeForProjectors(core.codec),
    projectors: accountProjectors,
  };
  await writeBalanceEvents(core, EVENTS);
  await ensureLiveGenerations(pool, accountProjectors);
});
afterAll(async () => {
  await parts.pool.end();
  await core.close();
  await stores.remove();
});

/** Without the client's id of the account, which the events seal. */
const rowsOf = async (table: string): Promise<readonly unknown[]> => {
  const { rows } = await parts.pool.query<{ row: unknown }>(
    `select to_jsonb(t) - 'account_id' as row from ${table} t order by to_jsonb(t) - 'account_id'`,
  );
  return rows.map(({ row }) => row);
};

test('all ways of the benchmark come to the same balances, and those in SQL to the same tables', async () => {
  const { pool } = parts;
  const digest = await digestOf(pool, await buildOneByOne(parts, EVENTS));
  const live = await followLive(parts);
  expect(await digestOf(pool, live)).toBe(digest);
  const rebuilt = await rebuildBalances(parts);
  expect(await digestOf(pool, rebuilt)).toBe(digest);
  expect(await digestOf(pool, await sumInSql(pool))).toBe(digest);
  const inSql = await buildInSql(pool);
  expect(await digestOf(pool, inSql)).toBe(digest);
  const balances = await rowsOf(rebuilt);
  expect(balances).toHaveLength(2 * (EVENTS / 50));
  expect(await rowsOf(inSql)).toEqual(balances);
  const items = await rowsOf(rebuilt.replace(/reward_balances$/, 'balance_items'));
  expect(items).toHaveLength(EVENTS / 2);
  expect(await rowsOf(inSql.replace(/reward_balances$/, 'balance_items'))).toEqual(items);
});
