import type { AccountEvent, EventField } from '../../src/domain/account/account.events.js';
import type { ReceiveUserEvents } from '../../src/domain/account/users/user-events.js';
import type { TakeBackReward } from '../../src/domain/account/rewards/take-back-reward.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import type { EventReward, Program } from '../../src/domain/program.js';
import {
  moderationPrepared,
  accountAttributed,
  accountOpened,
  credit,
  creditRedeemed,
  erasureRequested,
  referralStarted,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  ANNS,
  aProgram,
  BOB,
  fold,
  given,
  NOW,
  ON_PURCHASE,
  terms,
  HERE,
} from './support/account-scenario.js';
import { receiveEvents, applyModeration } from './support/commands.js';

const refund = { key: 'refund', field: 'order' };
const rule = (over: Partial<EventReward> = {}): EventReward => ({
  rule: 'bought',
  key: 'purchase',
  to: 'USER',
  firstTimeOnly: false,
  minimum: null,
  refund,
  terms: terms(credit(5)),
  ...over,
});
const paysBob = (over: Partial<EventReward> = {}) => aProgram({ eventRewards: [rule(over)] });
const paysAnn = aProgram({ eventRewards: [rule({ to: 'REFERRER' })] });
const converts = (over: Partial<Program> = {}) =>
  aProgram({
    conversion: { ...ON_PURCHASE, refund },
    ...over,
  });

let number = 0;
beforeEach(() => (number = 0));
const did = (
  program: Program,
  key: string,
  order: EventField = 1,
  fields: Readonly<Record<string, EventField>> = { order },
): ReceiveUserEvents => {
  const content = { id: 'e', key, fields, dateTriggered: NOW };
  return receiveEvents([{ userEventId: `event-${(number += 1)}`, idRef: null, content }], program);
};

const referred = [...HERE, accountAttributed('ANNLEE', ANN), referralStarted('referral', BOB, ANN)];

/** All that the commands record, one after the other. */
function after(
  before: readonly AccountEvent[],
  ...commands: readonly (ReceiveUserEvents | AccountEvent)[]
): readonly AccountEvent[] {
  return commands.reduce<readonly AccountEvent[]>(
    (events, next) => [
      ...events,
      ...(next.type === 'ReceiveUserEvents' ? given(events).when(next).events() : [next]),
    ],
    before,
  );
}
const about = (events: readonly AccountEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'RewardCancelled') return [`${event.rewardId} cancelled ${event.amount}`];
    return event.type === 'RewardKept' ? [`${event.rewardId} kept: ${event.reason}`] : [];
  });
const granted = (events: readonly AccountEvent[]) =>
  events.flatMap((event) => (event.type === 'RewardGranted' ? [event] : []));

it('an event refunds every earlier one of the user with the same JSON value in the field', () => {
  const program = paysBob();
  const bought = after(
    HERE,
    did(program, 'purchase', 1),
    did(program, 'purchase', '1'),
    did(program, 'purchase', 1),
    did(program, 'purchase', { b: [2], a: null }),
  );
  const refunded = given(bought).when(did(program, 'refund', 1));
  expect(about(refunded.events())).toEqual([
    'event-1 bought cancelled 5',
    'event-3 bought cancelled 5',
  ]);
  expect(refunded.types()).toEqual([
    'UserEventReceived',
    'EarningRefunded',
    'RewardCancelled',
    'EarningRefunded',
    'RewardCancelled',
  ]);
});

it('a refund without the field, of another value or user, or for the second time takes nothing back', () => {
  const program = paysBob();
  const bought = after([...HERE, userIdentified(ACME, 'cat')], did(program, 'purchase', 1));
  type Fields = Readonly<Record<string, EventField>>;
  const others: readonly Fields[] = [{}, { order: null }, { order: 2 }];
  for (const fields of others)
    expect(about(after(bought, did(program, 'refund', 1, fields)))).toEqual([]);
  expect(about(after(bought, { ...did(program, 'refund', 1), userId: 'cat' }))).toEqual([]);
  const twice = after(bought, did(program, 'refund', 1), did(program, 'refund', 1));
  expect(about(twice)).toEqual(['event-1 bought cancelled 5']);
});

it('an event that is recorded after its refund, and one without a value, keep what they earn', () => {
  const program = paysBob();
  const events = after(
    HERE,
    did(program, 'refund', 1),
    did(program, 'purchase', 1),
    did(program, 'purchase', null),
    did(program, 'refund', null),
  );
  expect(about(events)).toEqual([]);
  expect(events.filter(({ type }) => type === 'RefundableEarningNoted')).toHaveLength(1);
});

it('a reward that is redeemed in part or not cancellable stays, with the reason', () => {
  const program = paysBob();
  const bought = after(HERE, did(program, 'purchase'));
  const [reward] = granted(bought);
  const redeemed = [...bought, creditRedeemed(reward!, 'redeemed', 1, NOW)];
  expect(about(after(redeemed, did(program, 'refund')))).toEqual(['event-1 bought kept: REDEEMED']);
  const pinned = paysBob({ terms: terms(credit(5), { cancellable: false }) });
  const events = after(HERE, did(pinned, 'purchase'), did(pinned, 'refund'));
  expect(about(events)).toEqual(['event-3 bought kept: NOT_CANCELLABLE']);
});

it('the refund is that of the version by which the event earned, and a refunded event still counts', () => {
  const first = paysBob({ firstTimeOnly: true });
  const changed = paysBob({ firstTimeOnly: true, refund: { key: 'return', field: 'order' } });
  const bought = after(HERE, did(first, 'purchase'));
  expect(about(after(bought, did(changed, 'return')))).toEqual([]);
  const refunded = after(bought, did(changed, 'refund'));
  expect(about(refunded)).toEqual(['event-1 bought cancelled 5']);
  expect(granted(after(refunded, did(first, 'purchase', 2)))).toHaveLength(1);
});

it('an erasure forgets what could be refunded', () => {
  const program = paysBob();
  const state = fold([...after(HERE, did(program, 'purchase')), erasureRequested([BOB.person])]);
  expect(state).toMatchObject({ refundable: { size: 0 } });
});

it('the refund of a referrer’s reward names the account that takes it back', () => {
  const bought = after(referred, did(paysAnn, 'purchase'));
  const [, refunded] = given(bought).when(did(paysAnn, 'refund')).events();
  expect(refunded).toEqual({
    type: 'EarningRefunded',
    at: NOW,
    userEventId: 'event-1',
    person: BOB.person,
    programId: 'default',
    programVersion: 1,
    rule: 'bought',
    referralId: 'referral',
    refund,
    value: { subject: BOB.person, value: `${BOB.person} 1` },
    refundedBy: 'event-2',
    referrer: ANN,
  });
});

it('the refund of a conversion ends the referral and cancels what the conversion granted to the user', () => {
  const byConversion = converts({ referredReward: terms(credit(5), { when: 'CONVERTED' }) });
  const events = after(referred, did(byConversion, 'purchase'), did(byConversion, 'refund'));
  expect(about(events)).toEqual(['reward-of-conversion cancelled 5']);
  expect(events.at(-2)).toMatchObject({ type: 'ReferralEnded', referralId: 'referral' });
  const { referral } = fold(events) as { referral?: object };
  expect(referral).toMatchObject({ datePaid: NOW, dateEnded: NOW });
});

it('the refund of a conversion leaves what the start of the referral earned', () => {
  const start = terms(credit(7));
  const program = converts({ referredReward: start, referrerReward: start });
  const started = [
    ...HERE,
    accountAttributed('ANNLEE', ANN),
    referralStarted('referral', BOB, ANN, { referredReward: start, referrerReward: start }),
    rewardGranted('of-start', BOB, credit(7), { referralId: 'referral' }),
  ];
  const events = after(started, did(program, 'purchase'), did(program, 'refund'));
  expect(about(events)).toEqual([]);
  expect(events.find(({ type }) => type === 'EarningRefunded')).toMatchObject({ referrer: null });
});

it('a side that is approved after the refund of its conversion is granted nothing by it', () => {
  const pending = terms(credit(5), { when: 'CONVERTED' });
  const program = converts({ referredReward: pending, referrerReward: pending });
  const undecided = [
    ...HERE,
    accountAttributed('ANNLEE', ANN),
    referralStarted('referral', BOB, ANN, { referredStatus: 'PENDING', referrerStatus: 'PENDING' }),
  ];
  const hold = moderationPrepared('m', NOW, 'referral');
  const approve = applyModeration(
    'referred',
    [{ referralId: 'referral', referred: 'APPROVED', referrer: 'APPROVED' }],
    { rewardIds: { referral: 'late' } },
  );
  const converted = after(undecided, did(program, 'purchase'));
  const approved = given(converted, hold).when(approve);
  expect(approved.types()).toEqual(['ReferralModerated', 'RewardGranted']);
  const refunded = given(after(converted, did(program, 'refund')), hold).when(approve);
  expect(refunded.types()).toEqual(['ReferralModerated']);
  expect(refunded.events()[0]).toMatchObject({ referrerReward: null });
});

const anns = [accountOpened(ANNS), userIdentified(ANNS, 'ann')];
const takeBack: TakeBackReward = {
  type: 'TakeBackReward',
  referralId: 'referral',
  rewardId: 'reward',
  person: ANN.person,
  programId: 'default',
  programVersion: 1,
  rule: 'bought',
  now: NOW,
};

it('the referrer’s account takes the reward back once', () => {
  const bought = [...anns, rewardGranted('reward', ANN, credit(5))];
  const events = given(bought).when(takeBack).events();
  expect(about(events)).toEqual(['reward cancelled 5']);
  given(bought, events).when(takeBack).then();
});

it.each(['bought', 'referrerReward'])(
  'a refund that comes before the grant of %s to the referrer makes that grant nothing',
  (name) => {
    const refunded = given(anns)
      .when({ ...takeBack, rule: name })
      .events();
    expect(refunded).toMatchObject([{ type: 'RewardWithheld', reason: 'EVENT_REFUNDED' }]);
    const { now: _, type: __, ...earned } = takeBack;
    const late = { ...earned, earnedAt: 1, provided: NOTHING_PROVIDED };
    given(anns, refunded)
      .when(
        name === 'bought'
          ? { type: 'GrantEventReward', ...late, terms: terms(credit(5)) }
          : { type: 'GrantReferrerReward', ...late, terms: terms(credit(5)) },
      )
      .then();
  },
);
