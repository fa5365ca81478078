import type { AccountRef } from '../../src/domain/scope.js';
import { addWaiting, markLinked } from '../../src/payments/incoming/payment-rows.js';
import { requestPayment, PAYMENTS, WAITS_FOR } from '../../src/payments/outgoing/payment-work.js';
import { workStore, type WorkOutcome } from '../../src/work-queue/work-items.js';
import { tableFigures } from '../../src/payments/payment-figures.js';
import { useDatabase } from '../support/database.js';

const HOUR = 3_600_000;
const SCOPE = { tenant: 'a', mode: 'live' } as const;
const ACCOUNT = { ...SCOPE, account: 'acc' as AccountRef };

const { pool } = useDatabase(2);
const work = workStore(pool);
beforeEach(() => pool.query('delete from ledger.work_items'));

/** As after an hour. */
const hourLater = () =>
  pool.query(`update ledger.work_items set waiting_since = waiting_since - interval '1 hour'`);

/** An attempt that ends so. */
const attempt = async (outcome: WorkOutcome): Promise<void> => {
  const hands = { kind: PAYMENTS, process: 1 };
  const limits = {
    items: 9,
    ofTenant: 9,
    ofLane: 9,
    underWay: [],
    paused: [],
    narrow: [],
    after: '',
  };
  const [item] = await work.claim({ ...hands, ...limits, leaseMs: HOUR });
  if (item === undefined) throw new Error('nothing is due');
  await work.settle(hands, [{ item, outcome }]);
};

const again = (reason: string, waits = false): WorkOutcome => ({
  kind: 'again',
  after: { ms: 0 },
  reason,
  waits,
});

const waiting = async () => {
  const { waitingPushes, oldestWaitingPushSeconds: oldest } = await tableFigures(pool);
  return { waitingPushes, isLate: oldest > 3_000 };
};

test('a payment that is tried again is as late as its first try', async () => {
  expect(await waiting()).toEqual({ waitingPushes: 0, isLate: false });
  await requestPayment(work, { ...ACCOUNT, dueAt: Date.now() + HOUR });
  expect(await waiting()).toEqual({ waitingPushes: 0, isLate: false });
  await requestPayment(work, { ...ACCOUNT, dueAt: null });
  expect(await waiting()).toEqual({ waitingPushes: 1, isLate: false });
  await hourLater();
  await attempt(again('the provider answered 500'));
  expect(await waiting()).toEqual({ waitingPushes: 1, isLate: true });
  await attempt({ kind: 'done' });
  expect(await waiting()).toEqual({ waitingPushes: 0, isLate: false });
});

test.each([
  ['a subscription', WAITS_FOR.subscription],
  ['the connection of its tenant', WAITS_FOR.connection],
])('a payment that waits for %s is not late, and not behind it either', async (_, reason) => {
  await requestPayment(work, { ...ACCOUNT, dueAt: null });
  await hourLater();
  await attempt(again(reason, true));
  expect(await waiting()).toEqual({ waitingPushes: 0, isLate: false });
  await attempt(again('the provider answered 500'));
  expect(await waiting()).toEqual({ waitingPushes: 1, isLate: false });
});

test('the events of customers that no account has are counted for 30 days', async () => {
  const subject = crypto.randomUUID();
  const addOne = (eventRef: string, days: number) =>
    addWaiting(pool, SCOPE, `of ${eventRef}`, {
      eventRef,
      subject,
      at: Date.now() - days * 24 * HOUR,
    });
  for (const [ref, days] of [
    ['1', 0],
    ['2', 29],
    ['3', 31],
  ] as const)
    await addOne(ref, days);
  expect((await tableFigures(pool)).waitingEvents).toBe(2);
  await markLinked(pool, 'of 1');
  expect((await tableFigures(pool)).waitingEvents).toBe(1);
});
