import type { OpenAccount, RewardState } from '../account.state.js';
import type { Draft } from '../draft.js';
import { isBeingPushed } from '../rewards/reward-state.js';
import { cancel, settle } from '../rewards/rewards.js';

/** What both sides of a referral lose when its first invoice is refunded in full. */

/**
 * Whether the refund takes the reward back, at once or with the outcome of a call: it is not
 * redeemed in any part. A discount has no redemption: it is used once a subscription has it.
 */
export function isTakenBack({ refunded }: OpenAccount, reward: RewardState): boolean {
  const { referralId, dateCancelled, redeemed, pushed } = reward;
  if (referralId === null || !refunded.has(referralId) || dateCancelled !== null) return false;
  return redeemed === 0 && pushed?.status !== 'PUSHED' && (pushed?.done.length ?? 0) === 0;
}

/**
 * Records the due changes of a reward, and cancels it when its referral was refunded. One whose
 * call may have taken effect waits for the outcome. Also those that nobody else may cancel: the
 * program's owner chose the days.
 */
export function takeBack(draft: Draft, rewardId: string, now: number): void {
  const reward = settle(draft, rewardId, now);
  if (reward && isTakenBack(draft.state, reward) && !isBeingPushed(reward))
    cancel(draft, rewardId, now, { by: 'REQUEST' });
}
