import type pg from 'pg';
import type { AccountRef } from '../../src/domain/scope.js';
import { addWaiting, markLinked } from '../../src/payments/incoming/payment-rows.js';
import {
  askForWork,
  PostgresPaymentWork,
  WAITS_FOR,
} from '../../src/payments/outgoing/payment-work.js';
import { figuresInTables } from '../../src/payments/payment-figures.js';
import { useDatabase } from '../support/database.js';

/** What metrics and health show of payments beside the log. */

const HOUR = 3_600_000;
const SCOPE = { tenant: 'a', mode: 'live' } as const;
const ACCOUNT = { ...SCOPE, account: 'acc' as AccountRef };

let pool: pg.Pool;
let work: PostgresPaymentWork;

useDatabase(2, (opened) => {
  pool = opened;
  work = new PostgresPaymentWork(pool, { id: 1 });
});
beforeEach(() => pool.query('delete from ledger.payment_work'));

/** As after an hour. */
const hourLater = () =>
  pool.query(`update ledger.payment_work set waiting_since = waiting_since - interval '1 hour'`);

const claimed = async () => {
  const room = { accounts: 9, ofTenant: 9, underWay: [], paused: [], after: '' };
  const [one] = await work.claim(room);
  if (one === undefined) throw new Error('nothing is due');
  return one;
};

const later = (reason: string) =>
  ({ kind: 'later', after: { ms: 0 }, failures: 1, reason, retriesParked: false }) as const;

const waiting = async () => {
  const { waitingPushes, oldestWaitingPushSeconds: oldest } = await figuresInTables(pool);
  return { waitingPushes, isLate: oldest > 3_000 };
};

test('a payment that is tried again is as late as its first try', async () => {
  expect(await waiting()).toEqual({ waitingPushes: 0, isLate: false });
  await askForWork(pool, { ...ACCOUNT, dueAt: Date.now() + HOUR });
  expect(await waiting()).toEqual({ waitingPushes: 0, isLate: false });
  await askForWork(pool, { ...ACCOUNT, dueAt: null });
  expect(await waiting()).toEqual({ waitingPushes: 1, isLate: false });
  await hourLater();
  await work.release(await claimed(), later('the provider answered 500'));
  expect(await waiting()).toEqual({ waitingPushes: 1, isLate: true });
  await work.release(await claimed(), { kind: 'none' });
  expect(await waiting()).toEqual({ waitingPushes: 0, isLate: false });
});

test.each([
  ['a subscription', WAITS_FOR.subscription],
  ['the connection of its tenant', WAITS_FOR.connection],
])('what waits for %s is not late, and not behind it either', async (_, reason) => {
  await askForWork(pool, { ...ACCOUNT, dueAt: null });
  await hourLater();
  await work.release(await claimed(), later(reason));
  await hourLater();
  expect(await waiting()).toEqual({ waitingPushes: 0, isLate: false });
  await work.release(await claimed(), later('the provider answered 500'));
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
  expect((await figuresInTables(pool)).waitingEvents).toBe(2);
  await markLinked(pool, 'of 1');
  expect((await figuresInTables(pool)).waitingEvents).toBe(1);
});
