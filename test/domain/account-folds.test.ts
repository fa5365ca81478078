import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { withheldKey } from '../../src/domain/account/rewards/rule-counts.js';
import { REFERRED_RULE, REFERRER_RULE } from '../../src/domain/program.js';
import { erasureCompleted, erasureRequested, referralStarted } from '../support/account-events.js';
import { ACME, ANN, BOB, fold, given, NOW, HERE } from './support/account-scenario.js';

const lapsed: AccountEvent = {
  type: 'ReservationLapsed',
  at: 5,
  kind: 'referral-code',
  holder: null,
};
const DELETED = [
  erasureRequested([BOB.person], { account: ACME.accountRef }),
  erasureCompleted([BOB.person], { account: ACME.accountRef }),
];

it('lapses are counted before the account is open, while it is, and after its deletion', () => {
  expect(fold([lapsed])).toMatchObject({ status: 'absent', remains: { lapses: 1 } });
  expect(fold([lapsed, ...HERE, lapsed])).toMatchObject({ status: 'open', remains: { lapses: 2 } });
  expect(fold([...HERE, lapsed, ...DELETED, lapsed])).toMatchObject({
    status: 'absent',
    remains: { lapses: 2 },
  });
});

const key = (rewardId: string, referralId: string | null, rule: string) =>
  withheldKey({ rewardId, referralId, rule });

it('a reward that was withheld of a side of a referral is withheld under any id', () => {
  expect(key('w1', 'r', REFERRED_RULE)).toBe(key('w2', 'r', REFERRED_RULE));
  expect(key('w1', 'r', REFERRER_RULE)).toBe(key('w2', 'r', REFERRER_RULE));
  const keys = [
    key('w1', 'r', REFERRED_RULE),
    key('w1', 'r', REFERRER_RULE),
    key('w1', 'other', REFERRED_RULE),
    key('w1', 'r', 'eventRewards/USER/buy'),
    key('w2', 'r', 'eventRewards/USER/buy'),
    key('w3', null, REFERRED_RULE),
    key('w4', null, REFERRED_RULE),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

const flag = { type: 'FlagReferral', referralId: 'referral', now: NOW } as const;
const flagged: AccountEvent = {
  type: 'ReferralFlagged',
  at: 7,
  referralId: 'referral',
  fraudSignals: { rate: { message: 'm', score: 1 } },
};
const types = (...events: readonly AccountEvent[]) => given(events).when(flag).types();

it('a flag changes nothing without its referral or account', () => {
  expect(types()).toEqual([]);
  expect(types(...HERE, ...DELETED)).toEqual([]);
});

it('a referral of a deleted account is flagged once', () => {
  const started = referralStarted('referral', BOB, ANN);
  expect(types(...HERE, started, ...DELETED)).toEqual(['ReferralFlagged']);
  expect(types(...HERE, started, ...DELETED, flagged)).toEqual([]);
});
