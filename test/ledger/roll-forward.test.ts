import { AccountPostings, type Posting } from '../../src/bookkeeping/postings.js';
import { faultsOf, RollForwardSums } from '../../src/bookkeeping/roll-forward.js';
import {
  aboutReward,
  credit,
  creditRedeemed,
  erasureRequested,
  rewardCancelled,
} from '../support/account-events.js';
import { entry, grantOf } from './support/entries.js';

const HOUR = 3_600_000;

const sumsOf = (before: readonly Posting[], within: readonly Posting[]) => {
  const sums = new RollForwardSums();
  for (const posting of before) sums.addPosting(posting, 'CENTS', false);
  for (const posting of within) sums.addPosting(posting, 'CENTS', true);
  return sums.result();
};

/** 100 of each in the period: given, spent 30, expired, cancelled, restored, forfeited, waiting. */
function aPeriod(): { readonly before: Posting[]; readonly within: Posting[] } {
  const postings = new AccountPostings();
  const before = postings.post(entry(grantOf('old')));
  const [spent, expired, cancelled, restored] = ['spent', 'expired', 'cancelled', 'restored'].map(
    (id) => grantOf(id),
  ) as [ReturnType<typeof grantOf>, ...ReturnType<typeof grantOf>[]];
  const within = [
    spent,
    creditRedeemed(spent, 'r1', 30, 2_000),
    expired!,
    aboutReward('RewardExpired', expired!, 100, 2_000),
    cancelled!,
    rewardCancelled(cancelled!, 100, 2_000),
    restored!,
    rewardCancelled(restored!, 100, 2_000),
    aboutReward('RewardRestored', restored!, 100, 2_100),
    grantOf('later', { dateScheduledFor: 9_000 }),
  ].flatMap((event) => postings.post(entry(event)));
  return { before: [...before], within };
}

it('each movement is in its own figure, and the figures add up', () => {
  const { before, within } = aPeriod();
  const { units, tooLarge } = sumsOf(before, within);
  expect(tooLarge).toEqual([]);
  expect(units).toMatchObject([
    {
      unit: 'CENTS',
      opening: 100,
      issued: 400,
      redeemed: 30,
      expired: 100,
      cancelled: 200,
      restored: 100,
      closing: 270,
      scheduled: 100,
      debits: 1_030,
      credits: 1_030,
      recordedLate: 0,
      overdue: 0,
    },
  ]);
  expect(units.flatMap(faultsOf)).toEqual([]);
});

it('the trial balance has both sides of each ledger account, since the beginning', () => {
  const { before, within } = aPeriod();
  expect(sumsOf(before, within).units[0]?.trialBalance).toEqual([
    { ledgerAccount: 'programme', debit: 600, credit: 0 },
    { ledgerAccount: 'scheduled', debit: 0, credit: 100 },
    { ledgerAccount: 'available', debit: 330, credit: 600 },
    { ledgerAccount: 'redeemed', debit: 0, credit: 30 },
    { ledgerAccount: 'expired', debit: 0, credit: 100 },
    { ledgerAccount: 'cancelled', debit: 100, credit: 200 },
    { ledgerAccount: 'forfeited', debit: 0, credit: 0 },
  ]);
});

it('credit of forgotten people counts as cancelled; scheduled credit is issued on its date', () => {
  const postings = new AccountPostings();
  const later = grantOf('later', { dateScheduledFor: 5_000 });
  const scheduled = postings.post(entry(later));
  const cameDue = postings.settle(5_000);
  const forfeited = postings.post(entry(erasureRequested([later.person])));
  const moved = (...more: readonly Posting[]) => sumsOf([], [...scheduled, ...more]).units[0];
  expect(moved()).toMatchObject({ issued: 0, cancelled: 0 });
  expect(moved(...cameDue)).toMatchObject({ issued: 100, cancelled: 0 });
  expect(moved(...cameDue, ...forfeited)).toMatchObject({ issued: 100, cancelled: 100 });
});

const lateBy = (ms: number): number | undefined => {
  const postings = new AccountPostings();
  const later = grantOf('w1', { dateScheduledFor: 5_000, dateExpires: 6_000 });
  const within = [
    postings.post(entry(later)),
    postings.post(entry(aboutReward('RewardBecameAvailable', later, 100, 5_000), 5_000 + ms)),
    postings.post(entry(aboutReward('RewardExpired', later, 100, 6_000), 6_000 + ms)),
  ].flat();
  return sumsOf([], within).units[0]?.recordedLate;
};

it('a date is late when it was recorded more than an hour after it', () => {
  expect([lateBy(HOUR), lateBy(HOUR + 1)]).toEqual([0, 2]);
});

it('a posting without a date is never late, and neither is a date without an event', () => {
  const postings = new AccountPostings();
  const event = grantOf('w1', { dateExpires: 6_000 });
  const within = [...postings.post(entry(event, 9 * HOUR)), ...postings.settle(9 * HOUR)];
  expect(within.map(({ type }) => type)).toEqual(['issued', 'expired']);
  expect(sumsOf([], within).units[0]?.recordedLate).toBe(0);
});

const posted = (amount: number, unit: string): Posting[] => [
  ...new AccountPostings().post(entry(grantOf('w1', { value: credit(amount, unit) }))),
];

it('units are in order, each in the first spelling', () => {
  const sums = new RollForwardSums();
  for (const [amount, unit] of [
    [7, 'Points'],
    [3, 'cents'],
    [5, 'POINTS'],
  ] as const)
    for (const posting of posted(amount, unit)) sums.addPosting(posting, unit, true);
  expect(sums.result().units.map(({ unit, issued }) => [unit, issued])).toEqual([
    ['cents', 3],
    ['Points', 12],
  ]);
});

it('units with a sum beyond 2^53 are named and left out, the others are not', () => {
  const sums = new RollForwardSums();
  const largest = Number.MAX_SAFE_INTEGER;
  for (const posting of posted(largest, 'CENTS')) sums.addPosting(posting, 'CENTS', true);
  for (const posting of posted(5, 'POINTS')) sums.addPosting(posting, 'POINTS', true);
  const named = () => {
    const { units, tooLarge } = sums.result();
    return [units.map(({ unit }) => unit), tooLarge];
  };
  expect(named()).toEqual([['CENTS', 'POINTS'], []]);
  for (const posting of posted(1, 'CENTS')) sums.addPosting(posting, 'CENTS', false);
  expect(named()).toEqual([['POINTS'], ['CENTS']]);
});

it('figures that contradict each other are reported with both sides', () => {
  const { before, within } = aPeriod();
  const [figures] = sumsOf(before, within).units;
  expect(faultsOf({ ...figures!, closing: 271 })).toEqual([
    { kind: 'roll-forward', ledger: 270, against: 271 },
  ]);
  expect(faultsOf({ ...figures!, credits: 1 })).toEqual([
    { kind: 'trial-balance', ledger: 1_030, against: 1 },
  ]);
});
