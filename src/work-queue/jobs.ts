import { errorNameAndCode } from '../foundation/describe-error.js';
import { errorCode } from '../foundation/error-code.js';
import { atMost } from '../foundation/in-time.js';
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

/** Scheduled jobs: items of the queue, so that none is lost with a process. */

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

/**
 * Recurring jobs: how often, and how long after midnight UTC. Erasures are checked every hour, so
 * that the check at the start is short.
 */
const REGULAR = {
  'purge-idempotency-keys': { everyMs: DAY_MS, afterMs: 3 * HOUR_MS + 17 * MINUTE_MS },
  'purge-run-files': { everyMs: HOUR_MS, afterMs: 11 * MINUTE_MS },
  'scrub-erased': { everyMs: DAY_MS, afterMs: 3 * HOUR_MS + 41 * MINUTE_MS },
  'check-erasures': { everyMs: HOUR_MS, afterMs: 29 * MINUTE_MS },
  'finish-key-rotation': { everyMs: MINUTE_MS, afterMs: 0 },
  'record-themes': { everyMs: MINUTE_MS, afterMs: 0 },
} as const;

type RegularTask = keyof typeof REGULAR;

/** The clock of the database is ahead of this process: the job is read again after it. */
const EARLY_MS_MAX = 1_000;
/** A time that was missed by more, such as of a night without a process, is left out. */
const MISSED_MS = 10 * MINUTE_MS;

const AT_ONCE = 2;
/** A process that is frozen leaves its jobs to others after it. */
const LEASE_MS = 4 * HOUR_MS;
const STOP_WITHIN_MS = 5_000;
const ATTEMPTS_MAX = 25;
/** A statement that times out may do so every time: it counts as a failure. */
const STATEMENT_TIMEOUT = '57014';

/** Retry delay of a job that failed: up to six hours, so that the last try is four days later. */
const retryInMs = (attempts: number): number => Math.exp(Math.min(attempts, 10)) * 1_000;

/** @param payload empty for a recurring job. */
export type JobHandler = (payload: WorkPayload) => Promise<unknown>;

/** Hears of every run of a job, for metrics. */
export interface JobsObserver {
  /** `given-up`: the job failed as often as it may. A run that an outage ended is none. */
  ran(task: string, ms: number, outcome: 'done' | 'failed' | 'given-up'): void;
}

export interface JobsParts extends Pick<WorkerParts, 'store' | 'presence'> {
  readonly handlers: Readonly<Record<Job['task'], JobHandler>>;
  readonly regular: Readonly<Partial<Record<RegularTask, JobHandler>>>;
  /** An error of an unavailable store: the job waits, without a failure. */
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
      // A message may quote values, and the queue stores it with the job.
      describe: errorNameAndCode,
      kind: {
        name: JOBS,
        atOnce: AT_ONCE,
        ofTenant: AT_ONCE,
        leaseMs: LEASE_MS,
        perform: (item) => this.perform(item),
      },
    });
  }

  /** Adds a job, or replaces the one with the same key. */
  async add(job: Job): Promise<void> {
    await addJob(this.parts.store, job);
    if (job.runAt <= timeNow()) this.worker.loop.look();
  }

  /** Enters the recurring jobs, and works in the background until `stop`. */
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

  /** Lets running jobs end within the time limit. Longer ones run again in another process. */
  async stop(): Promise<void> {
    await atMost(STOP_WITHIN_MS, this.worker.stop());
  }

  private async perform(item: ClaimedWork): Promise<WorkOutcome> {
    const { task = '', ...payload } = item.payload;
    // Due by the clock of the database alone. Handlers decide by the clock of this process.
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
    // Another release may know it.
    if (handler === undefined) throw new UnknownTask();
    await handler(payload);
  }
}

class UnknownTask extends Error {
  override readonly name = 'UnknownTask';
}

const isRegular = (task: string): task is RegularTask => Object.hasOwn(REGULAR, task);

/** When a recurring job runs next; null: it is none. */
function nextTime(task: string): number | null {
  if (!isRegular(task)) return null;
  const { everyMs, afterMs } = REGULAR[task];
  return (Math.floor((timeNow() - afterMs) / everyMs) + 1) * everyMs + afterMs;
}
