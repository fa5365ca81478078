import type { AccountEventOf } from '../domain/account/account.events.js';
import type { DomainEvent } from '../domain/events.js';
import type { LedgerEvent } from '../projecting/projector.js';
import type { Policy, Reaction } from '../reacting/policy.js';

/**
 * Schedules a job for the time at which a reward becomes available or expires, so that the ledger
 * records it. Late jobs are harmless: every decision and every balance uses the clock.
 */
export const settleRewardsOnTheirDates: Policy = {
  name: 'settle-rewards-on-their-dates',
  handles: new Set(['RewardGranted']),
  react: (ledgerEvent) =>
    ledgerEvent.event.type === 'RewardGranted' ? jobs(ledgerEvent, ledgerEvent.event) : [],
};

function jobs(
  ledgerEvent: LedgerEvent<DomainEvent>,
  event: AccountEventOf<'RewardGranted'>,
): Reaction[] {
  const dates = { available: event.dateScheduledFor, expired: event.dateExpires };
  // What was due before an import is in its event.
  const since = event.imported?.at ?? -Infinity;
  return Object.entries(dates).flatMap(([what, date]) =>
    date === null || date <= since ? [] : [settleJob(ledgerEvent, event.rewardId, what, date)],
  );
}

function settleJob(
  { tenant, mode, accountRef }: LedgerEvent<DomainEvent>,
  rewardId: string,
  what: string,
  runAt: number,
): Reaction {
  return {
    kind: 'job',
    task: 'settle-reward',
    payload: { tenant, mode, account: accountRef, rewardId },
    runAt,
    key: `settle-reward/${rewardId}/${what}`,
  };
}
