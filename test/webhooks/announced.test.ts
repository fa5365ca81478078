import type { AccountEvent } from '../../src/domain/account/account.events.js';
import {
  announcedBy,
  announcedByEach,
  WEBHOOK_TYPES,
} from '../../src/webhooks/payloads/announced.js';
import { ACCOUNT_EVENT_TYPES } from '../properties/support/account-events-of-any-kind.js';
import { EVENT_EXAMPLES } from '../event-log/support/event-examples.js';

const BALANCE = 'user.reward.balance.changed';

/** What the example of each type announces; that of another type announces nothing. */
const ANNOUNCED: Readonly<Partial<Record<AccountEvent['type'], readonly string[]>>> = {
  UserIdentified: ['user.created'],
  ReferralCodeAssigned: ['coupon.created'],
  ReferralStarted: ['referral.started', 'referral.automoderation.complete'],
  ReferralConverted: ['referral.converted'],
  ReferralEnded: ['referral.ended'],
  ReferralFlagged: ['referral.automoderation.complete'],
  RewardGranted: ['reward.created', BALANCE],
  RewardBecameAvailable: [BALANCE],
  RewardExpired: [BALANCE],
  CreditRedeemed: [BALANCE],
  RedeemedRewardsListed: [BALANCE],
  RewardCancelled: [BALANCE],
  RewardRestored: [BALANCE],
};

const typesOf = (event: AccountEvent): string[] => announcedBy(event).map(({ type }) => type);
const { RewardGranted, RewardExpired, CreditRedeemed, ReferralStarted, RedeemedRewardsListed } =
  EVENT_EXAMPLES;

const EVENTS = ACCOUNT_EVENT_TYPES.map((type): AccountEvent => EVENT_EXAMPLES[type]);

test.each(EVENTS.map((event) => [event.type, event] as const))('%s', (type, event) => {
  // A list may name several people, each of them once.
  expect([...new Set(typesOf(event))]).toEqual(ANNOUNCED[type] ?? []);
  const all = announcedBy(event).map((one) => JSON.stringify(one));
  expect(new Set(all).size).toBe(all.length);
  for (const one of announcedBy(event)) expect(WEBHOOK_TYPES).toContain(one.type);
});

test('subjects are ids of the service: nothing that a client chose, nothing personal', () => {
  const subjects = EVENTS.flatMap((event) => announcedBy(event)).flatMap(({ subject }) =>
    Object.values(subject),
  );
  expect(subjects.length).toBeGreaterThan(0);
  for (const id of subjects) expect(id).toMatch(/^[0-9a-f]{48}$|^[0-9a-f-]{36}$/);
});

test('a referral without a signal announces its start alone', () => {
  expect(typesOf({ ...ReferralStarted, fraudSignals: {} })).toEqual(['referral.started']);
});

test('only credit has a balance to announce, and only where an amount moved', () => {
  const percent = {
    type: 'PCT_DISCOUNT',
    discountPercent: 10,
    monthsDiscountIsValid: null,
  } as const;
  expect(typesOf({ ...RewardGranted, value: percent })).toEqual(['reward.created']);
  expect(typesOf({ ...RewardExpired, amount: 0 })).toEqual([]);
});

const PEOPLE = ['0b000000-0000-4000-8000-00000000000a', '0b000000-0000-4000-8000-00000000000b'];
const redeemed = (person = PEOPLE[0], unit = 'CENTS', commandId = 'one', stream = 's') => ({
  stream,
  commandId,
  event: { ...CreditRedeemed, person: person ?? '', unit },
});

test('in one append the last change of a balance is announced', () => {
  const granted = { stream: 's', commandId: 'one', event: RewardGranted };
  const own = redeemed(
    RewardGranted.person,
    RewardGranted.value.type === 'CREDIT' ? RewardGranted.value.unit : '',
  );
  expect(announcedByEach([granted, own]).map((all) => all.map(({ type }) => type))).toEqual([
    ['reward.created'],
    [BALANCE],
  ]);
});

test('in one append units are compared without case, people and units are apart', () => {
  const events = [
    redeemed(PEOPLE[0], 'cents'),
    redeemed(PEOPLE[1]),
    redeemed(PEOPLE[0], 'POINTS'),
    redeemed(PEOPLE[0], 'CENTS'),
  ];
  expect(announcedByEach(events).map((all) => all.length)).toEqual([0, 1, 1, 1]);
});

test('other appends, and other streams under the same command, are announced on their own', () => {
  const events = [
    redeemed(),
    redeemed(PEOPLE[0], 'CENTS', 'two'),
    redeemed(PEOPLE[0], 'CENTS', 'two', 'other'),
    redeemed(),
  ];
  expect(announcedByEach(events).map((all) => all.length)).toEqual([1, 1, 1, 1]);
});

test('in one append a list announces those of its people who are not in a later one', () => {
  const listed = (persons: readonly string[]) => ({
    stream: 's',
    commandId: 'one',
    event: { ...RedeemedRewardsListed, persons },
  });
  expect(
    announcedByEach([listed(PEOPLE), listed(PEOPLE.slice(1))]).map((all) =>
      all.map(({ subject }) => subject['person']),
    ),
  ).toEqual([[PEOPLE[0]], [PEOPLE[1]]]);
});
