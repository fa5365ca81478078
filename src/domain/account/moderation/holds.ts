import type { OpenAccount } from '../account-shapes.js';
import type { RewardState } from '../rewards/reward-state.js';
import type { AccountEvent } from '../account.events.js';

/**
 * The holds of a moderation between its preparation and its end: referrals, and with them the
 * rewards of this account's side. A command that would change one of them, or decides by its
 * statuses, waits for the outcome.
 */

/** The moderation that holds this reward; undefined: none. */
export const heldBy = (state: OpenAccount, reward: RewardState): string | undefined =>
  reward.referralId === null ? undefined : state.holds.get(reward.referralId);

/** The moderation that holds the subject of the event; undefined: none. */
export function holdOnEvent(state: OpenAccount, event: AccountEvent): string | undefined {
  if (state.holds.size === 0) return undefined;
  if ('referralId' in event && event.referralId !== null) return state.holds.get(event.referralId);
  const reward =
    'rewardId' in event && event.rewardId !== null ? state.rewards.get(event.rewardId) : undefined;
  return reward && heldBy(state, reward);
}
