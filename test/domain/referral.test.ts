import type {
  AccountEvent,
  Subscription,
  Profile,
} from '../../src/domain/account/account.events.js';
import type { ReferralContext } from '../../src/domain/account/referral/referral.js';
import {
  accountAttributed,
  accountOpened,
  credit,
  discount,
  partyOf,
  referralConverted,
  rewardGranted,
  rewardWithheld,
  subscriptionChanged,
  userIdentified,
  referralStarted,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  annsCode,
  annStands,
  aProgram,
  BLOCKED,
  BOB,
  given,
  noCode,
  NOW,
  OF_REFERRAL,
  startedNow,
  startReward,
  TEN_DOLLARS,
  terms,
  A_FRIEND,
  ANNS,
  announced,
  opened,
} from './support/account-scenario.js';
import { PAID, syncAccount, upsertUser } from './support/commands.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import {
  findSimilarities,
  type ComparedProfile,
} from '../../src/domain/account/referral/fraud-signals.js';
import type { FraudHandling, Program, SideStatus } from '../../src/domain/program.js';

const CANCELLED: Subscription = { status: 'CANCELLED' };

const sync = (subscription: Subscription, context: ReferralContext = annStands()) =>
  syncAccount(subscription, { context });
const upsert = (userId: string, context: ReferralContext = annStands(), changes = {}) =>
  upsertUser(userId, { context, changes });

const here = [accountOpened(ACME), subscriptionChanged({ status: 'TRIAL' })];
const attributed = accountAttributed('ANNLEE', ANN);
const bob = userIdentified(ACME, 'bob', { email: null });

const started = (over = {}) => startedNow({ at: 2_000, ...over });
const convertedNow = (over = {}) =>
  referralConverted('referral', ANN, { at: NOW, referrerReward: TEN_DOLLARS, ...over });

it('the start happens with the first user of an attributed account', () => {
  given(here, attributed)
    .when(upsert('bob'))
    .then({ ...bob, at: NOW }, startedNow(), startReward());
});

it('the start skips users who are not referable', () => {
  const eve = userIdentified(ACME, 'eve', { email: null, referable: false });
  given(here, attributed)
    .when(upsert('eve', annStands(), { referable: false }))
    .then({ ...eve, at: NOW });
  given(here, attributed, eve)
    .when(upsert('bob'))
    .then({ ...bob, at: NOW }, startedNow(), startReward());
});

it('the start happens when a user becomes referable', () => {
  const changed = {
    type: 'UserProfileChanged',
    at: NOW,
    person: BOB.person,
    changes: { subject: BOB.person, value: { referable: true } },
  } as const;
  given(here, attributed, userIdentified(ACME, 'bob', { referable: false }))
    .when(upsert('bob', annStands(), { referable: true }))
    .then(changed, startedNow(), startReward());
});

it("the start happens with a code in an existing user's update, and refers that user", () => {
  const cat = partyOf(ACME, 'cat');
  const { decision } = given(here, bob, userIdentified(ACME, 'cat')).when(
    upsert('cat', annsCode()),
  );
  expect('events' in decision && decision.events.slice(0, 2)).toEqual([
    { ...attributed, at: NOW },
    startedNow({ referred: cat }),
  ]);
});

it('the start happens with a code for an account with users, and refers the first of them', () => {
  given(here, bob, userIdentified(ACME, 'cat'))
    .when(sync({ status: 'TRIAL' }, annsCode()))
    .then({ ...attributed, at: NOW }, startedNow(), startReward());
});

it('the start does not happen for a user who is not referable; nothing is recorded, a later code still counts', () => {
  const eve = userIdentified(ACME, 'eve', { email: null, referable: false });
  given(here)
    .when(upsert('eve', annsCode(), { referable: false }))
    .then({ ...eve, at: NOW });
  given(here, eve)
    .when(upsert('bob', annsCode()))
    .then({ ...bob, at: NOW }, { ...attributed, at: NOW }, startedNow(), startReward());
});

it('the start does not happen when the referrer was deleted meanwhile', () => {
  given(here, attributed)
    .when(upsert('bob', annStands({ referrer: null })))
    .then({ ...bob, at: NOW });
});

it("the start earns the program's rewards of that moment, for the referrer too", () => {
  const program = aProgram({
    version: 7,
    referredReward: null,
    referrerReward: terms(credit(5)),
  });
  given(here, attributed)
    .when(upsert('bob', annStands({ program })))
    .then(
      { ...bob, at: NOW },
      startedNow({ programVersion: 7, referredReward: null, referrerReward: terms(credit(5)) }),
    );
});

it('the start earns nothing yet for a side that waits for approval, but records what it earned', () => {
  const program = aProgram({ moderation: { referred: 'PENDING', referrer: 'PENDING' } });
  given(here, attributed)
    .when(upsert('bob', annStands({ program })))
    .then(
      { ...bob, at: NOW },
      startedNow({ referredStatus: 'PENDING', referrerStatus: 'PENDING' }),
    );
});

it('the start has both sides denied for a blocked user’s code in the body', () => {
  given(here)
    .when(upsert('bob', annsCode({ referrer: BLOCKED })))
    .then(
      { ...bob, at: NOW },
      { ...attributed, at: NOW },
      startedNow({ referredStatus: 'DENIED', referrerStatus: 'DENIED' }),
    );
});

it('the start sets the dates of a delayed and expiring reward', () => {
  const day = 86_400_000;
  const referredReward = terms(discount(10), { delayDays: 2, validDays: 30 });
  const { decision } = given(here, attributed).when(
    upsert('bob', annStands({ program: aProgram({ referredReward }) })),
  );
  expect('events' in decision && decision.events[2]).toMatchObject({
    dateScheduledFor: NOW + 2 * day,
    dateExpires: NOW + 32 * day,
  });
});

const running = [...here, attributed, bob, started()];

it('the conversion happens with the first PAID', () => {
  given(running).when(sync(PAID)).then(subscriptionChanged(PAID, NOW), convertedNow());
});

it('the conversion does not happen twice', () => {
  const converted = [...running, subscriptionChanged(PAID), convertedNow({ at: 3_000 })];
  given(converted).when(sync(PAID)).then();
  given(converted)
    .when(sync({ ...PAID, value: 10 }))
    .then(subscriptionChanged({ ...PAID, value: 10 }, NOW));
  given(converted, subscriptionChanged(CANCELLED))
    .when(sync(PAID))
    .then(subscriptionChanged(PAID, NOW));
  given(converted)
    .when(upsert('cat'))
    .then(userIdentified(ACME, 'cat', { email: null }, NOW));
});

it('the conversion happens in one call after the code and the user’s start', () => {
  given(here, bob)
    .when(sync(PAID, annsCode()))
    .then(
      { ...attributed, at: NOW },
      subscriptionChanged(PAID, NOW),
      startedNow(),
      startReward(),
      convertedNow(),
    );
});

it('the conversion happens with the first user when the account paid before', () => {
  given(here, attributed, subscriptionChanged(PAID))
    .when(upsert('bob'))
    .then({ ...bob, at: NOW }, startedNow(), startReward(), convertedNow());
});

it('the conversion never happens for an account that was not referred', () => {
  given(here, bob).when(sync(PAID, noCode())).then(subscriptionChanged(PAID, NOW));
});

it('the conversion denies the side of a referrer who was blocked meanwhile, and records what it would have earned', () => {
  given(running)
    .when(sync(PAID, annStands({ referrer: BLOCKED })))
    .then(subscriptionChanged(PAID, NOW), convertedNow({ referrerStatus: 'DENIED' }));
});

it('the conversion happens for a deleted referrer', () => {
  given(running)
    .when(sync(PAID, annStands({ referrer: null })))
    .then(subscriptionChanged(PAID, NOW), convertedNow());
});

it('the conversion keeps the statuses of the sides and still counts while they wait', () => {
  const waiting = [
    ...here,
    attributed,
    bob,
    started({ referredStatus: 'PENDING', referrerStatus: 'DENIED' }),
  ];
  given(waiting)
    .when(sync(PAID))
    .then(
      subscriptionChanged(PAID, NOW),
      convertedNow({ referredStatus: 'PENDING', referrerStatus: 'DENIED' }),
    );
});

it('the conversion grants the referred side what the conversion earns', () => {
  const program = aProgram({
    referredReward: terms(credit(500), { when: 'CONVERTED' }),
    referrerReward: null,
  });
  given(here, attributed, bob, started({ referredReward: null }))
    .when(sync(PAID, annStands({ program })))
    .then(
      subscriptionChanged(PAID, NOW),
      convertedNow({ referredReward: program.referredReward, referrerReward: null }),
      rewardGranted('reward-of-conversion', BOB, credit(500), { at: NOW, ...OF_REFERRAL }),
    );
});

it('the conversion pays no side twice when the program moved the moment from start to conversion', () => {
  const program = aProgram({
    referredReward: terms(discount(20), { when: 'CONVERTED' }),
    referrerReward: terms(credit(9), { when: 'CONVERTED' }),
  });
  given(here, attributed, bob, started({ referrerReward: terms(credit(5)) }))
    .when(sync(PAID, annStands({ program })))
    .then(subscriptionChanged(PAID, NOW), convertedNow({ referrerReward: null }));
});

it('the conversion happens without a reward that would exceed the countable maximum, and records why', () => {
  const program = aProgram({
    referredReward: terms(credit(2), { when: 'CONVERTED' }),
    referrerReward: null,
  });
  const rich = rewardGranted('rich', BOB, credit(Number.MAX_SAFE_INTEGER - 1));
  given(here, attributed, bob, rich, started({ referredReward: null }))
    .when(sync(PAID, annStands({ program })))
    .then(
      subscriptionChanged(PAID, NOW),
      convertedNow({ referredReward: program.referredReward, referrerReward: null }),
      rewardWithheld({ at: NOW, rewardId: 'reward-of-conversion', person: BOB.person }),
    );
});

const ended: AccountEvent = { type: 'ReferralEnded', at: NOW, referralId: 'referral' };

it('the end happens with CANCELLED, once', () => {
  given(running).when(sync(CANCELLED)).then(subscriptionChanged(CANCELLED, NOW), ended);
  given(running, subscriptionChanged(CANCELLED), ended).when(sync(CANCELLED)).then();
  const again = [subscriptionChanged(CANCELLED), ended, subscriptionChanged(PAID), convertedNow()];
  given(running, again).when(sync(CANCELLED)).then(subscriptionChanged(CANCELLED, NOW));
});

it('the end happens for a converted referral too, and rewards stay', () => {
  given(running, startReward(2_000), subscriptionChanged(PAID), convertedNow({ at: 3_000 }))
    .when(sync(CANCELLED))
    .then(subscriptionChanged(CANCELLED, NOW), ended);
});

it('the end does not happen for an account without a referral', () => {
  given(here, attributed).when(sync(CANCELLED)).then(subscriptionChanged(CANCELLED, NOW));
});

const UNLIKE: ComparedProfile = {
  firstName: null,
  lastName: null,
  email: null,
  firstSeenIP: null,
  lastSeenIP: null,
};
const signalsOf = (a: Partial<ComparedProfile>, b: Partial<ComparedProfile>): readonly string[] =>
  Object.keys(findSimilarities({ ...UNLIKE, ...a }, { ...UNLIKE, ...b }));

const name = (firstName: string | null, lastName: string | null) => ({ firstName, lastName });
it.each([
  [name('Ann', 'Lee'), name('Ann', 'Lee'), true],
  [name('Ann', 'Lee'), name(' ANN', 'lee '), true],
  [name('Ann', 'Lee'), name('Lee', 'Ann'), true],
  [name('Ren\u00E9', 'Stra\u00DFe'), name('RENE\u0301', 'strasse'), true],
  [name('Ann', 'Lee'), name('Ann', 'Li'), false],
  [name('Ann', null), name('Ann', null), false],
  [name('Ann', ''), name('Ann', ''), false],
  [name(null, null), name(null, null), false],
])('the signal name of %j and %j: %j', (a, b, found) =>
  expect(signalsOf(a, b)).toEqual(found ? ['name'] : []),
);

it.each([
  ['ann@one.com', 'ann@two.com', true],
  ['Ann@one.com', 'aNN@two.com', true],
  ['ann@one.com', 'ann@one.com', true],
  ['ann+shop@one.com', 'ann@one.com', true],
  ['a.n.n@one.com', 'ann+x@one.com', true],
  ['ann+shop@one.com', 'ann@two.com', false],
  ['ann@one.com', 'anne@one.com', false],
  [null, null, false],
  ['ann@one.com', null, false],
])('the signal email of %j and %j: %j', (a, b, found) =>
  expect(signalsOf({ email: a }, { email: b })).toEqual(found ? ['email'] : []),
);

it.each([
  [{ firstSeenIP: '192.0.2.1' }, { firstSeenIP: '192.0.2.1' }, true],
  [{ lastSeenIP: '192.0.2.1' }, { lastSeenIP: '192.0.2.1' }, true],
  [{ lastSeenIP: '192.0.2.1' }, { firstSeenIP: '192.0.2.1' }, true],
  [{ firstSeenIP: '192.0.2.1' }, { firstSeenIP: '192.0.2.2' }, false],
  [{}, {}, false],
])('the signal ip of %j and %j: %j', (a, b, found) =>
  expect(signalsOf(a, b)).toEqual(found ? ['ip'] : []),
);

const attributedHere = [accountOpened(ACME), accountAttributed('ANNLEE', ANN)];
const identified = (profile: Partial<Profile>): AccountEvent =>
  userIdentified(ACME, 'bob', profile);
const LEE = { firstName: 'Ann', lastName: 'Lee' };

/** What the start of Bob's referral says, with Bob there already and Ann looking like this. */
function start(
  program: Program,
  { likeness = {}, profile = {}, provided = announced(), over = {} } = {},
) {
  const referrer = { ...A_FRIEND, likeness: { ...UNLIKE, ...likeness }, ...over };
  const { decision } = given(attributedHere, identified(profile)).when(
    upsertUser('bob', { context: annStands({ program, referrer, provided }) }),
  );
  const [started] = 'events' in decision ? decision.events : [];
  if (started?.type !== 'ReferralStarted') throw new Error('nothing started');
  return started;
}
const fraud = (over: Partial<Program['fraud']>) => ({ ...aProgram().fraud, ...over });
const statuses = ({
  referredStatus,
  referrerStatus,
}: {
  referredStatus: SideStatus;
  referrerStatus: SideStatus;
}) => [referredStatus, referrerStatus];

it('a start records each signal with message and score, and ignores it by default', () => {
  const started = start(aProgram(), {
    likeness: { ...LEE, email: 'x@one.com' },
    profile: { ...LEE, email: 'x@two.com' },
  });
  const found = { message: expect.stringMatching(/\S/) as unknown, score: 50 };
  expect(started.fraudSignals).toEqual({ name: found, email: found });
  expect(statuses(started)).toEqual(['APPROVED', 'APPROVED']);
  expect(JSON.stringify(started.fraudSignals)).not.toMatch(/one\.com|Lee/);
});

it.each<[Partial<Record<'name' | 'email', FraudHandling>>, SideStatus, SideStatus]>([
  [{ name: 'pending' }, 'APPROVED', 'PENDING'],
  [{ name: 'deny' }, 'APPROVED', 'DENIED'],
  [{ name: 'pending', email: 'deny' }, 'APPROVED', 'PENDING'],
  [{ name: 'ignore' }, 'PENDING', 'PENDING'],
  [{ name: 'pending' }, 'PENDING', 'PENDING'],
])('a start handled as %j goes down from %s to %s', (handling, byDefault, after) => {
  const program = aProgram({
    fraud: fraud(handling),
    moderation: { referred: byDefault, referrer: byDefault },
  });
  expect(statuses(start(program, { likeness: LEE, profile: LEE }))).toEqual([after, after]);
  expect(statuses(start(program, { likeness: LEE }))).toEqual([byDefault, byDefault]);
});

it('a start gives each side the status of the program', () => {
  const program = aProgram({ moderation: { referred: 'PENDING', referrer: 'APPROVED' } });
  expect(statuses(start(program))).toEqual(['PENDING', 'APPROVED']);
});

const MINUTE = 60_000;
const made = (number: number, minutesAgo = 1, over = {}) => ({
  referralId: `made-${number}`,
  account: `account-${number}`,
  person: ANN.person,
  at: NOW - minutesAgo * MINUTE,
  ...over,
});
const rate = (...earlier: readonly ReturnType<typeof made>[]) =>
  start(aProgram({ fraud: fraud({ rate: 'pending' }) }), { provided: announced(...earlier) });

it('the rate is too high with the fourth referral in half an hour, which names the other three', () => {
  expect(rate(made(1), made(2)).fraudSignals).toEqual({});
  const fourth = rate(made(1, 29), made(2), made(3));
  expect(Object.keys(fourth.fraudSignals)).toEqual(['rate']);
  expect(statuses(fourth)).toEqual(['PENDING', 'PENDING']);
  expect(fourth.tooManyWith).toEqual(
    [1, 2, 3].map((number) => ({ referralId: `made-${number}`, account: `account-${number}` })),
  );
});

it('the rate counts no older referral, none of another referrer, and no account twice', () => {
  expect(rate(made(1, 30), made(2), made(3)).fraudSignals).toEqual({});
  expect(rate(made(1, 1, { person: 'dan' }), made(2), made(3)).fraudSignals).toEqual({});
  expect(rate(made(1), made(2), made(3, 1, { account: 'account-2' })).fraudSignals).toEqual({});
  expect(rate(made(1), made(2), made(3, 1, { account: ACME.accountRef })).fraudSignals).toEqual({});
});

it('the rate follows the program', () => {
  const strict = aProgram({ rateLimit: { referrals: 1, minutes: 5 } });
  expect(Object.keys(start(strict, { provided: announced(made(1, 4)) }).fraudSignals)).toEqual([
    'rate',
  ]);
  expect(start(strict, { provided: announced(made(1, 5)) }).fraudSignals).toEqual({});
});

it('the rate requires an announcement in the referrer’s account before the start', () => {
  given(attributedHere, identified({}))
    .when(upsertUser('bob', { context: annStands({ provided: NOTHING_PROVIDED }) }))
    .needs({ kind: 'announcement', referralId: 'referral', referrer: ANN });
});

it('the rate is counted in the referrer’s account: a referral is announced there once, and withdrawn if it does not start', () => {
  const announce = {
    type: 'AnnounceReferral',
    referralId: 'made-1',
    account: 'account-1',
    person: ANN.person,
    now: NOW,
  } as const;
  const known: AccountEvent = {
    type: 'ReferralAnnounced',
    at: NOW,
    referralId: 'made-1',
    account: 'account-1',
    person: ANN.person,
  };
  const withdraw = { type: 'WithdrawReferral', referralId: 'made-1', now: NOW } as const;
  const anns = [accountOpened(ANNS), userIdentified(ANNS, 'ann')];
  given(anns).when(announce).then(known);
  given(anns, known).when(announce).then();
  given(anns, known)
    .when(withdraw)
    .then({ type: 'ReferralWithdrawn', at: NOW, referralId: 'made-1' });
  given(anns).when(withdraw).then();
  expect(
    opened(given(anns, known, { type: 'ReferralWithdrawn', at: NOW, referralId: 'made-1' }).state)
      .announced.size,
  ).toBe(0);
});

it('the rate flags an earlier referral without touching its sides, once', () => {
  const flag = { type: 'FlagReferral', referralId: 'referral', now: NOW } as const;
  const referred = [accountOpened(ACME), identified({}), referralStarted('referral', BOB, ANN)];
  const { decision } = given(referred).when(flag);
  expect(decision).toEqual({
    events: [
      {
        type: 'ReferralFlagged',
        at: NOW,
        referralId: 'referral',
        fraudSignals: { rate: expect.anything() as unknown },
      },
    ],
  });
  const flagged = 'events' in decision ? decision.events : [];
  given(referred, flagged).when(flag).then();
  const { referral } = opened(given(referred, flagged).state);
  expect(referral?.fraudSignals).toHaveProperty('rate');
  expect(referral && statuses(referral)).toEqual(['APPROVED', 'APPROVED']);
});

it('the rate flags an announced referral, which starts with the signal and its own statuses', () => {
  const flagged: AccountEvent = {
    type: 'ReferralFlagged',
    at: 1,
    referralId: 'referral',
    fraudSignals: { rate: { message: 'many', score: 50 } },
  };
  const { decision } = given(attributedHere, identified({}), flagged).when(
    upsertUser('bob', {
      context: annStands({ program: aProgram({ fraud: fraud({ rate: 'deny' }) }) }),
    }),
  );
  expect('events' in decision && decision.events[0]).toMatchObject({
    fraudSignals: { rate: {} },
    referredStatus: 'APPROVED',
    tooManyWith: [],
  });
});
