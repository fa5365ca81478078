import type { EventLog } from '../event-log/event-log.js';
import { logPages } from '../event-log/event-pages.js';
import { timeNow } from '../foundation/world.js';
import type { Job } from '../work-queue/jobs.js';
import { POLICIES } from './policies.js';
import type { LedgerDates } from '../reacting/ledger-dates.js';
import type { PaymentQueue } from '../reacting/reactions.js';
import { decodePolicyEvents, type ReadingOptions } from '../reacting/reading-events.js';

/** Earlier jobs took effect long before the loss, unless the queue stopped for days. */
const DUE_WITHIN_MS = 30 * 86_400_000;
const PAGE = 500;

export interface RepeatingParts extends Pick<ReadingOptions, 'decode' | 'unreadableReason'> {
  readonly log: Pick<EventLog, 'readAll' | 'compare' | 'head'>;
  readonly jobs: { add(job: Job): Promise<void> };
  /** Missing: no ledger has a test clock. */
  readonly dates?: Pick<LedgerDates, 'plan'>;
  /** Missing: no payment provider is called. */
  readonly payments?: PaymentQueue | undefined;
}

/** The job that repeats those whose effects the log may have lost. */
export const repeatJobsJob = (): Job => ({
  task: 'repeat-lost-jobs',
  payload: { since: new Date(timeNow() - DUE_WITHIN_MS).toISOString() },
  runAt: timeNow(),
  key: 'repeat-lost-jobs',
});

/** The queue retries the job later: a process of a newer release may run it then. */
class EventsOfLaterRelease extends Error {
  override readonly name = 'EventsOfLaterRelease';
  constructor(count: number) {
    super(`the jobs of ${count} events are left to a release that can read them`);
  }
}

/**
 * Adds again the jobs of all events that were due since then: their effects may be lost, and a
 * second run changes nothing. The same for accounts that the payment provider was called for,
 * whatever the age of their rewards.
 * @param since epoch milliseconds.
 * @throws {EventsOfLaterRelease} after the jobs of all events that this release can read.
 */
export async function repeatJobs(
  { log, jobs, payments, dates, ...readingOf }: RepeatingParts,
  since: number,
): Promise<void> {
  const reading = { policies: POLICIES, ...readingOf };
  let unknown = 0;
  for await (const page of logPages(log, { upTo: await log.head(), limit: PAGE })) {
    for (const { event, policies, parkedAt } of await decodePolicyEvents(page, reading)) {
      if (parkedAt?.unknown) unknown += 1;
      for (const reaction of event ? policies.flatMap((policy) => policy.react(event)) : [])
        if (event && reaction.kind === 'job' && reaction.runAt >= since)
          await (dates?.plan(event, reaction, (job) => jobs.add(job)) ?? jobs.add(reaction));
        else if (event?.event.type === 'RewardGranted' && reaction.kind === 'payment')
          await (dates?.plan(event, reaction, (payment) => payments?.plan(event, payment)) ??
            payments?.plan(event, reaction));
    }
  }
  if (unknown > 0) throw new EventsOfLaterRelease(unknown);
}
