import { errorNameAndCode } from '../foundation/describe-error.js';
import { errorCode } from '../foundation/error-code.js';
import { waitAtMost } from '../foundation/timeout.js';
import { inSpan } from '../foundation/tracing.js';
import { elapsed, timeNow } from '../foundation/world.js';
import {
  againIn,
  DONE,
  postponedFor,
  type ClaimedWork,
  type WorkOutcome,
  type WorkPayload,
  type WorkStore,
} from './work-items.js';
import { Worker, type WorkerParts } from './worker.js';

/** Scheduled jobs: items of the work queue, so that no job is lost when a process ends. */

/** A job that runs once. */
export interface Job {
  readonly task: 'settle-reward' | 'finish-moderation' | 'finish-erasure' | 'repeat-lost-jobs';
  readonly payload: WorkPayload;
  /** Epoch milliseconds. */
  readonly runAt: number;
  /** Jobs of one key replace each other. */
  readonly key: string;
}

export const JOBS = 'job';

/** Adds a job, or replaces the one with the same key. */
export const addJob = (
  store: Pick<WorkStore, 'add'>,
  { task, payload, runAt, key }: Job,
): Promise<void> =>
  store.add(
    [
      {
        kind: JOBS,
        id: key,
        tenant: payload['tenant'] ?? '',
        dueAt: runAt,
        payload: { ...payload, task },
      },
    ],
    'replacement',
  );

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Recurring jobs: interval, and time after midnight UTC. */
const RECURRING = {
  'purge-idempotency-keys': { everyMs: DAY_MS, afterMs: 3 * HOUR_MS + 17 * MINUTE_MS },
  'purge-run-files': { everyMs: HOUR_MS, afterMs: 11 * MINUTE_MS },
  'scrub-erased': { everyMs: DAY_MS, afterMs: 3 * HOUR_MS + 41 * MINUTE_MS },
  'check-erasures': { everyMs: HOUR_MS, afterMs: 29 * MINUTE_MS },
  'finish-key-rotation': { everyMs: MINUTE_MS, afterMs: 0 },
  'record-themes': { everyMs: MINUTE_MS, afterMs: 0 },
} as const;

type RecurringTask = keyof typeof RECURRING;

/** Tolerance when the database's clock is ahead of this process. */
const EARLY_MS_MAX = 1_000;
/** A run that was missed by more, for example while no process ran, is skipped. */
const MISSED_MS = 10 * MINUTE_MS;

const CONCURRENCY = 2;
/** Other processes take over the jobs of a frozen process after this time. */
const LEASE_MS = 4 * HOUR_MS;
const STOP_WITHIN_MS = 5_000;
const ATTEMPTS_MAX = 25;
/** SQLSTATE of a statement timeout, which may repeat: it counts as a failure. */
const STATEMENT_TIMEOUT = '57014';

/** Grows up to six hours, so that the last try is four days after the first. */
const retryInMs = (attempts: number): number => Math.exp(Math.min(attempts, 10)) * 1_000;

/** @param payload empty for a recurring job. */
export type JobHandler = (payload: WorkPayload) => Promise<unknown>;

export interface JobsObserver {
  /** `given-up`: the last try failed. Runs that an outage ended are not reported. */
  ran(task: string, ms: number, outcome: 'done' | 'failed' | 'given-up'): void;
}

export interface JobsParts extends Pick<WorkerParts, 'store' | 'presence'> {
  readonly handlers: Readonly<Record<Job['task'], JobHandler>>;
  readonly regular: Readonly<Partial<Record<RecurringTask, JobHandler>>>;
  /** A store is unavailable: the job is postponed without a failure. */
  readonly isUnavailable: (error: unknown) => boolean;
  readonly observe?: JobsObserver;
}

export class Jobs {
  private readonly worker: Worker;
  private readonly handlers: ReadonlyMap<string, JobHandler>;

  constructor(private readonly parts: JobsParts) {
    this.handlers = new Map(Object.entries({ ...parts.handlers, ...parts.regular }));
    const { store, presence } = parts;
    this.worker = new Worker({
      store,
      presence,
      // The queue stores the description, and messages may quote values.
      describe: errorNameAndCode,
      kind: {
        name: JOBS,
        concurrency: CONCURRENCY,
        ofTenant: CONCURRENCY,
        leaseMs: LEASE_MS,
        perform: (item) => this.perform(item),
      },
    });
  }

  /** Adds a job, or replaces the one with the same key. */
  async add(job: Job): Promise<void> {
    await addJob(this.parts.store, job);
    if (job.runAt <= timeNow()) this.worker.loop.notify();
  }

  /** Adds the recurring jobs and works until `stop`. */
  async start(): Promise<void> {
    const tasks = Object.keys(this.parts.regular);
    if (tasks.length > 0) await this.enter(tasks);
    this.worker.loop.start();
  }

  private enter(tasks: readonly string[]): Promise<void> {
    return this.parts.store.add(
      tasks.map((task) => ({
        kind: JOBS,
        id: task,
        tenant: '',
        dueAt: nextTime(task),
        payload: { task },
      })),
      'missing',
    );
  }

  /** Waits for running jobs up to the time limit; another process repeats the others. */
  async stop(): Promise<void> {
    await waitAtMost(STOP_WITHIN_MS, this.worker.stop());
  }

  private async perform(item: ClaimedWork): Promise<WorkOutcome> {
    const { task = '', ...payload } = item.payload;
    // Jobs are due by the database's clock, and handlers decide by this process's clock.
    const earlyMs = item.firstDueAt - timeNow();
    if (earlyMs > 0) return postponedFor(Math.min(earlyMs, EARLY_MS_MAX));
    const next = nextTime(task);
    const regularly: WorkOutcome | undefined =
      next === null
        ? undefined
        : { kind: 'again', after: { at: next }, reason: null, attempts: 0, waits: true };
    if (regularly && item.lateMs > MISSED_MS) return regularly;
    const began = elapsed();
    const ran = (outcome: Parameters<JobsObserver['ran']>[2]): void =>
      this.parts.observe?.ran(task, elapsed() - began, outcome);
    try {
      await inSpan(`job ${task}`, { 'ledger.task': task, 'ledger.attempt': item.attempts }, () =>
        this.handle(task, payload),
      );
    } catch (error) {
      if (this.parts.isUnavailable(error) && errorCode(error) !== STATEMENT_TIMEOUT) throw error;
      const reason = errorNameAndCode(error);
      const isLast = item.attempts >= ATTEMPTS_MAX && next === null;
      ran(isLast ? 'given-up' : 'failed');
      if (isLast) return { kind: 'dead', reason };
      const inMs = retryInMs(item.attempts);
      const ms = Math.min(inMs, next === null ? inMs : next - timeNow());
      return againIn(ms, reason);
    }
    ran('done');
    return regularly ?? DONE;
  }

  private async handle(task: string, payload: WorkPayload): Promise<void> {
    const handler = this.handlers.get(task);
    // Another release may know the task.
    if (handler === undefined) throw new UnknownTask();
    await handler(payload);
  }
}

class UnknownTask extends Error {
  override readonly name = 'UnknownTask';
}

const isRecurring = (task: string): task is RecurringTask => Object.hasOwn(RECURRING, task);

/** The next run of a recurring job; null: it is not recurring. */
function nextTime(task: string): number | null {
  if (!isRecurring(task)) return null;
  const { everyMs, afterMs } = RECURRING[task];
  return (Math.floor((timeNow() - afterMs) / everyMs) + 1) * everyMs + afterMs;
}
