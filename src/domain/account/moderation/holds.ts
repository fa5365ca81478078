import type { OpenAccount } from '../account-shapes.js';
import type { RewardState } from '../rewards/reward-state.js';
import type { AccountEvent } from '../account.events.js';

/** A moderation's id. Commands that depend on a held reward or referral wait for its end. */
export const heldBy = (state: OpenAccount, reward: RewardState): string | undefined =>
  reward.referralId === null ? undefined : state.holds.get(reward.referralId);

/** The moderation that holds the subject of the event. */
export function holdOnEvent(state: OpenAccount, event: AccountEvent): string | undefined {
  if (state.holds.size === 0) return undefined;
  if ('referralId' in event && event.referralId !== null) return state.holds.get(event.referralId);
  const reward =
    'rewardId' in event && event.rewardId !== null ? state.rewards.get(event.rewardId) : undefined;
  return reward && heldBy(state, reward);
}
