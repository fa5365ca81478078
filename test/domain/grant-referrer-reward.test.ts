import { personal } from '../../src/domain/personal.js';
import type { GrantReferrerReward } from '../../src/domain/account/rewards/grant-referrer-reward.js';
import { AMOUNT_MAX } from '../../src/domain/account/rewards/rewards.js';
import {
  accountOpened,
  credit,
  forgotten,
  rewardGranted,
  rewardWithheld,
  userIdentified,
  erasureRequested,
  referrerSideModerated,
} from '../support/account-events.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import { ANN, ANNS, DAY_MS, given, TEN_DOLLARS, terms } from './support/account-scenario.js';
import type { GrantEventReward } from '../../src/domain/account/rewards/grant-event-reward.js';

const EARNED_AT = 5_000;

const grant = (over: Partial<GrantReferrerReward> = {}): GrantReferrerReward => ({
  type: 'GrantReferrerReward',
  referralId: 'referral',
  rewardId: 'reward',
  person: ANN.person,
  terms: TEN_DOLLARS,
  programId: 'default',
  programVersion: 3,
  earnedAt: EARNED_AT,
  provided: NOTHING_PROVIDED,
  ...over,
});

const here = [accountOpened(ANNS), userIdentified(ANNS, 'ann')];
const granted = rewardGranted('reward', ANN, credit(1000), {
  at: EARNED_AT,
  source: 'FRIEND_SIGNUP',
  referralId: 'referral',
  programId: 'default',
  programVersion: 3,
});
const side = (status: 'PENDING' | 'APPROVED' | 'DENIED') => referrerSideModerated(status, 4_000);

it('granting the referrer’s reward uses the amount and terms of the moment when it was earned', () => {
  given(here).when(grant()).then(granted);
  given(here)
    .when(
      grant({
        terms: terms(credit(5), { name: 'Thanks', cancellable: false, delayDays: 1, validDays: 2 }),
      }),
    )
    .then({
      ...granted,
      value: credit(5),
      cancellable: false,
      texts: personal(ANN.person, { name: 'Thanks', description: null }),
      dateScheduledFor: EARNED_AT + DAY_MS,
      dateExpires: EARNED_AT + 3 * DAY_MS,
    });
});

it('granting the referrer’s reward happens once', () => {
  given(here, granted).when(grant()).then();
  given(here, granted)
    .when(grant({ terms: terms(credit(7)) }))
    .then();
});

it('granting the referrer’s reward does nothing for a side that was denied since, until it is approved', () => {
  given(here, side('DENIED')).when(grant()).then();
  given(here, side('PENDING')).when(grant()).then();
  given(here, side('DENIED'), side('APPROVED')).when(grant()).then(granted);
});

it('granting the referrer’s reward does nothing without an account or user', () => {
  given().when(grant()).then();
  given(accountOpened(ANNS)).when(grant()).then();
  given(accountOpened(ANNS), {
    type: 'UserIdentified',
    at: 1_200,
    person: ANN.person,
    profile: forgotten(ANN.person),
  })
    .when(grant())
    .then();
});

it('granting the referrer’s reward records why a reward could not be given', () => {
  const rich = rewardGranted('rich', ANN, credit(AMOUNT_MAX));
  given(here, rich)
    .when(grant())
    .then(
      rewardWithheld({
        at: EARNED_AT,
        person: ANN.person,
        programVersion: 3,
        rule: 'referrerReward',
      }),
    );
});

const RULE = 'eventRewards/REFERRER/purchase';
const grantOfEvent: GrantEventReward = {
  type: 'GrantEventReward',
  referralId: 'referral',
  rewardId: 'reward',
  person: ANN.person,
  terms: terms(credit(5)),
  programId: 'default',
  programVersion: 3,
  rule: RULE,
  earnedAt: 5_000,
  provided: NOTHING_PROVIDED,
};
const grantedByEvent = rewardGranted('reward', ANN, credit(5), {
  at: 5_000,
  source: 'EVENT',
  programId: 'default',
  programVersion: 3,
  rule: RULE,
});
const lost = (reason: 'REFERRER_GONE' | 'REFERRER_BLOCKED' | 'SIDE_NOT_APPROVED') =>
  rewardWithheld({
    at: 5_000,
    referralId: null,
    person: ANN.person,
    programVersion: 3,
    rule: RULE,
    reason,
  });
const denied = side('DENIED');
const gone = (account: string | null) => erasureRequested([ANN.person], { at: 4_000, account });

it('granting the reward of an event grants what an event of the referred user has earned, once, apart from the rewards of the referral', () => {
  given(here).when(grantOfEvent).then(grantedByEvent);
  given(here, grantedByEvent).when(grantOfEvent).then();
});

it('granting the reward of an event grants what was earned before a refund of the first invoice, whichever is recorded first here', () => {
  given(here, { type: 'ReferrerSideRefunded', at: 5_001, referralId: 'referral' })
    .when(grantOfEvent)
    .then(grantedByEvent);
});

it('granting the reward of an event withholds it from a referrer who was forgotten, blocked or denied meanwhile, and records why', () => {
  given(accountOpened(ANNS), {
    type: 'UserIdentified',
    at: 1_200,
    person: ANN.person,
    profile: forgotten(ANN.person),
  })
    .when(grantOfEvent)
    .then(lost('REFERRER_GONE'));
  given(here, gone(null)).when(grantOfEvent).then(lost('REFERRER_GONE'));
  given(here, { type: 'UserBlocked', at: 4_000, person: ANN.person })
    .when(grantOfEvent)
    .then(lost('REFERRER_BLOCKED'));
  given(here, denied).when(grantOfEvent).then(lost('SIDE_NOT_APPROVED'));
});

it('granting the reward of an event does not grant a withheld reward later', () => {
  given(here, denied, lost('SIDE_NOT_APPROVED'), { ...denied, status: 'APPROVED' })
    .when(grantOfEvent)
    .then();
});

it('granting the reward of an event does nothing without an account or user', () => {
  given().when(grantOfEvent).then();
  given(accountOpened(ANNS)).when(grantOfEvent).then();
  given(here, gone(ANNS.accountRef)).when(grantOfEvent).then();
});
