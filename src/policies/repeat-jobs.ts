import type { EventLog } from '../event-log/event-log.js';
import { timeNow } from '../foundation/world.js';
import type { Job } from './add-job.js';
import { POLICIES } from './policies.js';
import type { PlansPayments } from './reactions.js';
import { meetEvents, type ReadingOptions } from './reading-events.js';

/**
 * Jobs that were due longer ago had their effect long before a loss: the queue is never that far
 * behind.
 */
const DUE_WITHIN_MS = 7 * 86_400_000;
const PAGE = 500;

export interface RepeatingParts {
  readonly log: Pick<EventLog, 'readAll'>;
  readonly decode: ReadingOptions['decode'];
  readonly jobs: { add(job: Job): Promise<void> };
  /** Missing: nobody calls a payment provider. */
  readonly payments?: PlansPayments | undefined;
}

/** The job that repeats those whose effects the log may have lost. */
export const repeatingJob = (): Job => ({
  task: 'repeat-lost-jobs',
  payload: { since: new Date(timeNow() - DUE_WITHIN_MS).toISOString() },
  runAt: timeNow(),
  key: 'repeat-lost-jobs',
});

/**
 * Adds the jobs of all events once more that were due since then. A job that ran is in no queue,
 * and what it appended may be lost; one that runs again changes nothing. The same holds for
 * accounts that the payment provider was called for, whatever the age of their rewards.
 * @param since epoch milliseconds.
 */
export async function repeatJobs(
  { log, decode, jobs, payments }: RepeatingParts,
  since: number,
): Promise<void> {
  const reading = { policies: POLICIES, decode };
  for (let page = await log.readAll(undefined, PAGE); page.length > 0;) {
    for (const { event, policies } of await meetEvents(page, reading))
      for (const reaction of event ? policies.flatMap((policy) => policy.react(event)) : [])
        if (reaction.kind === 'job' && reaction.runAt >= since) await jobs.add(reaction);
        else if (event?.event.type === 'RewardGranted' && reaction.kind === 'payment')
          await payments?.plan(event, reaction);
    page = await log.readAll(page.at(-1)?.position, PAGE);
  }
}
