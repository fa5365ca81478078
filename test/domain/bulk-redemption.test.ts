import { decide, type CompleteCommand } from './support/decisions.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { evolve, type AccountState } from '../../src/domain/account/account.state.js';
import { listedRedemptions } from '../../src/domain/account/rewards/bulk-redemption.js';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import { personal } from '../../src/domain/personal.js';
import {
  accountOpened,
  credit,
  creditRedeemed,
  partyOf,
  rewardGranted,
  userIdentified,
  erasureRequested,
} from '../support/account-events.js';
import { ACME, BOB, fold, NOW, opened } from './support/account-scenario.js';

const MANY = 4_500;
const CAT = partyOf(ACME, 'cat');
const idOf = (index: number): string => `${ACME.accountRef}${String(index).padStart(16, '0')}`;
/** Every tenth is scheduled and due, every fifth is Cat's; the later ones expire first. */
const rewards = Array.from({ length: MANY }, (_, index) =>
  rewardGranted(
    idOf(index),
    index % 5 === 0 ? CAT : BOB,
    credit(10, index === MANY - 1 ? 'Cents' : 'CENTS'),
    {
      at: 1_000 + index,
      dateScheduledFor: index % 10 === 0 ? 9_000 : null,
      dateExpires: NOW + 100_000 - index,
    },
  ),
);
const before = [
  accountOpened(ACME),
  userIdentified(ACME, 'bob'),
  userIdentified(ACME, 'cat'),
  ...rewards,
];
const state = fold(before);
const redeem = (amount: number): CompleteCommand => ({
  type: 'RedeemAccountCredit',
  redemptionId: 'r',
  amount,
  unit: 'cents',
  now: NOW,
});

function eventsOf(decision: ReturnType<typeof decide>): readonly AccountEvent[] {
  if (!('events' in decision)) throw new Error('nothing was decided');
  return decision.events;
}
/** Until everything is written down. */
function listedAfter(from: AccountState): readonly AccountEvent[] {
  const all: AccountEvent[] = [];
  for (let now = from; ;) {
    const events = eventsOf(decide(now, { type: 'ListRedeemedRewards' }));
    if (events.length === 0) return all;
    all.push(...events);
    now = events.reduce<AccountState>(evolve, now);
  }
}

const decided = eventsOf(decide(state, redeem(MANY * 10 - 5)));
const after = decided.reduce<AccountState>(evolve, state);
const rest = listedAfter(after);
const lists = [...decided, ...rest].filter((event) => event.type === 'RedeemedRewardsListed');

it('a redemption of many rewards takes the whole amount in one event, and lists the rewards in further events', () => {
  expect(decided.map(({ type }) => type)).toEqual([
    'AccountCreditRedeemed',
    'RedeemedRewardsListed',
  ]);
  expect(decided[0]).toEqual({
    type: 'AccountCreditRedeemed',
    at: NOW,
    redemptionId: 'r',
    unit: 'Cents',
    amount: MANY * 10 - 5,
    onlyOf: null,
    rewards: MANY,
    owners: [
      [BOB.person, MANY * 8],
      [CAT.person, MANY * 2 - 5],
    ],
  });
  expect(availableCredit(opened(after), 'CENTS', NOW)).toBe(5);
  expect(lists.map(({ from, lines }) => [from, lines.length])).toEqual([
    [0, 2_000],
    [2_000, 2_000],
    [4_000, 500],
  ]);
  const listed = lists.flatMap(listedRedemptions);
  // Soonest expiry first: the last one given is the first one taken, and half of the very last is
  // left.
  expect(listed.map(({ rewardId }) => rewardId)).toEqual(
    rewards.map(({ rewardId }) => rewardId).reverse(),
  );
  expect(listed.map(({ amount }) => amount)).toEqual([
    ...Array.from({ length: MANY - 1 }, () => 10),
    5,
  ]);
  expect(listed[1]).toEqual({
    rewardId: idOf(MANY - 2),
    person: BOB.person,
    redemptionId: 'r-1',
    amount: 10,
    at: NOW,
  });
  for (const event of lists) expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(200_000);
});

it('a list changes no decision, and no reward is listed twice', () => {
  const end = rest.reduce<AccountState>(evolve, after);
  expect(end.remains.unlisted.size).toBe(0);
  expect(opened(end).rewards).toBe(opened(after).rewards);
  expect(decide(end, { type: 'ListRedeemedRewards' })).toEqual({ events: [] });
  // The same piece by two processes: the second one is late.
  expect(
    rest.flatMap((event) => [event, event]).reduce<AccountState>(evolve, after).remains.unlisted
      .size,
  ).toBe(0);
});

it('a redemption of many rewards continues its list when the account is deleted in between', () => {
  const erased = erasureRequested([BOB.person, CAT.person], { account: ACME.accountRef });
  expect(listedAfter(evolve(after, erased))).toEqual(rest);
});

it('a redemption is listed after the earlier ones, so a replay in between agrees with the read models', () => {
  const more = Array.from({ length: 200 }, (_, index) =>
    rewardGranted(idOf(MANY + index), BOB, credit(5), { at: NOW }),
  );
  const rich = more.reduce<AccountState>(evolve, after);
  // The first one left half of a scheduled reward.
  const next = eventsOf(
    decide(rich, {
      type: 'RedeemAccountCredit',
      redemptionId: 's',
      amount: 1_005,
      unit: 'cents',
      now: NOW,
    }),
  );
  expect(next.map(({ type }) => type)).toEqual(['AccountCreditRedeemed']);
  const listed = listedAfter(next.reduce<AccountState>(evolve, rich));
  expect(
    listed.map((event) => event.type === 'RedeemedRewardsListed' && event.redemptionId),
  ).toEqual(['r', 'r', 's']);
});

it('a redemption of many rewards is all or nothing, and few rewards have an event each as before', () => {
  expect(decide(state, redeem(MANY * 10 + 1))).toMatchObject({
    refused: 'REDEMPTION_NOT_POSSIBLE',
  });
  expect(
    eventsOf(decide(state, redeem(1_000))).filter(({ type }) => type === 'CreditRedeemed'),
  ).toHaveLength(100);
  expect(eventsOf(decide(state, redeem(1_001)))[0]).toMatchObject({
    type: 'AccountCreditRedeemed',
    rewards: 101,
  });
  expect(eventsOf(decide(state, redeem(1)))).toEqual([
    creditRedeemed(rewards.at(-1) ?? rewardGranted('', BOB, credit(1)), 'r-0', 1, NOW),
  ]);
});

it('corrections take from one person, with the approver in the event', () => {
  const names = { approvedBy: personal('staff', 'eve'), by: personal('staff', 'dan') };
  const adjust = {
    type: 'AdjustCredit',
    userId: 'cat',
    unit: 'CENTS',
    amount: -2_000,
    reason: 'r',
    ...names,
  } as const;
  const events = eventsOf(
    decide(state, { ...adjust, rewardId: 'adjusted', redemptionId: 'a', now: NOW }),
  );
  expect(events[0]).toMatchObject({
    type: 'AccountCreditRedeemed',
    onlyOf: CAT.person,
    rewards: 200,
    adjustment: names,
  });
  expect(
    events.flatMap((event) => (event.type === 'RedeemedRewardsListed' ? event.persons : [])),
  ).toEqual([CAT.person]);
});
