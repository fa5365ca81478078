import {
  freshNamespace,
  startEventStore,
  type EventStoreUnderTest,
} from '../support/event-store.js';
import { eventually } from '../support/embedded.js';
import { personal, startWithStores } from '../support/running-service.js';
import {
  adjustLedger,
  changePeriod,
  exportLedger,
  reconcileLedger,
  replayLedger,
  statementOfAccount,
} from '../support/operations.js';

/** The same figures, whichever store the log is in. */

let store: EventStoreUnderTest;
let running: Awaited<ReturnType<typeof startWithStores>>;

beforeAll(async () => {
  store = await startEventStore();
  running = await startWithStores({
    EVENT_STORE_URL: store.url,
    EVENT_STORE_NAMESPACE: freshNamespace(),
  });
});
afterAll(async () => {
  await running.end();
  await store.stop();
});

test('a ledger on EventStoreDB is stated, adjusted, replayed, reconciled, closed and exported', async () => {
  const { service } = running;
  const { core } = service.service;
  await eventually(async () => (await fetch(`${service.origin}/health/ready`)).status === 200);
  const { alias, live } = await service.createTenant();
  const scope = { tenant: alias, mode: 'live' } as const;
  const [accountId, userId] = [personal('acc'), personal('user')];
  await live.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } });
  await live.post('/user', { id: userId, accountId });
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1_000 };
  const given = await live.post(`/rewards/account/${accountId}/user/${userId}`, reward);
  const position = given.headers.get('ledger-position') ?? '';
  const staff = { reason: 'charged twice', by: 'Sam', approvedBy: 'Ada' };
  const adjusted = await adjustLedger(core, scope, {
    accountId,
    userId,
    unit: 'CENTS',
    amount: -250,
    ...staff,
  });

  expect(await statementOfAccount(core, scope, { accountId, position })).toMatchObject({
    position,
    units: [{ closing: 1_000 }],
  });
  expect(await statementOfAccount(core, scope, { accountId })).toMatchObject({
    position: adjusted.position,
    units: [
      { closing: 750, lines: [{ amount: 1_000 }, { amount: -250, eventId: adjusted.eventId }] },
    ],
  });
  expect(await replayLedger(core, scope, { position: adjusted.position ?? '' })).toMatchObject({
    differences: [],
  });
  expect(await reconcileLedger(core, scope, {})).toMatchObject({
    ok: true,
    units: [{ issued: 1_000, redeemed: 250, closing: 750 }],
  });
  const closed = await changePeriod(core, scope, 'ClosePeriod', {
    period: '2026-01',
    comment: 'tied out',
    by: 'Sam',
  });
  expect(closed).toMatchObject({ status: 'closed' });
  let exported = '';
  await exportLedger(core, scope, {}, (lines) => Promise.resolve(void (exported += lines)));
  const types = exported
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type);
  expect(types).toEqual(
    expect.arrayContaining(['AccountOpened', 'RewardGranted', 'CreditRedeemed', 'PeriodClosed']),
  );
  await expect(
    statementOfAccount(core, scope, { accountId, position: 'nonsense' }),
  ).rejects.toThrow('is no position of this log');
});
