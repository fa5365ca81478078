import { AccountPostings } from '../../src/bookkeeping/postings.js';
import type { AccountEvent, Adjustment } from '../../src/domain/account/account.events.js';
import { personal } from '../../src/domain/personal.js';
import {
  aboutReward,
  credit,
  creditRedeemed,
  discount,
  erasureRequested,
  rewardCancelled,
  accountCreditRedeemed,
  aboutPush,
} from '../support/account-events.js';
import { ANN, BOB, entry, grantOf, rowOf } from './support/entries.js';
import { openForEach } from '../support/opened.js';

/** What each event and each date moves, as docs/ledger.md has it. */

const ADJUSTMENT: Adjustment = {
  reason: personal('staff', 'a mistake'),
  approvedBy: personal('staff', 'fay'),
  by: personal('staff', 'sam'),
};

class Book {
  readonly postings = new AccountPostings();

  rowsOf(...events: readonly AccountEvent[]): readonly string[] {
    return events.map((event) => this.postings.post(entry(event)).map(rowOf)).at(-1) ?? [];
  }

  settle(now: number): readonly string[] {
    return this.postings.settle(now).map(rowOf);
  }

  get available(): object {
    return Object.fromEntries(this.postings.available());
  }
}

const book = openForEach(() => new Book());

const now = grantOf('now');
const later = grantOf('later', { dateScheduledFor: 5_000 });
const takenFromMany = (amount: number, over: object = {}) =>
  accountCreditRedeemed(amount, { at: 6_000, unit: 'Cents', ...over });
const body = personal(BOB.person, { calls: [], done: [] });
const pushStarted = aboutPush('RewardPushStarted', now, { at: 2_000, amount: 100, body });
const refusal = { reason: 'no', done: personal(BOB.person, []) };
const pushRefused = aboutPush('RewardPushRefused', now, { at: 2_100, ...refusal });

it.each<[string, readonly AccountEvent[], readonly string[]]>([
  ['credit that is given', [now], ['issued: programme → available 100']],
  ['credit for a later date', [later], ['scheduled: programme → scheduled 100']],
  [
    'credit whose date has come',
    [later, aboutReward('RewardBecameAvailable', later, 100, 5_000)],
    ['available: scheduled → available 100'],
  ],
  [
    'what is redeemed',
    [now, creditRedeemed(now, 'r1', 30, 2_000)],
    ['redeemed: available → redeemed 30'],
  ],
  [
    'what is redeemed on top',
    [now, creditRedeemed(now, 'r1', 30, 2_000), creditRedeemed(now, 'r2', 40, 2_100)],
    ['redeemed: available → redeemed 40'],
  ],
  [
    'the rest of what expires',
    [now, creditRedeemed(now, 'r1', 30, 2_000), aboutReward('RewardExpired', now, 70, 3_000)],
    ['expired: available → expired 70'],
  ],
  [
    'the rest of what is cancelled',
    [now, creditRedeemed(now, 'r1', 30, 2_000), rewardCancelled(now, 70, 3_000)],
    ['cancelled: available → cancelled 70'],
  ],
  [
    'what is cancelled before its date',
    [later, rewardCancelled(later, 100, 3_000)],
    ['cancelled: scheduled → cancelled 100'],
  ],
  [
    'what is restored',
    [now, rewardCancelled(now, 100, 2_000), aboutReward('RewardRestored', now, 100, 3_000)],
    ['restored: cancelled → available 100'],
  ],
  [
    'what is restored before its date',
    [later, rewardCancelled(later, 100, 2_000), aboutReward('RewardRestored', later, 100, 3_000)],
    ['restored: cancelled → scheduled 100'],
  ],
  [
    'what is redeemed from many, one row a reward, soonest expiry first',
    [now, grantOf('soon', { dateExpires: 9_000 }), takenFromMany(120)],
    ['redeemed: available → redeemed 100', 'redeemed: available → redeemed 20'],
  ],
  [
    'what is redeemed from many at its date, which no event has recorded',
    [later, takenFromMany(60)],
    ['available: scheduled → available 100', 'redeemed: available → redeemed 60'],
  ],
  [
    'nothing of expired, future, automatic, other and cancelled credit that is redeemed from many',
    [
      grantOf('expired', { dateExpires: 6_000 }),
      grantOf('future', { dateScheduledFor: 6_001 }),
      grantOf('automatic', { redeemsAutomatically: true }),
      grantOf('points', { value: credit(100, 'POINTS') }),
      grantOf('hers', { person: ANN.person, owner: ANN.ids }),
      rewardCancelled(now, 100, 2_000),
      takenFromMany(500, { onlyOf: BOB.person }),
    ],
    [],
  ],
  ['nothing of credit that is being paid', [now, pushStarted, takenFromMany(60)], []],
  [
    'credit again that the payment provider refused',
    [now, pushStarted, pushRefused, takenFromMany(60)],
    ['redeemed: available → redeemed 60'],
  ],
  ['nothing for a reward that is not credit', [grantOf('percent', { value: discount(5) })], []],
  ['nothing when a grant is recorded once more', [now, now], []],
  ['nothing for a reward that the log does not have', [rewardCancelled(now, 100, 2_000)], []],
])('an event moves %s', (_name, events, rows) => {
  expect(book.rowsOf(...events)).toEqual(rows);
});

it('an event moves the credit of the forgotten person alone, and once', () => {
  book.rowsOf(now, grantOf('hers', { person: ANN.person, owner: ANN.ids }));
  expect(book.rowsOf(erasureRequested([BOB.person]))).toEqual([
    'forfeited: available → forfeited 100',
  ]);
  expect(book.rowsOf(erasureRequested([BOB.person]))).toEqual([]);
  expect(book.available).toEqual({ cents: 100 });
  expect(book.settle(99_000)).toEqual([]);
});

it('the postings of a correction name its operator', () => {
  const [first] = book.postings.post(entry({ ...now, adjustment: ADJUSTMENT }));
  expect(first?.adjustment).toBe(ADJUSTMENT);
  const fromMany = entry(takenFromMany(50, { adjustment: ADJUSTMENT }));
  expect(book.postings.post(fromMany)[0]?.adjustment).toBe(ADJUSTMENT);
  expect(book.postings.post(entry(takenFromMany(10)))[0]?.adjustment).toBeUndefined();
});

it('each posting names its event, and when it took effect', () => {
  const [posting] = book.postings.post(entry(now, 7_000));
  expect(posting).toMatchObject({
    rewardId: 'now',
    unitKey: 'cents',
    entry: { eventId: 'event-7000', recordedAt: 7_000 },
    effectiveAt: 1_000,
    byClock: false,
  });
  book.rowsOf(later);
  const postings = book.postings.post(entry(takenFromMany(60)));
  expect(postings.map(({ effectiveAt, byClock }) => [effectiveAt, byClock])).toEqual([
    [5_000, false],
    [6_000, false],
  ]);
});

it('a date that no event records makes credit available, and expires its rest, at the dates', () => {
  const later = grantOf('w1', { dateScheduledFor: 5_000, dateExpires: 8_000 });
  book.rowsOf(later);
  expect(book.settle(4_999)).toEqual([]);
  expect(book.available).toEqual({ cents: 0 });
  const [posting] = book.postings.settle(5_000);
  expect(posting).toMatchObject({ byClock: true, effectiveAt: 5_000, entry: { event: later } });
  expect(book.available).toEqual({ cents: 100 });
  book.rowsOf(creditRedeemed(later, 'r1', 30, 6_000));
  expect(book.settle(7_999)).toEqual([]);
  expect(book.settle(8_000)).toEqual(['expired: available → expired 70']);
  expect(book.available).toEqual({ cents: 0 });
});

it('a date that no event records redeems what redeems itself, as its events do', () => {
  const automatic = grantOf('w1', { dateScheduledFor: 5_000, redeemsAutomatically: true });
  book.rowsOf(automatic);
  expect(book.settle(5_000)).toEqual([
    'available: scheduled → available 100',
    'redeemed: available → redeemed 100',
  ]);
  expect(book.rowsOf(aboutReward('RewardBecameAvailable', automatic, 100, 5_100))).toEqual([]);
  expect(book.rowsOf(creditRedeemed(automatic, 'r1', 100, 5_100))).toEqual([]);
  expect(book.available).toEqual({ cents: 0 });
});

it('a date that no event records redeems nothing of what was cancelled before the log had come to it', () => {
  const automatic = grantOf('w1', { dateScheduledFor: 5_000, redeemsAutomatically: true });
  book.rowsOf(automatic);
  book.settle(5_000);
  expect(book.rowsOf(rewardCancelled(automatic, 100, 5_050))).toEqual([
    'cancelled: redeemed → cancelled 100',
  ]);
  expect(book.rowsOf(aboutReward('RewardRestored', automatic, 100, 5_060))).toEqual([
    'restored: cancelled → available 100',
  ]);
});

it('a date that no event records of what was cancelled, or has expired, moves nothing', () => {
  const first = grantOf('w1', { dateScheduledFor: 5_000, dateExpires: 8_000 });
  book.rowsOf(first, rewardCancelled(first, 100, 2_000));
  const second = grantOf('w2', { dateExpires: 8_000 });
  book.rowsOf(second, aboutReward('RewardExpired', second, 100, 7_000));
  expect(book.settle(9_000)).toEqual([]);
});

it('a date that no event records is posted in the order of dates, and of ids at one date, whatever the order of grants', () => {
  for (const [rewardId, dateExpires] of [
    ['w3', 8_000],
    ['w1', 9_000],
    ['w2', 8_000],
    ['w4', 7_000],
  ] as const)
    book.rowsOf(grantOf(rewardId, { dateExpires }));
  expect(book.postings.settle(9_000).map(({ rewardId }) => rewardId)).toEqual([
    'w4',
    'w2',
    'w3',
    'w1',
  ]);
});

it('units of all rewards compare without case and are shown as first spelled', () => {
  book.rowsOf(grantOf('w1', { value: credit(10, 'Points') }));
  book.rowsOf(grantOf('w2', { value: credit(5, 'POINTS') }));
  book.rowsOf(grantOf('w3', { value: credit(7) }));
  expect([...book.postings.units]).toEqual([
    ['points', 'Points'],
    ['cents', 'CENTS'],
  ]);
  expect(book.available).toEqual({ points: 15, cents: 7 });
});

it.each<[string, readonly AccountEvent[], number]>([
  ['a date to become available', [grantOf('w', { dateScheduledFor: 5_000 })], 1],
  ['a date to expire', [grantOf('w', { dateExpires: 5_000 })], 1],
  ['no date', [grantOf('w')], 0],
  ['a date of tomorrow', [grantOf('w', { dateScheduledFor: 6_000, dateExpires: 7_000 })], 0],
  [
    'a date that an event has recorded',
    [
      grantOf('w', { dateScheduledFor: 5_000 }),
      aboutReward('RewardBecameAvailable', grantOf('w'), 100, 5_000),
    ],
    0,
  ],
  [
    'an expiry that an event has recorded',
    [grantOf('w', { dateExpires: 5_000 }), aboutReward('RewardExpired', grantOf('w'), 100, 5_000)],
    0,
  ],
  [
    'a date of what was cancelled',
    [grantOf('w', { dateExpires: 5_000 }), rewardCancelled(grantOf('w'), 100, 2_000)],
    0,
  ],
  [
    'a date of a forgotten person',
    [grantOf('w', { dateExpires: 5_000 }), erasureRequested([BOB.person])],
    0,
  ],
])('a date that has passed without an event is overdue: %s', (_name, events, count) => {
  book.rowsOf(...events);
  expect(book.postings.overdue(5_001)).toHaveLength(count);
  expect(book.postings.overdue(5_000)).toEqual([]);
});
