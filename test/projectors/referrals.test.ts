import { referralsProjector } from '../../projections/referrals/projector.js';
import {
  referrals,
  referralDecisions,
  type CountedBy,
  type ReferralCountRow,
} from '../../projections/referrals/table.js';
import { personal } from '../../src/domain/personal.js';
import {
  anAccount,
  credit,
  erasureCompleted,
  erasureRequested,
  forgotten,
  partyOf,
  referralConverted,
  referralModerated,
  referralStarted,
  rewardGranted,
} from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';
import { rowsOf } from './support/rows-of.js';

const ACME = anAccount('acme');
const SHOP = anAccount('shop');
const NEW = partyOf(ACME, 'new');
const ANN = partyOf(SHOP, 'ann');

const referral = rowsOf(referrals, {
  referral_id: 'r1',
  program_id: 'default',
  referred_account_ref: ACME.accountRef,
  referred_person: NEW.person,
  referred_account_id: 'acme',
  referred_user_id: 'new',
  referrer_account_ref: SHOP.accountRef,
  referrer_person: ANN.person,
  referrer_account_id: 'shop',
  referrer_user_id: 'ann',
  referral_code_used: 'CODE',
  referred_status: 'APPROVED',
  referrer_status: 'APPROVED',
  fraud_signals: {},
  date_started: 10,
  date_moderated: 10,
  date_changed: 10,
});

const decision = rowsOf(referralDecisions, {
  referral_id: 'r1',
  referred_account_ref: ACME.accountRef,
  at: 30,
  actor_kind: 'system',
  sides: 'none',
});

const ofAll: readonly [CountedBy, string] = ['all', ''];
const ofShop: readonly [CountedBy, string] = ['referrer-account', SHOP.accountRef];
const ofAnnInShop: readonly [CountedBy, string] = [
  'referrer-account-user',
  `${SHOP.accountRef}/ann`,
];
const ofAnn: readonly [CountedBy, string] = ['referrer-user', 'ann'];
const ofNew: readonly [CountedBy, string] = ['referred-user', 'new'];

/** The same count for each of these, in the order of the table's keys. */
const counts = (
  referrals: ReferralCountRow['referrals'],
  ...parties: readonly (readonly [CountedBy, string])[]
) =>
  parties.map(([counted_by, party]): ReferralCountRow => ({
    tenant: 'demo',
    mode: 'live',
    counted_by,
    party,
    referrals,
  }));
const everybody = [ofAll, ofNew, ofShop, ofAnnInShop, ofAnn];

const started = referralStarted('r1', NEW, ANN, { at: 10 });
const rewardOfNew = rewardGranted('w1', NEW, credit(5), { source: 'REFERRED', referralId: 'r1' });
const rewardOfAnn = rewardGranted('w2', ANN, credit(5), {
  source: 'FRIEND_SIGNUP',
  referralId: 'r1',
});
const rewarded = (side: 'referred' | 'referrer', reward_id: string) => ({
  referral_id: 'r1',
  side,
  tenant: 'demo',
  mode: 'live',
  reward_id,
  date_granted: 2_100,
});

describeProjector(referralsProjector, (given) => {
  test('a referral that starts counts for account, referrer and referred user', () =>
    given(ACME, started).then({
      referrals: [referral()],
      referral_counts: counts({ 'APPROVED APPROVED': 1 }, ...everybody),
    }));

  test('an imported reward that came before the referral is that of its side', () =>
    given(ACME, started, {
      type: 'ImportedRewardLinked',
      at: 2_100,
      rewardId: 'w1',
      referralId: 'r1',
      side: 'referred',
    }).then({
      referrals: [referral()],
      referral_rewards: [rewarded('referred', 'w1')],
      referral_counts: counts({ 'APPROVED APPROVED': 1 }, ...everybody),
    }));

  test('a referral starts once', () =>
    given(
      ACME,
      started,
      referralStarted('r1', NEW, ANN, { at: 20, shareLinkUsed: 'https://example.com' }),
    ).then({
      referrals: [referral()],
      referral_counts: counts({ 'APPROVED APPROVED': 1 }, ...everybody),
    }));

  test('the newest moderation is noted, and its reason is forgotten with the referred person', async () => {
    const reason = personal(NEW.person, 'one household');
    const moderated = given(ACME, started).and(
      ACME,
      referralModerated('r1', ANN, { at: 20, referrerStatus: 'DENIED', reason }),
    );
    const denied = { referrer_status: 'DENIED', date_moderated: 20, date_changed: 20 } as const;
    const noted = decision({ at: 20, sides: 'referrer', reason: 'one household' });
    const referral_counts = counts({ 'APPROVED DENIED': 1 }, ...everybody);
    await moderated.then({
      referrals: [referral(denied)],
      referral_decisions: [noted],
      referral_counts,
    });
    await moderated.and(ACME, erasureRequested([NEW.person])).then({
      referrals: [referral({ ...denied, referred_account_id: null, referred_user_id: null })],
      referral_decisions: [{ ...noted, reason: null }],
      referral_counts: referral_counts.filter(({ counted_by }) => counted_by !== 'referred-user'),
    });
  });

  test('conversion and moderation move a referral from count to count', async () => {
    const converted = given(ACME, started).and(
      ACME,
      referralConverted('r1', ANN, { at: 20, referredStatus: 'PENDING', referrerStatus: 'DENIED' }),
    );
    await converted.then({
      referrals: [
        referral({
          referred_status: 'PENDING',
          referrer_status: 'DENIED',
          date_paid: 20,
          date_changed: 20,
        }),
      ],
      referral_counts: counts({ 'PENDING DENIED': 1 }, ...everybody),
    });
    await converted
      .and(ACME, referralModerated('r1', ANN, { at: 30, referrerStatus: 'PENDING' }))
      .then({
        referrals: [
          referral({
            referrer_status: 'PENDING',
            date_paid: 20,
            date_moderated: 30,
            date_changed: 30,
          }),
        ],
        referral_decisions: [decision({ at: 30, sides: 'both' })],
        referral_counts: counts({ 'APPROVED PENDING': 1 }, ...everybody),
      });
  });

  test('an ended referral stays counted', () =>
    given(ACME, started, { type: 'ReferralEnded', at: 40, referralId: 'r1' }).then({
      referrals: [referral({ date_ended: 40, date_changed: 40 })],
      referral_counts: counts({ 'APPROVED APPROVED': 1 }, ...everybody),
    }));

  test('a later signal is added to those of the start, and one before the start is part of it', () => {
    const ip = { message: 'same address', score: 50 };
    const speed = { message: 'too fast', score: 70 };
    const flagged = {
      type: 'ReferralFlagged',
      at: 30,
      referralId: 'r1',
      fraudSignals: { speed },
    } as const;
    return given(
      ACME,
      flagged,
      referralStarted('r1', NEW, ANN, { at: 10, fraudSignals: { ip } }),
      flagged,
    ).then({
      referrals: [referral({ fraud_signals: { ip, speed }, date_changed: 30 })],
      referral_counts: counts({ 'APPROVED APPROVED': 1 }, ...everybody),
    });
  });

  test('each side shows the reward that the referral itself earned it', () =>
    given(ACME, rewardOfNew)
      .and(
        SHOP,
        rewardOfAnn,
        rewardGranted('w3', ANN, credit(5), { source: 'EVENT', referralId: 'r1' }),
        rewardGranted('w4', ANN, credit(5), { source: 'FRIEND_SIGNUP' }),
        rewardGranted('w5', ANN, credit(5), {
          source: 'FRIEND_SIGNUP',
          referralId: 'r9',
          owner: forgotten(ANN.person),
        }),
      )
      .then({ referral_rewards: [rewarded('referred', 'w1'), rewarded('referrer', 'w2')] }));

  test('a referral whose referrer is forgotten before the start counts for the account only', () =>
    given(
      ACME,
      referralStarted(
        'r1',
        NEW,
        { ...ANN, ids: forgotten(ANN.person) },
        { at: 10, code: forgotten(ANN.person) },
      ),
    ).then({
      referrals: [
        referral({ referrer_account_id: null, referrer_user_id: null, referral_code_used: null }),
      ],
      referral_counts: counts({ 'APPROVED APPROVED': 1 }, ofAll, ofNew, ofShop),
    }));

  test('events about a referral that did not start are skipped', () =>
    given(ACME, referralConverted('r1', ANN), referralModerated('r1', ANN), {
      type: 'ReferralEnded',
      at: 40,
      referralId: 'r1',
    }).then({}));

  test('a forgotten referrer is removed from ids, code, link, reward and counts of the referrals', async () => {
    const shared = referralStarted('r1', NEW, ANN, {
      at: 10,
      shareLinkUsed: 'https://example.com',
    });
    const known = given(ACME, shared, rewardOfNew).and(SHOP, rewardOfAnn);
    const left = {
      referrals: [
        referral({ referrer_account_id: null, referrer_user_id: null, referral_code_used: null }),
      ],
      referral_rewards: [rewarded('referred', 'w1')],
      referral_counts: counts({ 'APPROVED APPROVED': 1 }, ofAll, ofNew, ofShop),
    };
    await known.and(SHOP, erasureRequested([ANN.person])).then(left);
    await known.and(SHOP, erasureCompleted([ANN.person])).then(left);
  });

  test('a forgotten referred person is removed from ids, reward and counts, and code and referrer stay', () =>
    given(ACME, started, rewardOfNew)
      .and(SHOP, rewardOfAnn)
      .and(ACME, erasureRequested([NEW.person]))
      .then({
        referrals: [referral({ referred_account_id: null, referred_user_id: null })],
        referral_rewards: [rewarded('referrer', 'w2')],
        referral_counts: counts({ 'APPROVED APPROVED': 1 }, ofAll, ofShop, ofAnnInShop, ofAnn),
      }));
});
