import type { AccountCommand } from '../../src/domain/account/account.decider.js';
import { accepted, SharedLedger, type TestProcess } from '../command-handling/support/processes.js';
import { Listener } from './support/listener.js';

const BALANCE = 'user.reward.balance.changed';
const DAY = 86_400_000;

let ledger: SharedLedger;
let service: TestProcess;
let listener: Listener;
let now: number;

async function open(program?: Parameters<typeof SharedLedger.open>[0]): Promise<void> {
  ledger = await SharedLedger.open(program);
  now = Date.now();
  service = await ledger.process({ clock: () => now });
  listener = new Listener(service);
  accepted(await service.sync('acme'));
  accepted(await service.upsert('acme', 'ann', { referralCode: 'ANN' }));
  accepted(await service.upsert('acme', 'bob', { referralCode: 'BOB' }));
  await listener.news();
}

const credit = (assignedCredit: number, unit = 'CENTS') =>
  ({ type: 'CREDIT', unit, assignedCredit, currency: null }) as const;
const send = async (request: AccountCommand) => accepted(await service.send('acme', request));

async function scheduled(
  userId: string,
  dates: { dateScheduledFor?: number; dateExpires?: number },
  cancellable = true,
): Promise<string> {
  const { events } = await send({
    type: 'CreateReward',
    userId,
    value: credit(100),
    name: null,
    description: null,
    cancellable,
    dateScheduledFor: null,
    dateExpires: null,
    ...dates,
  });
  const [granted] = events;
  if (granted?.type !== 'RewardGranted') throw new Error('no reward was granted');
  return granted.rewardId;
}

/** The people and amounts announced since the last call; versions must grow with every change. */
let version = 0;
async function balances(): Promise<readonly (readonly [unknown, unknown, unknown])[]> {
  const news = await listener.news(BALANCE);
  const announced = news.filter(({ kind }) => kind !== 'nothing');
  return announced.map(({ kind, data }) => {
    expect(kind).toBe('made');
    expect(Object.keys(data ?? {})).toEqual([
      'userId',
      'accountId',
      'unit',
      'availableValue',
      'resourceVersion',
    ]);
    expect(data?.['accountId']).toBe('acme');
    const next = Number(data?.['resourceVersion']);
    expect(next).toBeGreaterThanOrEqual(version);
    version = next;
    return [data?.['userId'], data?.['unit'], data?.['availableValue']];
  });
}
beforeEach(() => (version = 0));

test('every change of the credit is announced with what is available of the account', async () => {
  await open();
  const first = await service.reward('acme', 'ann', credit(100));
  expect(await balances()).toEqual([['ann', 'CENTS', 100]]);
  // Units are compared without case and shown in the first spelling; the account's credit is one.
  const second = await service.reward('acme', 'bob', credit(50, 'cents'));
  expect(await balances()).toEqual([['bob', 'CENTS', 150]]);
  await service.reward('acme', 'bob', credit(7, 'POINTS'));
  expect(await balances()).toEqual([['bob', 'POINTS', 7]]);
  await send({ type: 'RedeemCredit', rewardId: first, amount: 30, unit: 'Cents' });
  expect(await balances()).toEqual([['ann', 'CENTS', 120]]);
  await send({ type: 'CancelReward', rewardId: second });
  expect(await balances()).toEqual(
    [['ann', 'CENTS', 70]].map(([, unit, value]) => ['bob', unit, value]),
  );
  // A repeated cancellation changes nothing.
  await send({ type: 'CancelReward', rewardId: second });
  expect(await balances()).toEqual([]);
  expect(await listener.again()).toEqual(listener.sent);
});

test('a bulk redemption announces each of its people once, with the amount after all of it', async () => {
  await open();
  for (const userId of ['ann', 'bob', 'ann', 'bob', 'ann'])
    await service.reward('acme', userId, credit(10));
  await balances();
  await send({ type: 'RedeemAccountCredit', amount: 45, unit: 'cents' });
  const redeemed = await balances();
  expect([...redeemed].sort()).toEqual([
    ['ann', 'CENTS', 5],
    ['bob', 'CENTS', 5],
  ]);
});

test('credit that expires is announced, less what was redeemed of it', async () => {
  await open();
  const rewardId = await scheduled('ann', { dateExpires: now + DAY });
  await service.reward('acme', 'bob', credit(3));
  await send({ type: 'RedeemCredit', rewardId, amount: 60, unit: 'CENTS' });
  await balances();
  now += DAY;
  await send({ type: 'SettleReward', rewardId });
  expect(await balances()).toEqual([['ann', 'CENTS', 3]]);
});

test('a date that has passed counts before it is recorded', async () => {
  await open();
  const later = await scheduled('ann', { dateScheduledFor: now + DAY });
  const rewardId = await scheduled('ann', { dateExpires: now + DAY });
  await balances();
  now += DAY;
  await service.reward('acme', 'bob', credit(1));
  expect(await balances()).toEqual([['bob', 'CENTS', 101]]);
  await send({ type: 'SettleReward', rewardId: later });
  await send({ type: 'SettleReward', rewardId });
  expect(await balances()).toEqual([['ann', 'CENTS', 101]]);
});

test('credit for later is announced when it becomes available, and nothing that changes no amount', async () => {
  await open();
  const [rewardId, cancelled] = [
    await scheduled('ann', { dateScheduledFor: now + DAY }),
    await scheduled('ann', { dateScheduledFor: now + DAY }),
  ];
  await send({ type: 'CancelReward', rewardId: cancelled });
  expect(await balances()).toEqual([]);
  now += DAY;
  await send({ type: 'SettleReward', rewardId });
  expect(await balances()).toEqual([['ann', 'CENTS', 100]]);
  const short = await scheduled('bob', { dateScheduledFor: now + 1, dateExpires: now + 2 });
  now += DAY;
  await send({ type: 'SettleReward', rewardId: short });
  expect(await balances()).toEqual([]);
});
