import type { AccountEvent, AccountEventOf } from '../../src/domain/account/account.events.js';
import { duePushes, shownPushes } from '../../src/domain/account/provider/reward-push.js';
import { personal } from '../../src/domain/personal.js';
import {
  accountOpened,
  credit,
  discount,
  erasureCompleted,
  erasureRequested,
  refOf,
  rewardCancelled,
  rewardGranted,
  userIdentified,
  paymentProviderIdSet,
  aboutPush,
} from '../support/account-events.js';
import { ACME, BOB, fold, NOW, opened } from './support/account-scenario.js';

const SUBJECT = ACME.accountRef;
const LINKED: readonly AccountEvent[] = [
  accountOpened(ACME),
  userIdentified(ACME, 'bob'),
  paymentProviderIdSet(ACME, 'cus_1'),
];
type Granted = AccountEventOf<'RewardGranted'>;
const granted = (rewardId: string, over: Partial<Granted> = {}): Granted =>
  rewardGranted(rewardId, BOB, credit(500), { at: 100, payTo: 'provider', ...over });
const CALL = {
  kind: 'BALANCE_CREDIT',
  key: 'reward:r',
  customer: 'cus_1',
  amount: 500,
  currency: 'USD',
} as const;

const started = (of: Granted, over: Partial<AccountEventOf<'RewardPushStarted'>> = {}) =>
  aboutPush('RewardPushStarted', of, {
    at: 200,
    amount: 500,
    body: personal(SUBJECT, { calls: [CALL], done: ['sub_1'] }),
    ...over,
  });
const pushed = (of: Granted, value: string | null = 'cbtxn_1', push = 1) =>
  aboutPush('RewardPushed', of, { at: 300, push, reference: { subject: SUBJECT, value } });
const refused = (of: Granted, over: Partial<AccountEventOf<'RewardPushRefused'>> = {}) =>
  aboutPush('RewardPushRefused', of, {
    at: 300,
    reason: 'no',
    done: personal(SUBJECT, []),
    ...over,
  });

const stateOf = (...events: readonly AccountEvent[]) => opened(fold([...LINKED, ...events]));
const R = granted('r');

it('an outcome of a payment of a deleted account is recorded once, and no other one', () => {
  const other = granted('other');
  expect([...fold(EVENTS).remains.pushing]).toEqual([
    ['r', { reward: refOf(R), subject: SUBJECT, push: 1, at: 200, amount: 500 }],
  ]);
  const after = (event: AccountEvent) => [...fold([...EVENTS, event]).remains.pushing.keys()];
  expect(after(pushed(R))).toEqual([]);
  expect(after(refused(R))).toEqual([]);
  expect(after(pushed(other))).toEqual(['r']);
  expect(after(rewardCancelled(R, 500, 400))).toEqual(['r']);
});
const EVENTS: readonly AccountEvent[] = [
  ...LINKED,
  R,
  granted('other'),
  started(R),
  erasureRequested([BOB.person], { account: SUBJECT }),
  erasureCompleted([BOB.person], { account: SUBJECT }),
];

const due = (events: readonly AccountEvent[], retriesParked = false, now = NOW) => {
  const { rewards, nextAt } = duePushes(fold(events), { now, retriesParked });
  return [rewards.map(({ rewardId }) => rewardId), nextAt];
};
const of = (...events: readonly AccountEvent[]) => [...LINKED, ...events];

it('an absent account, or one without a customer, has no due reward', () => {
  expect(due([])).toEqual([[], null]);
  expect(due([accountOpened(ACME), userIdentified(ACME, 'bob'), R])).toEqual([[], null]);
});

it('available rewards are due: those under way first, then the oldest, then by id', () => {
  const [a, b, c] = [granted('c', { at: 90 }), granted('b'), granted('a')];
  expect(due(of(b, c, a))).toEqual([['c', 'a', 'b'], null]);
  expect(due(of(c, b, a))).toEqual([['c', 'a', 'b'], null]);
  expect(due(of(b, c, a, started(b)))).toEqual([['b', 'c', 'a'], null]);
});

it('a scheduled reward is due at its date, and the next date is known', () => {
  const [soon, late] = [
    granted('soon', { dateScheduledFor: NOW + 5 }),
    granted('late', { dateScheduledFor: NOW + 9 }),
  ];
  expect(due(of(late, soon, R))).toEqual([['r'], NOW + 5]);
  expect(due(of(late, soon), false, NOW + 5)).toEqual([['soon'], NOW + 9]);
  expect(due(of(late, soon), false, NOW + 9)).toEqual([['late', 'soon'], null]);
});

it('an expired or cancelled reward is not due', () => {
  const expiring = granted('r', { dateExpires: NOW });
  expect(due(of(expiring))).toEqual([[], null]);
  expect(due(of(expiring), false, NOW - 1)).toEqual([['r'], null]);
  expect(due(of(expiring, started(expiring)))).toEqual([['r'], null]);
  expect(due(of(R, rewardCancelled(R, 500, 150)))).toEqual([[], null]);
});

it('a discount is not due while one that may exist is not looked for; credit is', () => {
  const unsure = granted('r', { value: discount(10) });
  const other = granted('other', { value: discount(5) });
  const events = of(
    unsure,
    other,
    granted('credit'),
    started(unsure),
    refused(unsure, { mayBePaid: true }),
  );
  expect(due(events)).toEqual([['credit'], null]);
  expect(due(events, true)).toEqual([['r', 'credit', 'other'], null]);
});

const shown = (...events: readonly AccountEvent[]) =>
  shownPushes(stateOf(...events)).map(({ rewardId, state }) => [rewardId, state]);

it('the rewards that the provider pays are shown oldest first', () => {
  expect(
    shown(
      granted('b'),
      rewardGranted('kept', BOB, credit(5)),
      granted('a'),
      granted('c', { at: 9 }),
    ),
  ).toEqual([
    ['c', 'WAITING'],
    ['a', 'WAITING'],
    ['b', 'WAITING'],
  ]);
});

it('rewards that were cancelled or expired unpaid, and those of the forgotten, are not shown', () => {
  const expired: AccountEvent = { type: 'RewardExpired', at: 400, ...refOf(R), amount: 500 };
  expect(shown(R, expired)).toEqual([]);
  expect(shown(R, rewardCancelled(R, 500, 400))).toEqual([]);
  expect(shown(R, started(R), pushed(R), rewardCancelled(R, 0, 400))).toEqual([['r', 'PUSHED']]);
  expect(shown(userIdentified(ACME, 'eve'), R, erasureRequested([BOB.person]))).toEqual([]);
});

it('a shown reward has the id of its payment, or the reason', () => {
  const [one] = shownPushes(
    stateOf(R, started(R), refused(R, { reference: personal(SUBJECT, 'di_1') })),
  );
  expect(one).toStrictEqual({
    rewardId: 'r',
    state: 'PARKED',
    externalReference: null,
    reason: 'no',
  });
  expect(shownPushes(stateOf(R, started(R), pushed(R)))).toStrictEqual([
    { rewardId: 'r', state: 'PUSHED', externalReference: 'cbtxn_1', reason: null },
  ]);
});
