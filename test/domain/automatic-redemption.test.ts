import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import type { CreateReward } from '../../src/domain/account/rewards/rewards.js';
import {
  aboutReward,
  accountOpened,
  credit,
  creditRedeemed,
  discount,
  rewardCancelled,
  rewardGranted,
  userIdentified,
  moderationPrepared,
} from '../support/account-events.js';
import { ACME, BOB, given, NOW, opened } from './support/account-scenario.js';
import { createReward, redeemAccountCredit, redeemCredit } from './support/commands.js';

const here = [accountOpened(ACME), userIdentified(ACME, 'bob')];
const create = (over: Partial<CreateReward> = {}) =>
  createReward({ redeemsAutomatically: true, ...over });
const DUE = NOW + 100;
const now = rewardGranted('reward', BOB, credit(500), { at: NOW, redeemsAutomatically: true });
const scheduled = rewardGranted('reward', BOB, credit(500), {
  at: NOW,
  redeemsAutomatically: true,
  dateScheduledFor: DUE,
  referralId: 'referral',
});
const available = aboutReward('RewardBecameAvailable', scheduled, 500, DUE);
const redeemed = (at: number): AccountEvent => creditRedeemed(now, 'reward-automatic', 500, at);

it('an automatic redemption takes all the credit immediately', () => {
  given(here).when(create()).then(now, redeemed(NOW));
});

it('an automatic redemption is of credit alone', () => {
  given(here)
    .when(create({ value: discount(10) }))
    .then(rewardGranted('reward', BOB, discount(10), { at: NOW, redeemsAutomatically: true }));
});

it('an automatic redemption waits until the reward is available, and happens at that moment, whenever it is recorded', () => {
  given(here)
    .when(create({ dateScheduledFor: DUE }))
    .then({ ...scheduled, referralId: null });
  const settle = (at: number) =>
    given(here, scheduled).when({ type: 'SettleReward', rewardId: 'reward', now: at });
  settle(DUE - 1).then();
  settle(DUE).then(available, redeemed(DUE));
  settle(DUE + 1_000_000).then(available, redeemed(DUE));
  given(here, scheduled, available, redeemed(DUE))
    .when({ type: 'SettleReward', rewardId: 'reward', now: DUE + 1 })
    .then();
});

it('an automatic redemption leaves nothing to spend or to cancel, by the clock', () => {
  const { state } = given(here, scheduled);
  expect([DUE - 1, DUE].map((at) => availableCredit(opened(state), 'CENTS', at))).toEqual([0, 0]);
  const at = { now: DUE };
  given(here, scheduled)
    .when(redeemAccountCredit(1, at))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 1 exceeds the available credit 0 CENTS');
  given(here, scheduled)
    .when(redeemCredit('reward', 1, at))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The reward has already been redeemed');
  given(here, scheduled)
    .when({ type: 'CancelReward', rewardId: 'reward', ...at })
    .refused(
      'REWARD_NOT_CANCELLABLE',
      'The reward cannot be cancelled: 500 CENTS of it were redeemed',
    );
  given(here, scheduled)
    .when({ type: 'CancelReward', rewardId: 'reward', now: DUE - 1 })
    .then(rewardCancelled(scheduled, 500, DUE - 1));
});

it('an automatic redemption leaves other credit of the account redeemable', () => {
  const other = rewardGranted('other', BOB, credit(20), { at: 1 });
  given(here, other, scheduled)
    .when(redeemAccountCredit(20, { now: DUE }))
    .then(creditRedeemed(other, 'r-0', 20, DUE));
});

const held = moderationPrepared('m', NOW, 'referral');
const changes = [{ referralId: 'referral', referred: undefined, referrer: 'DENIED' as const }];

it('an automatic redemption with a moderation under way does not happen when it denies: a reward that was held before its time is cancelled', () => {
  given(here, scheduled, held)
    .when({
      type: 'ApplyModeration',
      moderationId: 'm',
      side: 'referrer',
      changes,
      rewardIds: {},
      now: DUE,
      provided: NOTHING_PROVIDED,
    })
    .then(
      {
        type: 'ReferrerSideModerated',
        at: DUE,
        moderationId: 'm',
        referralId: 'referral',
        status: 'DENIED',
      },
      available,
      rewardCancelled(scheduled, 500, DUE, 'MODERATION'),
    );
});

it('an automatic redemption with a moderation under way has happened, by the clock, before one that is prepared later', () => {
  given(here, scheduled)
    .when({ type: 'PrepareModeration', moderationId: 'm', side: 'referrer', changes, now: DUE })
    .refused('MODERATION_NOT_POSSIBLE', "referral: the referrer side's reward has been redeemed");
});
