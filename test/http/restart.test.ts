import { freshNamespace, startEventStore } from '../support/event-store.js';
import { path, query, type Json } from '../support/api-client.js';
import { createStores, outcome, personal, RunningService } from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

/** The service restarts on EventStoreDB, also on a real one (`npm run test:eventstoredb`). */

const store = openOnce(startEventStore, 'stop');
const stores = openOnce(createStores, 'remove');
let environment: Readonly<Record<string, string>>;
beforeAll(async () => {
  environment = { EVENT_STORE_URL: store.url, EVENT_STORE_NAMESPACE: freshNamespace() };
});

test('a restart loses nothing, repeats nothing, and continues', async () => {
  const account = { id: personal('acc'), subscription: { status: 'TRIAL' } };
  const user = { id: personal('user'), accountId: account.id };
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 };
  const key = personal('key');
  const ofAccount = query({ accountId: account.id });

  const first = await RunningService.start(stores, environment);
  const tenant = await first.createTenant();
  await tenant.live.post('/accountsync', account);
  await tenant.live.post('/user', user);
  const given = await tenant.live.post(
    `/rewards/account${path(account.id)}/user${path(user.id)}`,
    reward,
  );
  expect(given.status).toBe(201);
  const redeem = `/credit${path(String(given.body['id']))}/redeem`;
  const redeemed = await tenant.live.post(redeem, { amount: 30, unit: 'CENTS' }, { key });
  expect(redeemed.status).toBe(200);
  const balance = await tenant.live.get<Json[]>(`/reward/balance${ofAccount}`);
  expect(balance.body).toMatchObject([{ totalAvailableCredit: 70, totalRedeemedCredit: 30 }]);
  const position = await first.head();
  await first.stop();

  const second = await RunningService.start(stores, environment);
  const live = second.client(tenant.alias, `:${tenant.liveKey}`);
  expect(await second.head()).toBe(position);
  const atLeast = redeemed.headers.get('ledger-position') ?? '';
  expect(outcome(await live.get(`/reward/balance${ofAccount}`, { atLeast }))).toEqual(
    outcome(balance),
  );
  const again = await live.post(redeem, { amount: 30, unit: 'CENTS' }, { key });
  expect(outcome(again)).toEqual(outcome(redeemed));
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(await live.post(redeem, { amount: 20, unit: 'CENTS' })).toMatchObject({
    body: { creditAvailable: 50 },
  });
  expect(second.service.core.log.compare(await second.head(), position)).toBeGreaterThan(0);
  await second.stop();
});
