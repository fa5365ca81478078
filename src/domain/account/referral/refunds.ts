import type { OpenAccount, RewardState } from '../account.state.js';
import type { Draft } from '../draft.js';
import { isBeingPushed } from '../rewards/reward-state.js';
import { cancel, settle } from '../rewards/rewards.js';

/** No part is redeemed. A discount counts as used once a subscription has it. */
export function isTakenBack({ refunded }: OpenAccount, reward: RewardState): boolean {
  const { referralId, dateCancelled, redeemed, pushed } = reward;
  if (referralId === null || !refunded.has(referralId) || dateCancelled !== null) return false;
  return redeemed === 0 && pushed?.status !== 'PUSHED' && (pushed?.done.length ?? 0) === 0;
}

/**
 * Records due changes of a reward and cancels it when its referral was refunded. Includes rewards
 * that are not cancellable by request. A reward with an unconfirmed call waits for its outcome.
 */
export function takeBack(draft: Draft, rewardId: string, now: number): void {
  const reward = settle(draft, rewardId, now);
  if (reward && isTakenBack(draft.state, reward) && !isBeingPushed(reward))
    cancel(draft, rewardId, now, { by: 'REQUEST' });
}
