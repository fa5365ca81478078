import pg from 'pg';
import { eventually } from '../support/embedded.js';
import type { Json } from '../support/api-client.js';
import { loseTail, numberOf } from '../support/lost-tail.js';
import { aPerson } from '../support/people.js';
import {
  createStores,
  RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';

/**
 * The log loses its end under the service, and while no service runs: lost events are in no answer
 * over HTTP, and the service continues.
 */

let stores: TestStores;
let running: RunningService;
let sql: pg.Client;
let tenant: TestTenant;
beforeEach(async () => {
  stores = await createStores();
  running = await RunningService.start(stores, { POSITION_WAIT_MS: '10000' });
  tenant = await running.createTenant();
  sql = new pg.Client(stores.databaseUrl);
  await sql.connect();
});
afterEach(async () => {
  await sql.end();
  await running.stop();
  await stores.remove();
});

const CREDIT = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 800 };

const person = () => aPerson(tenant.live);

const head = async (): Promise<number> => numberOf(await running.head());

/** What may be spent, once the read models are there again. */
async function available(accountId: string): Promise<number> {
  let found = -1;
  await eventually(async () => {
    const { status, body } = await tenant.live.get<Json[]>(
      `/reward/balance?accountId=${accountId}`,
    );
    if (status === 503) return false;
    expect(status).toBe(200);
    const [credit] = body as readonly {
      totalAssignedCredit?: number;
      totalRedeemedCredit?: number;
    }[];
    found = (credit?.totalAssignedCredit ?? 0) - (credit?.totalRedeemedCredit ?? 0);
    return true;
  });
  return found;
}

const spend = (accountId: string, amount: number) =>
  tenant.live.post('/credit/bulkredeem', { accountId, amount, unit: 'CENTS' });

interface LossLine {
  readonly level: number;
  readonly msg: string;
  readonly from: string;
  readonly to: string | null;
}

const lossLines = (): readonly LossLine[] =>
  running.logText
    .split('\n')
    .filter((line) => line.includes('log went back'))
    .map((line) => JSON.parse(line) as LossLine);

it('a running service neither shows nor redeems lost rewards, and new ones are recorded, shown and redeemed', async () => {
  const { accountId, at } = await person();
  const kept = await head();
  expect((await tenant.live.post(`/rewards${at}`, CREDIT, { key: 'the-same-key' })).status).toBe(
    201,
  );
  expect(await available(accountId)).toBe(800);
  const from = await running.head();
  await loseTail(sql, kept);
  const redeemed = await spend(accountId, 800);
  expect([redeemed.status, redeemed.body['apiErrorCode']]).toStrictEqual([
    400,
    'INVALD_REWARD_REDEMPTION',
  ]);
  await eventually(() => lossLines().length > 0);
  expect(lossLines()).toMatchObject([{ level: 50, from, to: from?.replace(/\d+$/, String(kept)) }]);
  expect(await available(accountId)).toBe(0);
  // The key's effect is gone with its event: the request takes effect again.
  const again = await tenant.live.post(`/rewards${at}`, CREDIT, { key: 'the-same-key' });
  expect([again.status, again.headers.get('idempotency-replayed')]).toStrictEqual([201, null]);
  expect(await available(accountId)).toBe(800);
  expect((await spend(accountId, 300)).status).toBe(200);
  expect(await available(accountId)).toBe(500);
  expect(lossLines().length).toBe(1);
  const { rows } = await sql.query('select from_position, to_position from ledger.log_losses');
  expect(rows).toEqual([{ from_position: from, to_position: from?.replace(/\d+$/, String(kept)) }]);
});

it.each([
  ['shorter than it was', 0],
  ['longer than it was', 3],
])('a log that returns %s is noticed at the next start', async (_, fill) => {
  const { accountId, at } = await person();
  const other = await person();
  const kept = await head();
  await tenant.live.post(`/rewards${at}`, CREDIT);
  expect(await available(accountId)).toBe(800);
  await running.stop();
  await loseTail(sql, kept);
  if (fill > 0) {
    const filling = await RunningService.start(stores, { ROLES: 'api' });
    for (let n = 0; n < fill; n++)
      await filling
        .client(tenant.alias, `:${tenant.liveKey}`)
        .post(`/rewards${other.at}`, { ...CREDIT, assignedCredit: 7 });
    await filling.stop();
  }
  running = await RunningService.start(stores, { POSITION_WAIT_MS: '10000' });
  tenant = { ...tenant, live: running.client(tenant.alias, `:${tenant.liveKey}`) };
  expect(await available(accountId)).toBe(0);
  expect(await available(other.accountId)).toBe(7 * fill);
  expect((await spend(accountId, 1)).status).toBe(400);
});
