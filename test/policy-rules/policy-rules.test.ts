import type { DomainEvent } from '../../src/domain/events.js';
import { POLICIES } from '../../src/policies/policies.js';
import type { Policy, Reaction } from '../../src/reacting/policy.js';
import { ACME, ANN, ANNS, BOB, terms } from '../domain/support/account-scenario.js';
import {
  credit,
  erasureRequested,
  referralConverted,
  referralModerated,
  referralStarted,
  refOf,
  rewardGranted,
  accountCreditRedeemed,
} from '../support/account-events.js';
import { ledgerEventOf } from '../support/test-ledger.js';

const RECORDED_AT = 50_000;

const TERMS = terms(credit(1_000), { when: 'CONVERTED' });

/** `given(event).then(reactions)`: the reactions of all policies to an event of Acme. */
function given(event: DomainEvent) {
  const at = { stream: ACME.accountRef, recordedAt: RECORDED_AT };
  const ledgerEvent = ledgerEventOf(ACME, event, at);
  const reactions = POLICIES.filter(({ handles }) => handles.has(event.type)).flatMap((policy) => {
    const wanted = policy.react(ledgerEvent);
    if (wanted.length > 0) reacted.add(policy);
    return wanted;
  });
  const [mails, others] = [true, false].map((isMail) =>
    reactions.filter(({ kind }) => (kind === 'mail') === isMail),
  );
  return {
    then: (...expected: readonly Reaction[]) => expect(others).toStrictEqual(expected),
    thenMails: (...expected: readonly Mail[]) =>
      expect(mails).toStrictEqual(expected.map((mail) => ({ kind: 'mail', ...mail }))),
  };
}

type Mail = Omit<Extract<Reaction, { kind: 'mail' }>, 'kind'>;
const reacted = new Set<Policy>();
afterAll(() =>
  expect(POLICIES.filter((policy) => !reacted.has(policy)).map(({ name }) => name)).toStrictEqual(
    [],
  ),
);

const HEARD = { kind: 'provider-note', note: { kind: 'event', at: 1 } } as const;
const received = (kind: 'TRIAL' | 'IGNORED'): DomainEvent => ({
  type: 'ProviderEventReceived',
  at: 1,
  provider: 'stripe',
  eventType: 'customer.subscription.created',
  eventRef: 'event',
  created: 1,
  ids: { subject: 'customer', value: null },
  refs: null,
  fact: kind === 'IGNORED' ? { kind, because: 'TYPE' } : { kind },
});

const LOOKED_AT: Reaction = {
  kind: 'payment',
  of: { customer: ACME.accountRef },
  dueAt: null,
};

it('facts of the payment provider apply to the account that has the customer', () => {
  const waiting = { eventRef: 'event', subject: 'customer', at: 1 };
  given(received('TRIAL')).then(
    HEARD,
    { kind: 'customer', stream: ACME.accountRef, waiting },
    LOOKED_AT,
  );
});

it('facts of the payment provider are fetched daily from its connection on', () => {
  given({
    type: 'PaymentProviderConnected',
    at: 1,
    mode: 'test',
    provider: 'stripe',
    secrets: { subject: 'connection', value: null },
    replacedValidUntil: 1,
    ended: [],
  }).then({ kind: 'provider-note', note: { kind: 'connected', mode: 'test' } });
});

it('facts of the payment provider apply when an account gets the customer', () => {
  const paymentProviderId = { subject: BOB.person, value: 'cus_1' };
  given({ type: 'PaymentProviderIdSet', at: 1, paymentProviderId }).then(
    { kind: 'command', account: ACME.accountRef, request: { type: 'ApplyCustomer' } },
    { kind: 'provider-note', note: { kind: 'linked', customer: 'cus_1' } },
    { kind: 'payment', of: { account: ACME.accountRef }, dueAt: null },
  );
});

it('a reward for the payment provider is pushed immediately, at its date, or when it is restored', () => {
  const payment = { kind: 'payment', of: { account: ACME.accountRef } } as const;
  const paid = rewardGranted('w', BOB, credit(5), { payTo: 'provider' });
  given(paid).then({ ...payment, dueAt: null });
  const later = { ...paid, dateScheduledFor: 9 };
  given(later).then(expect.objectContaining({ kind: 'job' }) as Reaction, {
    ...payment,
    dueAt: 9,
  });
  given(rewardGranted('w', BOB, credit(5))).then();
  const restored = { type: 'RewardRestored', at: 1, ...refOf(paid), amount: 5 } as const;
  given(restored).then({ ...payment, dueAt: null });
});

it('a refund reported by the payment provider takes the rewards of the referral from its referrer, too', () => {
  given({ type: 'ReferralRefunded', at: 1, referralId: 'referral', referrer: ANN }).then({
    kind: 'command',
    account: ANNS.accountRef,
    request: { type: 'CancelRefundedRewards', referralId: 'referral' },
  });
});

const grant = (earnedAt: number): Reaction => ({
  kind: 'command',
  account: ANNS.accountRef,
  request: {
    type: 'GrantReferrerReward',
    referralId: 'referral',
    person: ANN.person,
    terms: TERMS,
    programId: 'default',
    programVersion: 1,
    earnedAt,
  },
});

it.each([
  ['starts', referralStarted('referral', BOB, ANN, { referrerReward: TERMS }), 2_000],
  ['converts', referralConverted('referral', ANN, { referrerReward: TERMS }), 3_000],
  ['is moderated', referralModerated('referral', ANN, { referrerReward: TERMS }), 4_000],
] as const)(
  'the reward of a referrer is granted when the referral %s and has earned it',
  (_when, event, earnedAt) => {
    given(event).then(grant(earnedAt));
  },
);

it.each(['PENDING', 'DENIED'] as const)(
  'the reward of a referrer is not granted while the side of the referrer is %s',
  (referrerStatus) => {
    given(referralConverted('referral', ANN, { referrerReward: TERMS, referrerStatus })).then();
  },
);

it('the reward of a referrer is not granted when nothing was earned', () => {
  given(referralStarted('referral', BOB, ANN)).then();
});

it('the reward of a referrer is granted under the rule of the event that earned it', () => {
  const { when: _, ...promised } = TERMS;
  const earned = {
    referralId: 'referral',
    userEventId: 'user-event',
    programId: 'default',
    programVersion: 3,
    rule: 'per-order',
    terms: promised,
  };
  given({ type: 'ReferrerRewardEarnedByEvent', at: 2_500, referrer: ANN, ...earned }).then({
    kind: 'command',
    account: ANNS.accountRef,
    request: { type: 'GrantEventReward', person: ANN.person, earnedAt: 2_500, ...earned },
  });
});

it.each([
  ['an event', 'per-order', 'per-order'],
  ['the conversion', 'conversion', 'referrerReward'],
])('the reward of a referrer is taken back when %s that earned it is refunded', (_, rule, of) => {
  const earned = {
    referralId: 'referral',
    userEventId: 'user-event',
    programId: 'default',
    programVersion: 3,
  };
  const refunded = {
    type: 'EarningRefunded',
    at: 2_500,
    ...earned,
    rule,
    person: BOB.person,
    refund: { key: 'refund', field: 'order' },
    value: { subject: BOB.person, value: 'digest' },
    refundedBy: 'refund',
  } as const;
  given({ ...refunded, referrer: null }).then();
  given({ ...refunded, referrer: ANN }).then({
    kind: 'command',
    account: ANNS.accountRef,
    request: { type: 'TakeBackReward', person: ANN.person, ...earned, rule: of },
  });
});

const mail = (type: Mail['type'], to: 'ann' | 'bob', more: Partial<Mail> = {}): Mail => ({
  type,
  account: (to === 'ann' ? ANNS : ACME).accountRef,
  person: (to === 'ann' ? ANN : BOB).person,
  about: null,
  dueAt: null,
  ...more,
});

it('mails tell both sides of a start, and the referrer of a conversion, unless a side is denied', () => {
  given(referralStarted('referral', BOB, ANN)).thenMails(
    mail('REFERRAL_STARTED', 'ann'),
    mail('WELCOME', 'bob'),
  );
  given(
    referralStarted('referral', BOB, ANN, { referrerStatus: 'DENIED', referredStatus: 'DENIED' }),
  ).thenMails();
  given(referralConverted('referral', ANN)).thenMails(mail('REFERRAL_CONVERTED', 'ann'));
  given(referralConverted('referral', ANN, { referrerStatus: 'DENIED' })).thenMails();
});

it('mails tell of every reward, and a week before it ends', () => {
  const soon = 70_000 - 7 * 86_400_000;
  given(rewardGranted('reward', BOB, credit(100), { dateExpires: 70_000 })).thenMails(
    mail('REWARD_EARNED', 'bob', { about: 'reward' }),
    mail('REWARD_EXPIRES_SOON', 'bob', { about: 'reward', dueAt: soon }),
  );
  given(rewardGranted('reward', BOB, credit(100), { dateExpires: null })).thenMails(
    mail('REWARD_EARNED', 'bob', { about: 'reward' }),
  );
});

it("mails tell a referrer that a limit held a reward back, of a referral into another's account", () => {
  const withheld = (referralId: string, reason: 'LIMIT_REACHED' | 'POOL_EMPTY') =>
    given({
      type: 'RewardWithheld',
      at: 1,
      rewardId: 'reward',
      referralId,
      person: BOB.person,
      programId: 'default',
      programVersion: 1,
      rule: 'referrer',
      reason,
    });
  const limit = mail('REFERRER_REWARD_LIMIT_REACHED', 'bob');
  withheld(`${ANNS.accountRef}0123`, 'LIMIT_REACHED').thenMails(limit);
  withheld(`${ACME.accountRef}0123`, 'LIMIT_REACHED').thenMails();
  withheld(`${ANNS.accountRef}0123`, 'POOL_EMPTY').thenMails();
});

it('referrals made too fast are flagged, each in its own account', () => {
  const tooManyWith = [
    { referralId: 'first', account: 'one' },
    { referralId: 'second', account: 'two' },
  ];
  given(referralStarted('referral', BOB, ANN, { tooManyWith })).then(
    { kind: 'command', account: 'one', request: { type: 'FlagReferral', referralId: 'first' } },
    { kind: 'command', account: 'two', request: { type: 'FlagReferral', referralId: 'second' } },
  );
});

const settle = (what: string, runAt: number): Reaction => ({
  kind: 'job',
  task: 'settle-reward',
  payload: { tenant: 'demo', mode: 'live', account: ACME.accountRef, rewardId: 'reward' },
  runAt,
  key: `settle-reward/reward/${what}`,
});

it('a reward is settled when it becomes available and when it expires', () => {
  given(
    rewardGranted('reward', BOB, credit(100), { dateScheduledFor: 60_000, dateExpires: 70_000 }),
  ).then(settle('available', 60_000), settle('expired', 70_000));
});

it('a reward without dates is not settled', () => {
  given(
    rewardGranted('reward', BOB, credit(100), { dateScheduledFor: null, dateExpires: null }),
  ).then();
});

it('work that a crash may leave unfinished is completed by a command for the list of very many redeemed rewards', () => {
  given(accountCreditRedeemed(5)).then({
    kind: 'command',
    account: ACME.accountRef,
    request: { type: 'ListRedeemedRewards' },
  });
});

it('work that a crash may leave unfinished is completed by a job ten seconds later for an erasure', () => {
  given(erasureRequested([BOB.person])).then({
    kind: 'job',
    task: 'finish-erasure',
    payload: { tenant: 'demo', mode: 'live', account: ACME.accountRef, erasureId: 'erasure' },
    runAt: RECORDED_AT + 10_000,
    key: 'finish-erasure/erasure',
  });
});

it('work that a crash may leave unfinished is completed by a job ten seconds later for a moderation', () => {
  given({ type: 'ModerationRequested', at: 2_000, moderationId: 'moderation', items: [] }).then({
    kind: 'job',
    task: 'finish-moderation',
    payload: { tenant: 'demo', mode: 'live', moderationId: 'moderation' },
    runAt: RECORDED_AT + 10_000,
    key: 'finish-moderation/demo/live/moderation',
  });
});

test('a move of the test clock makes due what waits for a date of test mode', () => {
  given({ type: 'TestClockMoved', at: 1, offsetMs: 5 }).then({ kind: 'test-clock' });
});

test('deliveries of removed test data are removed', () => {
  const removed = { type: 'TestDataRemoved', at: 7, ledger: 1 } as const;
  given(removed).then({ kind: 'test-data', since: 7, ledger: 1 });
});
