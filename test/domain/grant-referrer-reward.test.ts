import { personal } from '../../src/domain/personal.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { GrantReferrerReward } from '../../src/domain/account/rewards/grant-referrer-reward.js';
import { AMOUNT_MAX } from '../../src/domain/account/rewards/rewards.js';
import {
  accountOpened,
  credit,
  forgotten,
  rewardGranted,
  rewardWithheld,
  userIdentified,
} from '../support/account-events.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import { ANN, ANNS, DAY_MS, given, TEN_DOLLARS, terms } from './support/account-scenario.js';

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
const side = (status: 'PENDING' | 'APPROVED' | 'DENIED'): AccountEvent => ({
  type: 'ReferrerSideModerated',
  at: 4_000,
  moderationId: 'm',
  referralId: 'referral',
  status,
});

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
