import { callsOn, exportRewards, timesOfCalls } from '../../bench/scale/measure-ledger.js';
import { fillLedger, type FilledLedger } from '../../bench/scale/fill-ledger.js';
import { LARGE, MANY_REWARDS, TENANTS, TOP_REFERRER } from '../../bench/scale/filled-accounts.js';
import { READS, WRITES } from '../../bench/scale/scale-calls.js';
import { isFlat, ratiosOf, tableOf, timesOf } from '../../bench/scale/scale-table.js';
import { LedgerClient } from '../harness/ledger-client.js';
import { everythingProjected } from '../support/everything-projected.js';
import { reconcileLedger, replayLedger } from '../support/operations.js';
import { createStores, RunningService, type TestStores } from '../support/running-service.js';

/** `npm run bench:scale` in small: it fills a ledger, and its calls are answered. */

const ACCOUNTS = 100;

let stores: TestStores;
let running: RunningService;
let filled: FilledLedger;
let client: LedgerClient;

beforeAll(async () => {
  stores = await createStores();
  running = await RunningService.start(stores);
  filled = await fillLedger(running.service.core, ACCOUNTS);
  await everythingProjected(running.service.core);
  client = new LedgerClient({
    url: running.origin,
    apiKey: filled.apiKeys.get(LARGE) ?? '',
    tenant: LARGE,
  });
});
afterAll(async () => {
  client.close();
  await running.stop();
  await stores.remove();
});

test('ten events an account, 1.2 users, and two accounts with a tenth of it each', async () => {
  expect(filled.events / ACCOUNTS).toBeCloseTo(10, 0);
  expect(filled.users).toBe(1.2 * ACCOUNTS + 2);
  const top = await client.get(`referrals?limit=1&referringAccountId=${TOP_REFERRER}`);
  expect(top.body).toMatchObject({ totalCount: ACCOUNTS / 10 });
  const rewards = await client.get(`reward?accountId=${MANY_REWARDS}`);
  expect(rewards.body).toHaveLength(ACCOUNTS / 10);
  const users = await client.get('users?limit=1');
  expect(users.body).toMatchObject({ totalCount: 0.7 * ACCOUNTS + 2 });
});

test('each GET route of a tenant and ten writes are among the calls, and are answered', async () => {
  const prefix = '/api/v1/{tenantAlias}/';
  const described = Object.entries(running.description.paths)
    .filter(([path, item]) => path.startsWith(prefix) && item.get !== undefined)
    .map(([path]) => path.slice(prefix.length));
  const isDownload = (path: string): boolean => path.endsWith('/download');
  const called = new Set(READS.map(({ route }) => route));
  expect([...called].sort()).toEqual(described.filter((path) => !isDownload(path)).sort());
  expect(WRITES.length).toBeGreaterThanOrEqual(10);
  const on = callsOn(client, filled, await exportRewards(client));
  const [times] = await timesOfCalls([...READS, ...WRITES], [on], 2);
  expect(times?.size).toBe(READS.length + WRITES.length);
  expect([...(times?.values() ?? [])].every((ms) => ms.length === 2)).toBe(true);
});

test('it replays and adds up as a ledger that commands made', async () => {
  const { core, policies } = running.service;
  expect(await policies.waitFor((await running.head()) ?? '', 30_000)).toBe(true);
  for (const tenant of TENANTS) {
    const scope = { tenant, mode: 'live' } as const;
    expect(await replayLedger(core, scope, {})).toMatchObject({ differences: [] });
    expect(await reconcileLedger(core, scope, {})).toMatchObject({ differences: [] });
  }
});

test('the table marks what costs more than 1.5 times as much, but for lists of all', () => {
  const of = (...p50s: readonly number[]) => p50s.map((p50) => ({ p50, p99: 2 * p50 }));
  const flat = { name: 'a', figures: of(2, 3, 3), grows: false };
  const steep = { name: 'b', figures: of(2, 2, 4), grows: false };
  const list = { name: 'c', figures: of(2, 20, 200), grows: true };
  expect([flat, steep, list].map(isFlat)).toEqual([true, false, true]);
  expect(ratiosOf(steep)).toEqual([1, 2]);
  const marked = tableOf(['1k', '10k', '100k'], [flat, steep, list]).split('\n');
  expect(marked.filter((line) => line.endsWith('NOT FLAT'))).toHaveLength(1);
  expect(timesOf([5, 1, 3])).toEqual({ p50: 3, p99: 5 });
});
