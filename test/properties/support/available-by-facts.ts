import type { AccountEvent } from '../../../src/domain/account/account.events.js';

/**
 * What an account may spend at a time, by unit: from the events' dates and sums alone, written
 * apart from the service's fold.
 */
export function availableByFacts(
  events: readonly AccountEvent[],
  clock: number,
): Record<string, number> {
  const rewards = new Map<
    string,
    { unit: string; left: number; counts: boolean; person: string }
  >();
  const [gone, cancelled] = [new Set<string>(), new Set<string>()];
  for (const event of events) {
    const reward =
      'rewardId' in event && event.rewardId !== null ? rewards.get(event.rewardId) : undefined;
    if (event.type === 'RewardGranted' && event.value.type === 'CREDIT') {
      const { value, person, dateScheduledFor: from, dateExpires: until } = event;
      const isInTime = (from ?? -Infinity) <= clock && clock < (until ?? Infinity);
      rewards.set(event.rewardId, {
        unit: value.unit.toLowerCase(),
        left: value.assignedCredit,
        counts: isInTime && !event.redeemsAutomatically,
        person,
      });
    }
    if (event.type === 'CreditRedeemed' && reward) reward.left -= event.amount;
    if (event.type === 'RewardCancelled') cancelled.add(event.rewardId);
    if (event.type === 'RewardRestored') cancelled.delete(event.rewardId);
    if (event.type === 'ErasureRequested') for (const person of event.persons) gone.add(person);
  }
  const sums: Record<string, number> = {};
  for (const [rewardId, { unit, left, counts, person }] of rewards) {
    const isThere = counts && !gone.has(person) && !cancelled.has(rewardId);
    sums[unit] = (sums[unit] ?? 0) + (isThere ? left : 0);
  }
  return sums;
}
