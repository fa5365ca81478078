import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { GrantEventReward } from '../../src/domain/account/rewards/grant-event-reward.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import {
  accountOpened,
  credit,
  forgotten,
  rewardGranted,
  rewardWithheld,
  userIdentified,
  erasureRequested,
} from '../support/account-events.js';
import { ANN, ANNS, given, terms } from './support/account-scenario.js';

const RULE = 'eventRewards/REFERRER/purchase';
const grant: GrantEventReward = {
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
const here = [accountOpened(ANNS), userIdentified(ANNS, 'ann')];
const granted = rewardGranted('reward', ANN, credit(5), {
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
const denied: AccountEvent = {
  type: 'ReferrerSideModerated',
  at: 4_000,
  moderationId: 'm',
  referralId: 'referral',
  status: 'DENIED',
};
const gone = (account: string | null) => erasureRequested([ANN.person], { at: 4_000, account });

it('granting the reward of an event grants what an event of the referred user has earned, once, apart from the rewards of the referral', () => {
  given(here).when(grant).then(granted);
  given(here, granted).when(grant).then();
});

it('granting the reward of an event grants what was earned before a refund of the first invoice, whichever is recorded first here', () => {
  given(here, { type: 'ReferrerSideRefunded', at: 5_001, referralId: 'referral' })
    .when(grant)
    .then(granted);
});

it('granting the reward of an event withholds it from a referrer who was forgotten, blocked or denied meanwhile, and records why', () => {
  given(accountOpened(ANNS), {
    type: 'UserIdentified',
    at: 1_200,
    person: ANN.person,
    profile: forgotten(ANN.person),
  })
    .when(grant)
    .then(lost('REFERRER_GONE'));
  given(here, gone(null)).when(grant).then(lost('REFERRER_GONE'));
  given(here, { type: 'UserBlocked', at: 4_000, person: ANN.person })
    .when(grant)
    .then(lost('REFERRER_BLOCKED'));
  given(here, denied).when(grant).then(lost('SIDE_NOT_APPROVED'));
});

it('granting the reward of an event does not grant a withheld reward later', () => {
  given(here, denied, lost('SIDE_NOT_APPROVED'), { ...denied, status: 'APPROVED' })
    .when(grant)
    .then();
});

it('granting the reward of an event does nothing without an account or user', () => {
  given().when(grant).then();
  given(accountOpened(ANNS)).when(grant).then();
  given(here, gone(ANNS.accountRef)).when(grant).then();
});
