import { dailyFiguresProjector } from '../../projections/daily-figures/projector.js';
import { creditItems, dailyCounts, dailyCredit } from '../../projections/daily-figures/table.js';
import {
  aboutReward,
  anAccount,
  credit,
  creditRedeemed,
  discount,
  erasureCompleted,
  erasureRequested,
  partyOf,
  referralConverted,
  rewardCancelled,
  rewardGranted,
  accountCreditRedeemed,
  redeemedRewardsListed,
} from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';
import { rowsOf } from './support/rows-of.js';

const ACME = anAccount('acme');
const ANN = partyOf(ACME, 'ann');
const BOB = partyOf(ACME, 'bob');
const CAT = partyOf(ACME, 'cat');

/** Ann's 100 cents, available immediately. */
const item = rowsOf(creditItems, {
  reward_id: 'w1',
  person: ANN.person,
  unit_key: 'cents',
  phase: 'AVAILABLE',
  cancelled: false,
  assigned: 100,
  redeemed: 0,
  redeems_automatically: false,
});
const counted = rowsOf(dailyCounts, {
  day: '1970-01-01',
  conversions: 0,
  rewards_granted: 1,
});
const moved = rowsOf(dailyCredit, {
  day: '1970-01-01',
  unit_key: 'cents',
  unit: 'Cents',
  imported: '0',
  issued: '100',
  redeemed: '0',
  expired: '0',
  cancelled: '0',
  restored: '0',
});
const holder = (cents: number, person = ANN.person) => ({
  person,
  tenant: 'demo',
  mode: 'live',
  available: { cents },
});

const reward = rewardGranted('w1', ANN, credit(100, 'Cents'));
const dates = { dateScheduledFor: 3_000, dateExpires: 4_000 };
const dateColumns = { date_scheduled_for: 3_000, date_expires: 4_000 };
const scheduled = rewardGranted('w1', ANN, credit(100, 'Cents'), dates);

const DAY = 86_400_000;
const NEXT = { day: '1970-01-02', issued: '0' };

describeProjector(dailyFiguresProjector, (given) => {
  test('conversions and rewards are counted on their days, in UTC', () =>
    given(
      ACME,
      referralConverted('r1', ANN),
      rewardGranted('w1', ANN, discount(10)),
      referralConverted('r2', ANN, { at: DAY - 1 }),
      referralConverted('r3', ANN, { at: DAY }),
    ).then({
      daily_counts: [
        counted({ conversions: 2 }),
        counted({ day: '1970-01-02', conversions: 1, rewards_granted: 0 }),
      ],
    }));

  test('credit is issued and redeemed on its days, by unit in any spelling', () =>
    given(
      ACME,
      reward,
      rewardGranted('w2', ANN, credit(7, 'CENTS')),
      creditRedeemed(reward, 'd', 30, DAY),
    ).then({
      daily_counts: [counted({ rewards_granted: 2 })],
      daily_credit: [moved({ issued: '107' }), moved({ ...NEXT, redeemed: '30' })],
      credit_items: [item({ redeemed: 30 }), item({ reward_id: 'w2', assigned: 7 })],
      credit_holders: [holder(77)],
    }));

  test.each(['constructor', '__proto__'])('credit is counted in the unit %s', (unit) =>
    given(ACME, rewardGranted('w1', ANN, credit(100, unit))).then({
      daily_counts: [counted()],
      daily_credit: [moved({ unit_key: unit, unit })],
      credit_items: [item({ unit_key: unit })],
      credit_holders: [{ ...holder(0), available: { [unit]: 100 } }],
    }),
  );

  test('a second grant of a reward issues nothing', () =>
    given(ACME, reward, rewardGranted('w1', ANN, credit(500))).then({
      daily_counts: [counted({ rewards_granted: 2 })],
      daily_credit: [moved()],
      credit_items: [item()],
      credit_holders: [holder(100)],
    }));

  test('scheduled credit is issued when it becomes available, and what is left of it expires', async () => {
    const granted = given(ACME, scheduled);
    await granted.then({
      daily_counts: [counted()],
      credit_items: [item({ ...dateColumns, phase: 'PENDING', due_at: 3_000 })],
      credit_holders: [holder(0)],
    });
    await granted
      .and(
        ACME,
        aboutReward('RewardBecameAvailable', scheduled, 100, 3_000),
        creditRedeemed(scheduled, 'd', 40, 3_100),
        aboutReward('RewardExpired', scheduled, 60, 4_000),
      )
      .then({
        daily_counts: [counted()],
        daily_credit: [moved({ redeemed: '40', expired: '60' })],
        credit_items: [item({ ...dateColumns, phase: 'EXPIRED', redeemed: 40 })],
        credit_holders: [holder(0)],
      });
  });

  test('available credit is cancelled and restored, scheduled credit moves nothing', async () => {
    const cancelled = given(ACME, reward, rewardCancelled(reward, 100, DAY));
    await cancelled.then({
      daily_counts: [counted()],
      daily_credit: [moved(), moved({ ...NEXT, cancelled: '100' })],
      credit_items: [item({ cancelled: true })],
      credit_holders: [holder(0)],
    });
    await cancelled.and(ACME, aboutReward('RewardRestored', reward, 100, DAY + 1)).then({
      daily_counts: [counted()],
      daily_credit: [moved(), moved({ ...NEXT, cancelled: '100', restored: '100' })],
      credit_items: [item()],
      credit_holders: [holder(100)],
    });
    await given(ACME, scheduled, rewardCancelled(scheduled, 100, 2_200)).then({
      daily_counts: [counted()],
      credit_items: [item({ ...dateColumns, phase: 'PENDING', cancelled: true })],
      credit_holders: [holder(0)],
    });
  });

  test('a redemption that names its owners counts with its event, and its list issues and redeems no more', async () => {
    const redeemed = given(
      ACME,
      reward,
      rewardGranted('w2', ANN, credit(10, 'Cents'), { dateScheduledFor: 3_000 }),
      accountCreditRedeemed(104, { owners: [[ANN.person, 104]] }),
    );
    await redeemed.then({
      daily_counts: [counted({ rewards_granted: 2 })],
      daily_credit: [moved({ redeemed: '104' })],
      credit_items: [
        item(),
        item({
          reward_id: 'w2',
          assigned: 10,
          phase: 'PENDING',
          date_scheduled_for: 3_000,
          due_at: 3_000,
        }),
      ],
      credit_holders: [holder(-4)],
    });
    const list = redeemed.and(
      ACME,
      redeemedRewardsListed(
        [ANN.person],
        [
          ['w1', 0, 100],
          ['w2', 0, 4],
        ],
        { posted: true },
      ),
    );
    await list.then({
      daily_counts: [counted({ rewards_granted: 2 })],
      daily_credit: [moved({ issued: '110', redeemed: '104' })],
      credit_items: [
        item({ redeemed: 100 }),
        item({ reward_id: 'w2', assigned: 10, redeemed: 4, date_scheduled_for: 3_000 }),
      ],
      credit_holders: [holder(6)],
    });
  });

  test('sums of a day are exact beyond 2^53', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const ofBob = { reward_id: 'w2', person: BOB.person, assigned: most };
    return given(
      ACME,
      rewardGranted('w1', ANN, credit(most, 'Cents')),
      rewardGranted('w2', BOB, credit(most, 'Cents')),
      rewardGranted('w3', CAT, credit(1, 'Cents')),
    ).then({
      daily_counts: [counted({ rewards_granted: 3 })],
      daily_credit: [moved({ issued: '18014398509481983' })],
      credit_items: [
        item({ assigned: most }),
        item(ofBob),
        item({ reward_id: 'w3', person: CAT.person, assigned: 1 }),
      ],
      credit_holders: inOrder(holder(most), holder(most, BOB.person), holder(1, CAT.person)),
    });
  });

  test('a movement that is recorded after midnight counts on that day, and so does an erasure', async () => {
    const redeemed = given(ACME, reward).andLate(2, ACME, creditRedeemed(reward, 'd', 30, DAY - 1));
    const left = { daily_counts: [counted()] };
    await redeemed.then({
      ...left,
      daily_credit: [moved(), moved({ ...NEXT, redeemed: '30' })],
      credit_items: [item({ redeemed: 30 })],
      credit_holders: [holder(70)],
    });
    await redeemed.andLate(2, ACME, erasureRequested([ANN.person], { at: DAY - 1 })).then({
      ...left,
      daily_credit: [moved(), moved({ ...NEXT, redeemed: '30', cancelled: '70' })],
    });
  });

  test('dates that are recorded after midnight count on their own days', async () => {
    const available = aboutReward('RewardBecameAvailable', scheduled, 100, 3_000);
    await given(ACME, scheduled)
      .andLate(DAY, ACME, available, aboutReward('RewardExpired', scheduled, 100, 4_000))
      .then({
        daily_counts: [counted()],
        daily_credit: [moved({ expired: '100' })],
        credit_items: [item({ ...dateColumns, phase: 'EXPIRED' })],
        credit_holders: [holder(0)],
      });
    const automatic = { dateScheduledFor: 3_000, redeemsAutomatically: true };
    const later = rewardGranted('w1', ANN, credit(100, 'Cents'), automatic);
    await given(ACME, later)
      .andLate(DAY, ACME, available, creditRedeemed(later, 'd', 100, 3_000))
      .then({
        daily_counts: [counted()],
        daily_credit: [moved({ redeemed: '100' })],
        credit_items: [
          item({ redeemed: 100, date_scheduled_for: 3_000, redeems_automatically: true }),
        ],
        credit_holders: [holder(0)],
      });
  });

  test('dates that passed while a reward was cancelled count from its restoration on', async () => {
    const restored = aboutReward('RewardRestored', scheduled, 100, DAY);
    const cancelled = (of: typeof scheduled) => given(ACME, of, rewardCancelled(of, 100, 2_200));
    const automatic = { dateScheduledFor: 3_000, redeemsAutomatically: true };
    const later = rewardGranted('w1', ANN, credit(100, 'Cents'), automatic);
    const available = aboutReward('RewardBecameAvailable', scheduled, 100, 3_000);
    await cancelled(later)
      .and(ACME, restored)
      .andLate(DAY - 3_000, ACME, available, creditRedeemed(later, 'd', 100, 3_000))
      .then({
        daily_counts: [counted()],
        daily_credit: [moved({ ...NEXT, restored: '100', redeemed: '100' })],
        credit_items: [item({ redeemed: 100, redeems_automatically: true })],
        credit_holders: [holder(0)],
      });
    await cancelled(scheduled)
      .and(ACME, restored)
      .andLate(DAY, ACME, available, aboutReward('RewardExpired', scheduled, 100, 4_000))
      .then({
        daily_counts: [counted()],
        credit_items: [item({ ...dateColumns, phase: 'EXPIRED' })],
        credit_holders: [holder(0)],
      });
  });

  test('an erasure cancels what the person had, on its day, and later events of it move nothing', async () => {
    const granted = given(ACME, reward, rewardGranted('w2', BOB, credit(5, 'Cents')));
    const left = {
      daily_counts: [counted({ rewards_granted: 2 })],
      daily_credit: [moved({ issued: '105' }), moved({ ...NEXT, unit: 'cents', cancelled: '100' })],
      credit_items: [item({ reward_id: 'w2', person: BOB.person, assigned: 5 })],
      credit_holders: [holder(5, BOB.person)],
    };
    const erased = granted.and(ACME, erasureRequested([ANN.person], { at: DAY }));
    await erased.then(left);
    await erased.and(ACME, aboutReward('RewardExpired', reward, 100, 2 * DAY)).then(left);
    await granted.and(ACME, erasureCompleted([ANN.person], { at: DAY })).then(left);
  });

  test('a redemption of more than was assigned contradicts the rows', () =>
    given(ACME, reward, creditRedeemed(reward, 'd', 101, 2_200)).refused(
      'more was redeemed than assigned: reward w1',
    ));
});

/** Ids of people come in the order of their hashes. */
function inOrder(...rows: readonly ReturnType<typeof holder>[]): ReturnType<typeof holder>[] {
  return [...rows].sort((a, b) => (a.person < b.person ? -1 : 1));
}
