import { referralRewards } from '../../../../projections/referrals/table.js';
import { balanceItems, balances } from '../../../../projections/reward-balances/table.js';
import {
  redemptions as redemptionsTable,
  rewards,
  type RewardContent,
} from '../../../../projections/rewards/table.js';
import type { AccountEvent } from '../../../domain/account/account.events.js';
import { rewardFacts } from '../../../domain/account/account.facts.js';
import {
  amountLeft,
  unitKey,
  unitOf,
  type OpenAccount,
  type RewardState,
} from '../../../domain/account/account.state.js';
import { isAboutReward, unlessForgotten, type ExpectedRow } from './expected-row.js';
import { unlistedKey, type FoldedAccount } from './folded-account.js';

/** The rows that rewards and balances should have, as the ledger says. */

export const presentRewards = (state: OpenAccount): RewardState[] =>
  [...state.rewards.values()].filter(({ person }) => !state.remains.forgotten.has(person));

export function expectedRewards(
  { state, redemptions }: FoldedAccount,
  accountRef: string,
): ExpectedRow[] {
  if (state.status === 'absent') return [];
  return presentRewards(state).flatMap((reward) => {
    const times = redemptions.get(reward.rewardId) ?? [];
    return [
      rewardRow(state, accountRef, reward, times.length),
      ...times.map(({ rewardId, redemptionId, amount, at, paid = null }, index) => ({
        table: redemptionsTable,
        key: [rewardId, redemptionId],
        values: {
          number: index + 1,
          date_redeemed: at,
          quantity: amount,
          external_reference: paid,
        },
        isAbout: isAboutReward(rewardId),
      })),
    ];
  });
}

function rewardRow(
  state: OpenAccount,
  accountRef: string,
  reward: RewardState,
  redeemedTimes: number,
): ExpectedRow {
  const { rewardId } = reward;
  const content = rewards.rowOf<RewardContent>(rewardFacts(state, accountRef, reward));
  const userId = unlessForgotten(state.users.get(reward.person)?.profile?.id);
  return {
    table: rewards,
    key: [rewardId],
    isAbout: isAboutReward(rewardId),
    mayBeMissing: userId === undefined,
    values: {
      ...content,
      account_id: unlessForgotten(state.accountId),
      user_id: userId,
      redeemed_times: redeemedTimes,
    },
  };
}

export function expectedReferralRewards({ state }: FoldedAccount): ExpectedRow[] {
  if (state.status === 'absent') return [];
  const sides = {
    REFERRED: 'referred',
    FRIEND_SIGNUP: 'referrer',
    MANUAL: undefined,
    EVENT: undefined,
  } as const;
  return presentRewards(state).flatMap(({ rewardId, referralId, source, person, dateGiven }) => {
    const side = sides[source];
    if (referralId === null || side === undefined) return [];
    const mayBeMissing = !state.users.get(person)?.profile;
    return [
      {
        table: referralRewards,
        key: [referralId, side],
        values: { reward_id: rewardId, date_granted: dateGiven },
        mayBeMissing,
        isAbout: isAboutReward(rewardId),
      },
    ];
  });
}

type Bucket = 'pending' | 'available' | 'expired' | 'cancelled';

/** As recorded: the time that has passed since is applied when a balance is read. */
function bucketOf({ dateCancelled, phase }: RewardState): Bucket {
  if (dateCancelled !== null) return 'cancelled';
  switch (phase) {
    case 'PENDING':
      return 'pending';
    case 'AVAILABLE':
      return 'available';
    case 'EXPIRED':
      return 'expired';
  }
}

export function expectedBalances(
  { state, unlisted }: FoldedAccount,
  accountRef: string,
): ExpectedRow[] {
  if (state.status === 'absent') return [];
  const present = presentRewards(state);
  const byBalance = new Map<string, RewardState[]>();
  for (const reward of present) {
    const key = JSON.stringify([
      accountRef,
      reward.person,
      reward.value.type,
      unitKey(unitOf(reward.value) ?? ''),
    ]);
    const rewardsOfIt = byBalance.get(key);
    if (rewardsOfIt) rewardsOfIt.push(reward);
    else byBalance.set(key, [reward]);
  }
  return [
    ...present.map((reward) => balanceItem(state, reward)),
    ...[...byBalance].map(([key, rewardsOfIt]) =>
      balance(state, JSON.parse(key) as string[], { rewardsOfIt, unlisted }),
    ),
  ];
}

function balanceItem(state: OpenAccount, reward: RewardState): ExpectedRow {
  const { value } = reward;
  const userId = unlessForgotten(state.users.get(reward.person)?.profile?.id);
  return {
    table: balanceItems,
    key: [reward.rewardId],
    isAbout: isAboutReward(reward.rewardId),
    mayBeMissing: userId === undefined,
    values: {
      person: reward.person,
      user_id: userId,
      type: value.type,
      source: reward.source,
      unit_key: unitKey(unitOf(value) ?? ''),
      bucket: bucketOf(reward),
      phase: reward.phase,
      cancelled: reward.dateCancelled !== null,
      assigned: value.type === 'CREDIT' ? value.assignedCredit : 0,
      redeemed: reward.redeemed,
      percent: value.type === 'PCT_DISCOUNT' ? value.discountPercent : 0,
      date_given: reward.dateGiven,
      date_scheduled_for: reward.dateScheduledFor,
      date_expires: reward.dateExpires,
      redeems_automatically: reward.redeemsAutomatically,
    },
  };
}

function balance(
  state: OpenAccount,
  key: readonly string[],
  {
    rewardsOfIt,
    unlisted,
  }: { readonly rewardsOfIt: readonly RewardState[] } & Pick<FoldedAccount, 'unlisted'>,
): ExpectedRow {
  const person = rewardsOfIt[0]?.person ?? '';
  const [, , type, unit = ''] = key;
  const taken = type === 'CREDIT' ? (unlisted.get(unlistedKey(person, unit)) ?? 0) : 0;
  const ids = new Set(rewardsOfIt.map(({ rewardId }) => rewardId));
  const sum = (figure: (reward: RewardState) => number): number =>
    rewardsOfIt.reduce((total, reward) => total + figure(reward), 0);
  const left = (bucket: Bucket) =>
    sum((reward) => (bucketOf(reward) === bucket ? amountLeft(reward) : 0));
  const percent = (source?: RewardState['source']) =>
    sum((reward) => {
      const counts =
        bucketOf(reward) === 'available' && (source === undefined || reward.source === source);
      return counts && reward.value.type === 'PCT_DISCOUNT' ? reward.value.discountPercent : 0;
    });
  return {
    table: balances,
    key,
    mayBeMissing: !state.users.get(person)?.profile,
    isAbout: (event: AccountEvent) =>
      ('rewardId' in event && event.rewardId !== null && ids.has(event.rewardId)) ||
      ('lines' in event && event.lines.some(([id]) => ids.has(id))),
    values: {
      user_id: unlessForgotten(state.users.get(person)?.profile?.id),
      account_id: unlessForgotten(state.accountId),
      date_created: rewardsOfIt.reduce(
        (first, { dateGiven }) => Math.min(first, dateGiven),
        Infinity,
      ),
      count: sum((reward) => (isCounted(reward) ? 1 : 0)),
      redeemed_credit: sum(({ redeemed }) => redeemed) + taken,
      available_credit: left('available') - taken,
      pending_credit: left('pending'),
      expired_credit: left('expired'),
      cancelled_credit: left('cancelled'),
      discount_percent: percent(),
      referred_percent: percent('REFERRED'),
      referrer_percent: percent('FRIEND_SIGNUP'),
      fuel_tank_codes: sum((reward) =>
        reward.value.type === 'FUELTANK' && bucketOf(reward) === 'available' ? 1 : 0,
      ),
    },
  };
}

function isCounted(reward: RewardState): boolean {
  const isAvailable = bucketOf(reward) === 'available';
  return reward.value.type === 'CREDIT'
    ? reward.redeemed > 0 || (isAvailable && amountLeft(reward) > 0)
    : isAvailable;
}
