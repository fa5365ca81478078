/** States of a reward as people see them: the first that fits. */
export const SHOWN_REWARD_STATES = [
  'Cancelled',
  'Redeemed',
  'Expired',
  'Pending',
  'Partly redeemed',
  'Available',
] as const;
export type ShownRewardState = (typeof SHOWN_REWARD_STATES)[number];

/** Inputs of the shown state. Epoch milliseconds; null: none. */
export interface DatedReward {
  /** Credit; null: another type. */
  readonly granted: number | null;
  readonly redeemed: number | null;
  /** Redeemed in full when it becomes available. */
  readonly redeemsAutomatically: boolean;
  readonly dateScheduledFor: number | null;
  readonly dateExpires: number | null;
  readonly dateCancelled: number | null;
}

export interface ShownRewardUse {
  readonly state: ShownRewardState;
  /** Null: not credit. */
  readonly redeemed: number | null;
  /** Credit that can still be spent, now or later. Null: not credit. */
  readonly left: number | null;
}

/** By the clock. Credit with nothing left is redeemed, whatever its expiry. */
export function shownReward(reward: DatedReward, now: number): ShownRewardUse {
  const redeemed = redeemedBy(reward, now);
  const rest = reward.granted === null ? null : reward.granted - (redeemed ?? 0);
  const state = stateOf({ ...reward, redeemed }, rest, now);
  const isOver = state === 'Cancelled' || state === 'Expired';
  return { state, redeemed, left: isOver && rest !== null ? 0 : rest };
}

function stateOf(
  { redeemed, dateScheduledFor, dateExpires, dateCancelled }: DatedReward,
  rest: number | null,
  now: number,
): ShownRewardState {
  if (dateCancelled !== null) return 'Cancelled';
  if (rest !== null && rest <= 0) return 'Redeemed';
  if (dateExpires !== null && dateExpires <= now) return 'Expired';
  if (dateScheduledFor !== null && dateScheduledFor > now) return 'Pending';
  return (redeemed ?? 0) > 0 ? 'Partly redeemed' : 'Available';
}

function redeemedBy(reward: DatedReward, now: number): number | null {
  const { granted, redeemed, dateScheduledFor: due, dateCancelled } = reward;
  const isDue = due !== null && due <= now;
  return reward.redeemsAutomatically && redeemed === 0 && dateCancelled === null && isDue
    ? granted
    : redeemed;
}
