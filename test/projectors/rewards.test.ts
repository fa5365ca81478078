import type { AccountEventOf } from '../../src/domain/account/account.events.js';
import { rewardsProjector } from '../../projections/rewards/projector.js';
import {
  rewards,
  redemptions,
  type RedemptionRow,
  type RewardRow,
} from '../../projections/rewards/table.js';
import {
  aboutReward,
  anAccount,
  credit,
  creditRedeemed,
  discount,
  erasureCompleted,
  erasureRequested,
  forgotten,
  partyOf,
  rewardCancelled,
  rewardGranted,
  tankCode,
  accountCreditRedeemed,
  redeemedRewardsListed,
  aboutPush,
} from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';
import { rowsOf } from './support/rows-of.js';

const ACME = anAccount('acme');
const ANN = partyOf(ACME, 'ann');
const BOB = partyOf(ACME, 'bob');

const ofAnn = (rewardId: string, over: Partial<AccountEventOf<'RewardGranted'>> = {}) =>
  rewardGranted(rewardId, ANN, credit(100), { at: 10, ...over });

const aReward = rowsOf(rewards, {
  account_ref: ACME.accountRef,
  person: ANN.person,
  account_id: 'acme',
  user_id: 'ann',
  type: 'CREDIT',
  source: 'MANUAL',
  unit: 'CENTS',
  cancellable: true,
  assigned_credit: 100,
  redeemed_credit: 0,
  redeemed_times: 0,
  redeems_automatically: false,
  date_given: 10,
  date_changed: 10,
});
const reward = (rewardId: string, over: Partial<RewardRow> = {}) =>
  aReward({ reward_id: rewardId, ...over });

const aRedemption = rowsOf(redemptions, {
  number: 1,
  date_redeemed: 20,
  quantity: 60,
});
const redemption = (rewardId: string, redemptionId: string, over: Partial<RedemptionRow> = {}) =>
  aRedemption({ reward_id: rewardId, redemption_id: redemptionId, ...over });

const ACCOUNT = ACME.accountRef;

describeProjector(rewardsProjector, (given) => {
  const paid = ofAnn('w1', { payTo: 'provider' });
  const started = aboutPush('RewardPushStarted', paid, {
    at: 20,
    amount: 60,
    body: forgotten(ACCOUNT),
  });
  const reference = { subject: ACCOUNT, value: 'cbtxn_1' };

  test('a reward that the payment provider pays waits, and is not cancellable from the call on', () =>
    given(ACME, paid, started).then({
      rewards: [reward('w1', { push_state: 'WAITING', cancellable: false, date_changed: 20 })],
      redemptions: [],
    }));

  test('a payment of the provider is a redemption with its id', () =>
    given(ACME, paid, aboutPush('RewardPushed', paid, { at: 20, reference }), {
      ...creditRedeemed(paid, 'd1', 60, 20),
      externalReference: reference,
    } as never).then({
      rewards: [
        reward('w1', {
          push_state: 'PUSHED',
          external_reference: 'cbtxn_1',
          redeemed_credit: 60,
          redeemed_times: 1,
          date_changed: 20,
        }),
      ],
      redemptions: [redemption('w1', 'd1', { external_reference: 'cbtxn_1' })],
    }));

  test('a reward that the provider refuses is parked with the reason', () =>
    given(
      ACME,
      paid,
      aboutPush('RewardPushRefused', paid, {
        at: 20,
        reason: 'no such customer',
        done: forgotten(ACCOUNT),
      }),
    ).then({
      rewards: [
        reward('w1', { push_state: 'PARKED', push_reason: 'no such customer', date_changed: 20 }),
      ],
      redemptions: [],
    }));

  test('a reward has the terms of its grant, as its type has them', () =>
    given(
      ACME,
      ofAnn('w1', {
        value: { type: 'CREDIT', unit: 'USD', assignedCredit: 7, currency: 'USD' },
        texts: { subject: ANN.person, value: { name: 'Thanks', description: 'for Bob' } },
        cancellable: false,
        dateScheduledFor: 30,
        dateExpires: 90,
        redeemsAutomatically: true,
      }),
      ofAnn('w2', {
        value: { type: 'PCT_DISCOUNT', discountPercent: 15, monthsDiscountIsValid: 3 },
        source: 'REFERRED',
        referralId: 'r1',
        programId: 'default',
      }),
      rewardGranted('w3', BOB, tankCode('T-1'), { at: 11 }),
    ).then({
      rewards: [
        reward('w1', {
          unit: 'USD',
          currency: 'USD',
          assigned_credit: 7,
          name: 'Thanks',
          description: 'for Bob',
          cancellable: false,
          date_scheduled_for: 30,
          date_expires: 90,
          redeems_automatically: true,
        }),
        reward('w2', {
          type: 'PCT_DISCOUNT',
          unit: '%',
          discount_percent: 15,
          months_discount_is_valid: 3,
          assigned_credit: null,
          redeemed_credit: null,
          source: 'REFERRED',
          referral_id: 'r1',
          program_id: 'default',
        }),
        reward('w3', {
          person: BOB.person,
          user_id: 'bob',
          type: 'FUELTANK',
          unit: null,
          assigned_credit: null,
          redeemed_credit: null,
          amount: 5,
          fuel_tank_code: 'T-1',
          fuel_tank_type: 'CREDIT',
          date_given: 11,
          date_changed: 11,
        }),
      ],
    }));

  test('a reward whose owner is forgotten has no row, and its events are skipped', () => {
    const granted = ofAnn('w1', { owner: forgotten(ANN.person) });
    return given(
      ACME,
      granted,
      creditRedeemed(granted, 'd1', 1, 20),
      rewardCancelled(granted, 99, 30),
    ).then({});
  });

  test('a redemption of very many rewards is listed as if each had been redeemed by itself', () =>
    given(
      ACME,
      ofAnn('w1'),
      rewardGranted('w2', BOB, credit(50), { at: 10 }),
      accountCreditRedeemed(110, { at: 40 }),
      redeemedRewardsListed(
        [ANN.person, BOB.person],
        [
          ['w1', 0, 100],
          ['w2', 1, 10],
        ],
        { at: 40 },
      ),
    ).then({
      rewards: [
        reward('w1', { redeemed_credit: 100, redeemed_times: 1, date_changed: 40 }),
        reward('w2', {
          person: BOB.person,
          user_id: 'bob',
          assigned_credit: 50,
          redeemed_credit: 10,
          redeemed_times: 1,
          date_changed: 40,
        }),
      ],
      redemptions: [
        redemption('w1', 'd-0', { date_redeemed: 40, quantity: 100 }),
        redemption('w2', 'd-1', { date_redeemed: 40, quantity: 10 }),
      ],
    }));

  test('a reward that is cancelled twice shows the first time', () => {
    const granted = ofAnn('w1');
    return given(
      ACME,
      granted,
      rewardCancelled(granted, 100, 40, 'MODERATION'),
      rewardCancelled(granted, 0, 50),
    ).then({
      rewards: [reward('w1', { date_cancelled: 40, date_changed: 50 })],
    });
  });

  test('a reward that is restored is not cancelled any more', () => {
    const granted = ofAnn('w1');
    return given(
      ACME,
      granted,
      rewardCancelled(granted, 100, 40),
      aboutReward('RewardRestored', granted, 100, 60),
    ).then({
      rewards: [reward('w1', { date_changed: 60 })],
    });
  });

  test('an imported reward that came before its referral gets it', () => {
    const linked = { rewardId: 'w1', referralId: 'r1', side: 'referred' } as const;
    return given(ACME, ofAnn('w1'), { type: 'ImportedRewardLinked', at: 60, ...linked }).then({
      rewards: [reward('w1', { referral_id: 'r1', date_changed: 60 })],
    });
  });

  test('a forgotten person has neither rewards nor redemptions; those of others stay', () => {
    const granted = ofAnn('w1');
    const bobs = rewardGranted('w2', BOB, credit(100), { at: 10 });
    return given(
      ACME,
      granted,
      ofAnn('w3', { at: 12, value: discount(5) }),
      creditRedeemed(granted, 'd1', 10, 20),
      creditRedeemed(granted, 'd2', 10, 20),
      bobs,
      creditRedeemed(bobs, 'd3', 60, 20),
      erasureRequested([ANN.person]),
    ).then({
      rewards: [
        reward('w2', {
          person: BOB.person,
          user_id: 'bob',
          redeemed_credit: 60,
          redeemed_times: 1,
          date_changed: 20,
        }),
      ],
      redemptions: [redemption('w2', 'd3')],
    });
  });

  test('a reward that is granted after the erasure request is removed at the tombstone', () =>
    given(ACME, erasureRequested([ANN.person]), ofAnn('w1'), erasureCompleted([ANN.person])).then(
      {},
    ));
});
