import { shownReward, type DatedReward } from '../../src/domain/account/rewards/shown-state.js';

const CREDIT: DatedReward = {
  granted: 500,
  redeemed: 0,
  redeemsAutomatically: false,
  dateScheduledFor: null,
  dateExpires: null,
  dateCancelled: null,
};
const NOW = 10_000;
const PAST = { dateExpires: NOW };

test.each<[string, Partial<DatedReward>, string, number | null]>([
  ['with nothing redeemed', {}, 'Available', 500],
  ['with a part redeemed', { redeemed: 200 }, 'Partly redeemed', 300],
  ['with nothing left', { redeemed: 500 }, 'Redeemed', 0],
  ['with nothing left, after its expiry', { redeemed: 500, ...PAST }, 'Redeemed', 0],
  ['with a rest, at its expiry', { redeemed: 200, ...PAST }, 'Expired', 0],
  ['before its expiry', { dateExpires: NOW + 1 }, 'Available', 500],
  ['before its date', { dateScheduledFor: NOW + 1 }, 'Pending', 500],
  ['at its date', { dateScheduledFor: NOW }, 'Available', 500],
  ['cancelled after a part was redeemed', { redeemed: 200, dateCancelled: 9_000 }, 'Cancelled', 0],
  ['cancelled before its date', { dateScheduledFor: NOW + 1, dateCancelled: 1 }, 'Cancelled', 0],
  [
    'paid automatically at its date',
    { redeemsAutomatically: true, dateScheduledFor: NOW },
    'Redeemed',
    0,
  ],
  [
    'paid automatically later',
    { redeemsAutomatically: true, dateScheduledFor: NOW + 1 },
    'Pending',
    500,
  ],
])('a credit reward %s', (_, over, state, left) => {
  expect(shownReward({ ...CREDIT, ...over }, NOW)).toMatchObject({ state, left });
});

test('a reward that is no credit is never redeemed, and has nothing left to show', () => {
  const discount = { ...CREDIT, granted: null, redeemed: null };
  expect(shownReward(discount, NOW)).toEqual({ state: 'Available', redeemed: null, left: null });
  expect(shownReward({ ...discount, ...PAST }, NOW).state).toBe('Expired');
});
