import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import type { AccountEvent, Profile } from '../../src/domain/account/account.events.js';
import { likenesses, type Likeness } from '../../src/domain/account/referral/fraud-signals.js';
import type { FraudHandling, Program, SideStatus } from '../../src/domain/program.js';
import {
  accountAttributed,
  accountOpened,
  referralStarted,
  userIdentified,
} from '../support/account-events.js';
import {
  A_FRIEND,
  ACME,
  ANN,
  ANNS,
  announced,
  annStands,
  aProgram,
  BOB,
  given,
  NOW,
  opened,
} from './support/account-scenario.js';
import { upsertUser } from './support/commands.js';

const UNLIKE: Likeness = {
  firstName: null,
  lastName: null,
  email: null,
  firstSeenIP: null,
  lastSeenIP: null,
};
const signalsOf = (a: Partial<Likeness>, b: Partial<Likeness>): readonly string[] =>
  Object.keys(likenesses({ ...UNLIKE, ...a }, { ...UNLIKE, ...b }));

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

const here = [accountOpened(ACME), accountAttributed('ANNLEE', ANN)];
const bob = (profile: Partial<Profile>): AccountEvent => userIdentified(ACME, 'bob', profile);
const LEE = { firstName: 'Ann', lastName: 'Lee' };

/** What the start of Bob's referral says, with Bob there already and Ann looking like this. */
function start(
  program: Program,
  { likeness = {}, profile = {}, provided = announced(), over = {} } = {},
) {
  const referrer = { ...A_FRIEND, likeness: { ...UNLIKE, ...likeness }, ...over };
  const { decision } = given(here, bob(profile)).when(
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
  given(here, bob({}))
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
  const referred = [accountOpened(ACME), bob({}), referralStarted('referral', BOB, ANN)];
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
  const { decision } = given(here, bob({}), flagged).when(
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
