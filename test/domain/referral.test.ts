import type { AccountEvent, Subscription } from '../../src/domain/account/account.events.js';
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
} from './support/account-scenario.js';
import { PAID, syncAccount, upsertUser } from './support/commands.js';

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

describe('the end', () => {
  const running = [...here, attributed, bob, started()];
  const ended: AccountEvent = { type: 'ReferralEnded', at: NOW, referralId: 'referral' };

  it('happens with CANCELLED, once', () => {
    given(running).when(sync(CANCELLED)).then(subscriptionChanged(CANCELLED, NOW), ended);
    given(running, subscriptionChanged(CANCELLED), ended).when(sync(CANCELLED)).then();
    const again = [
      subscriptionChanged(CANCELLED),
      ended,
      subscriptionChanged(PAID),
      convertedNow(),
    ];
    given(running, again).when(sync(CANCELLED)).then(subscriptionChanged(CANCELLED, NOW));
  });

  it('happens for a converted referral too, and rewards stay', () => {
    given(running, startReward(2_000), subscriptionChanged(PAID), convertedNow({ at: 3_000 }))
      .when(sync(CANCELLED))
      .then(subscriptionChanged(CANCELLED, NOW), ended);
  });

  it('does not happen for an account without a referral', () => {
    given(here, attributed).when(sync(CANCELLED)).then(subscriptionChanged(CANCELLED, NOW));
  });
});
