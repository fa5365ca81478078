import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { withheldKey } from '../../src/domain/account/rule-counts.js';
import { REFERRED_RULE, REFERRER_RULE } from '../../src/domain/program.js';
import {
  accountOpened,
  credit,
  erasureCompleted,
  erasureRequested,
  referralStarted,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import { ACME, ANN, BOB, fold, given, NOW, opened } from './support/account-scenario.js';

/** What the fold of an account makes of events that come at unusual moments, or again. */

const HERE = [accountOpened(ACME), userIdentified(ACME, 'bob')];
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

it('who wants no mails is known by it', () => {
  const wish: AccountEvent = { type: 'MailsUnsubscribed', at: 5, person: BOB.person };
  expect(opened(fold([...HERE, wish])).users.get(BOB.person)).toMatchObject({
    wantsNoMails: true,
    profile: { id: 'bob' },
  });
});

it('an erasure forgets the persons, and the account when it says so', () => {
  const remains = (account: string | null) => {
    const { forgotten } = fold([...HERE, erasureRequested([BOB.person], { account })]).remains;
    return [...forgotten].sort();
  };
  expect(remains(null)).toEqual([BOB.person]);
  expect(remains(ACME.accountRef)).toEqual([ACME.accountRef, BOB.person].sort());
});

it('a reward that stays in the ledger names nobody who pays it', () => {
  const [kept, paid] = [
    rewardGranted('w1', BOB, credit(5)),
    rewardGranted('w2', BOB, credit(5), { payTo: 'provider' }),
  ];
  const { rewards, toPush } = opened(fold([...HERE, kept, paid]));
  expect([rewards.get('w1'), rewards.get('w2')]).toMatchObject([{}, { payTo: 'provider' }]);
  expect(rewards.get('w1')).not.toHaveProperty('payTo');
  expect([...toPush]).toEqual(['w2']);
});

const key = (rewardId: string, referralId: string | null, rule: string) =>
  withheldKey({ rewardId, referralId, rule });

it('what was withheld of a side of a referral is so under any id of the reward', () => {
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

it('a referral that is flagged is so once, also before it starts', () => {
  expect(types(...HERE)).toEqual(['ReferralFlagged']);
  expect(types(...HERE, flagged)).toEqual([]);
  const started = referralStarted('referral', BOB, ANN);
  expect(types(...HERE, started)).toEqual(['ReferralFlagged']);
  expect(types(...HERE, started, flagged)).toEqual([]);
});

it('a referral that is flagged is not, where neither it nor the account is there', () => {
  expect(types()).toEqual([]);
  expect(types(...HERE, ...DELETED)).toEqual([]);
});

it('a referral that is flagged is so in a deleted account that has had it, once', () => {
  const started = referralStarted('referral', BOB, ANN);
  expect(types(...HERE, started, ...DELETED)).toEqual(['ReferralFlagged']);
  expect(types(...HERE, started, ...DELETED, flagged)).toEqual([]);
});
