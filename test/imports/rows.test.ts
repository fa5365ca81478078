import type { Core } from '../../src/stores/core.js';
import type { Scope } from '../../src/domain/scope.js';
import type { ImportKind, ImportRow, RowOutcome } from '../../src/imports/rows/import-rows.js';
import { GivenCodes } from '../../src/imports/rows/given-codes.js';
import { ScratchConnection } from '../../src/postgres/scratch-connection.js';
import { openRowImport } from '../../src/imports/rows/open-row-import.js';
import { query, type Json } from '../support/api-client.js';
import { everythingProjected } from '../support/everything-projected.js';
import { reconcileLedger, replayLedger, statementOfAccount } from '../support/operations.js';
import { useSharedService, useTenant } from '../support/running-service.js';

const running = useSharedService();
const tenant = useTenant(running, { each: true });
const GIVEN = Date.UTC(2024, 0, 2);
const ACTOR = { kind: 'cli', id: 'import-test' } as const;
let core: Core;
let scope: Scope;

beforeEach(async () => {
  ({ core } = running.service.service);
  scope = { tenant: tenant.alias, mode: 'live' };
});

async function imported(
  kind: ImportKind,
  rows: readonly ImportRow[],
  dryRun = false,
): Promise<readonly RowOutcome[]> {
  const [db, codes] = [new ScratchConnection(core.pool), new GivenCodes()];
  for (const row of rows) if ('referralCode' in row) codes.add(String(row.referralCode));
  const importRow = await openRowImport(
    core,
    { ...scope, kind, dryRun, actor: ACTOR },
    { db, codes },
  );
  const outcomes: RowOutcome[] = [];
  try {
    for (const row of rows) outcomes.push(await importRow(row));
  } finally {
    db.close();
  }
  if (!dryRun) await everythingProjected(core);
  return outcomes;
}
const kinds = (outcomes: readonly RowOutcome[]) =>
  outcomes.map((one) => (one.kind === 'rejected' ? one.reason : one.kind));

const USERS: readonly ImportRow[] = [
  { accountId: 'a', id: 'nameless', firstName: 'Ann', dateCreated: GIVEN },
  { accountId: 'a', id: 'ann', referralCode: 'ANN', accountStatus: 'PAID', segments: ['vip'] },
  { accountId: 'b', id: 'bob', blocked: true, customFields: new Map([['size', 5]]) },
];
const REFERRALS: readonly ImportRow[] = [
  {
    id: 'r1',
    referredAccount: 'b',
    referredUser: 'bob',
    referrerAccount: 'a',
    referrerUser: 'ann',
    dateReferralStarted: GIVEN,
    dateReferralPaid: GIVEN + 1,
    referrerReward: 'w1',
  },
];
const REWARDS: readonly ImportRow[] = [
  {
    id: 'w1',
    type: 'CREDIT',
    accountId: 'a',
    userId: 'ann',
    unit: 'CENTS',
    amount: 1_000,
    redeemed: 300,
    rewardSource: 'FRIEND_SIGNUP',
    dateGiven: GIVEN,
  },
  {
    type: 'CREDIT',
    accountId: 'a',
    userId: 'ann',
    unit: 'CENTS',
    amount: 50,
    dateScheduledFor: Date.now() + 9e8,
    equalRowNumber: 1,
  },
  { id: 'w3', type: 'PCT_DISCOUNT', accountId: 'b', userId: 'bob', discountPercent: 20 },
  {
    id: 'w4',
    type: 'CREDIT',
    accountId: 'b',
    userId: 'bob',
    unit: 'CENTS',
    amount: 70,
    dateCancelled: GIVEN,
  },
];

async function importAll(): Promise<void> {
  expect(kinds(await imported('users', USERS))).toEqual(['imported', 'imported', 'imported']);
  expect(kinds(await imported('referrals', REFERRALS))).toEqual(['imported']);
  expect(kinds(await imported('rewards', REWARDS))).toEqual(Array(4).fill('imported'));
}

test('imported rows are read as any others, and the ledger agrees with itself', async () => {
  await importAll();
  const { live } = tenant;
  const ann = await live.get('/account/a/user/ann');
  expect(ann.body).toMatchObject({ referralCode: 'ANN', segments: ['vip'] });
  expect((await live.get('/account/a')).body).toMatchObject({ subscription: { status: 'PAID' } });
  const nameless = (await live.get('/account/a/user/nameless')).body;
  expect(nameless).toMatchObject({ dateCreated: GIVEN });
  // The row of another user gives the code that the name would have made.
  expect(nameless['referralCode']).not.toBe('ANN');
  const { body } = await live.get<{ referrals: Json[] }>('/referrals');
  expect(body.referrals).toMatchObject([
    { dateReferralStarted: GIVEN, dateReferralPaid: GIVEN + 1, referralCodeUsed: 'ANN' },
  ]);
  const found = await live.get<Json[]>(`/reward${query({ accountId: 'a' })}`);
  const first = found.body.find(({ assignedCredit }) => assignedCredit === 1_000);
  expect(first).toMatchObject({
    dateGiven: GIVEN,
    redeemedCredit: 300,
    redemptions: [{ quantityRedeemed: 300 }],
  });
  expect(body.referrals[0]).toMatchObject({ referrerReward: { id: first?.['id'] } });
  const balance = await live.get<Json[]>(`/reward/balance${query({ accountId: 'a' })}`);
  expect(balance.body).toMatchObject([
    { totalAvailableCredit: 700, totalRedeemedCredit: 300, totalPendingCredit: 50 },
  ]);
  const statement = await statementOfAccount(core, scope, { account: 'a' });
  expect(statement.units).toMatchObject([
    { opening: 0, closing: 700, lines: [{ type: 'imported', amount: 700 }, { type: 'scheduled' }] },
  ]);
  const reconciled = await reconcileLedger(core, scope, {});
  expect(reconciled).toMatchObject({
    ok: true,
    units: [{ imported: 700, issued: 0, redeemed: 0 }],
  });
  expect((await replayLedger(core, scope, {})).differences).toEqual([]);
});

test('repeated rows change nothing and are reported', async () => {
  await importAll();
  const before = await running.service.eventsOf(tenant);
  expect(kinds(await imported('users', USERS))).toEqual(Array(3).fill('unchanged'));
  const [referral] = await imported('referrals', REFERRALS);
  expect(referral).toMatchObject({ kind: 'unchanged', ledgerId: expect.any(String) });
  const again = await imported('rewards', REWARDS);
  expect(again[0]).toMatchObject({
    kind: 'unchanged',
    control: { unit: 'CENTS', rewards: 1, assigned: 1_000, redeemed: 300, available: 700 },
  });
  const moved = { ...REWARDS[0], accountId: 'b', userId: 'bob' } as ImportRow;
  expect(kinds(await imported('rewards', [moved]))).toEqual([
    'ROW_DIFFERS: accountId: "a", now "b", userId: "ann", now "bob"',
  ]);
  await tenant.live.call('DELETE', '/open/account/b/user/bob');
  const forgotten = await imported('referrals', REFERRALS);
  expect(forgotten).toEqual([{ kind: 'unchanged' }]);
  expect(kinds(await imported('users', USERS))[2]).toBe('unchanged');
  expect(await running.service.eventsOf(tenant)).toBeGreaterThan(before);
});

test('rewards that come before their referrals belong to them, also where a crash left them without', async () => {
  await imported('users', USERS);
  await imported('rewards', REWARDS);
  const [first] = REFERRALS;
  const rows = [{ ...first, referredReward: 'w3' }] as readonly ImportRow[];
  const { execute } = core.commands;
  const crash = jest.spyOn(core.commands, 'execute').mockImplementation((command) => {
    const { command: of } = command as { readonly command?: { readonly type: string } };
    if (of?.type === 'LinkImportedReward') throw new Error('crashed');
    return execute.call(core.commands, command);
  });
  await expect(imported('referrals', rows)).rejects.toThrow('crashed');
  crash.mockRestore();
  expect(kinds(await imported('referrals', rows))).toEqual(['unchanged']);
  const { body } = await tenant.live.get<{ referrals: Json[] }>('/referrals');
  expect(body.referrals).toMatchObject([
    { referrerReward: { assignedCredit: 1_000 }, referredReward: { discountPercent: 20 } },
  ]);
});

test('a value that is unique in a tenant rejects the row of another account', async () => {
  const tank = { type: 'FUELTANK', fuelTankType: 'CREDIT', fuelTankCode: 'T1', amount: 5 };
  const users: readonly ImportRow[] = [
    { accountId: 'a', id: 'ann', referralCode: 'ANN', paymentProviderId: 'cus_1' },
    { accountId: 'b', id: 'bob', referralCode: 'ann' },
    { accountId: 'b', id: 'bob', paymentProviderId: 'cus_1' },
    { accountId: 'b', id: 'bob' },
  ];
  expect(kinds(await imported('users', users))).toEqual([
    'imported',
    'REFERRAL_CODE_TAKEN: The referral code is that of another person',
    'PAYMENT_PROVIDER_ID_USED: Another account has this paymentProviderId',
    'imported',
  ]);
  const manual = { ...tank, fuelTankCode: 'T9' };
  expect((await tenant.live.post('/rewards/account/a/user/ann', manual)).status).toBe(201);
  const rewards: readonly ImportRow[] = [
    { ...manual, accountId: 'b', userId: 'bob', id: 't9' },
    { ...tank, accountId: 'a', userId: 'ann', id: 't1' },
    { ...tank, accountId: 'b', userId: 'bob', id: 't2' },
    { ...tank, accountId: 'a', userId: 'ann', id: 't1' },
  ];
  expect(kinds(await imported('rewards', rewards))).toEqual([
    'BAD_REQUEST: The tank code belongs to another reward',
    'imported',
    'BAD_REQUEST: The tank code belongs to another reward',
    'unchanged',
  ]);
});

test('a dry run decides as an import would, and records nothing', async () => {
  const before = await running.service.eventsOf(tenant);
  const twice = [...USERS, ...USERS];
  expect(kinds(await imported('users', twice, true))).toEqual([
    ...Array<string>(3).fill('imported'),
    ...Array<string>(3).fill('unchanged'),
  ]);
  expect(kinds(await imported('rewards', REWARDS.slice(0, 1), true))).toEqual([
    'USER_NOT_FOUND: The account has no such user: import users first',
  ]);
  expect(await running.service.eventsOf(tenant)).toBe(before);
});
