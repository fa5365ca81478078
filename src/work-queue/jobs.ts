import { EventEmitter } from 'node:events';
import {
  Logger as WorkerLogger,
  run,
  runMigrations,
  type Runner,
  type Task,
  type TaskList,
  type WorkerEvents,
} from 'graphile-worker';
import type { Pool } from 'pg';
import { errorName } from '../foundation/describe-error.js';
import { errorCode } from '../foundation/error-code.js';
import type { Logger } from '../foundation/logger.js';
import { atMost } from '../foundation/in-time.js';
import { backOffMs, pause } from '../foundation/pause.js';
import { inSpan } from '../foundation/tracing.js';
import { elapsed } from '../foundation/world.js';
import type { ProcessPresence } from '../postgres/process-presence.js';
import { addJob, type Job } from './add-job.js';
import { QueuePool } from './queue-pool.js';
import { StrandedJobs, workerName } from './stranded-jobs.js';

/** Scheduled jobs, stored in Postgres (graphile-worker), so that none is lost with a process. */

/** @param payload empty for a recurring job. */
export type JobHandler = (payload: Readonly<Record<string, string>>) => Promise<unknown>;

/**
 * Recurring jobs, in UTC. Erasures are checked every hour, so that the check at the start is short.
 */
const REGULAR = {
  'purge-idempotency-keys': '17 3 * * *',
  'scrub-erased': '41 3 * * *',
  'check-erasures': '29 * * * *',
  'finish-key-rotation': '* * * * *',
  'record-themes': '* * * * *',
} as const;

const AT_ONCE = 2;
const POLL_MS = 1_000;
/** Longer jobs are interrupted at the end of the process, and run again in the next one. */
const STOP_WITHIN_MS = 5_000;
const UNLOCK_EVERY_MS = 2_500;
/** Retry delay of a job while a store is unavailable. */
const AGAIN = { first: 200, max: 5_000 } as const;
/** A statement that times out may do so every time: it must not block the other jobs. */
const STATEMENT_TIMEOUT = '57014';

/** Hears of every run of a job, for metrics. */
export interface JobsObserver {
  /** `given-up`: the job failed as often as it may. A run through an outage is one run. */
  ran(task: string, ms: number, outcome: 'done' | 'failed' | 'given-up'): void;
}

export interface JobsOptions {
  readonly handlers: Readonly<Record<Job['task'] | keyof typeof REGULAR, JobHandler>>;
  /** An error of an unavailable store: the job keeps its lock and waits. */
  readonly isUnavailable: (error: unknown) => boolean;
  readonly logger: Pick<Logger, 'warn'>;
  readonly observe?: JobsObserver;
}

export class Jobs {
  private readonly stopping = new AbortController();
  private readonly queue: QueuePool;
  private readonly stranded: StrandedJobs;
  private running: Promise<unknown> | undefined;
  private runner: Runner | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly presence: Pick<ProcessPresence, 'id'>,
    private readonly options: JobsOptions,
  ) {
    this.queue = new QueuePool(pool, options.logger);
    this.stranded = new StrandedJobs(pool, presence.id, (ids) => this.queue.strandedAmong(ids));
  }

  /** Creates the queue's tables if they are missing. */
  async prepare(): Promise<void> {
    await runMigrations({ pgPool: this.pool, logger: silent });
  }

  /** Adds a job, or replaces the one with the same key. */
  async add(job: Job): Promise<void> {
    await addJob(this.pool, job);
  }

  /** Works in the background and continues through every outage until `stop`. */
  start(): void {
    this.running ??= Promise.all([this.work(), this.unlockStranded()]);
  }

  /** Lets running jobs finish within the time limit. The queue is silent after that. */
  async stop(): Promise<void> {
    this.stopping.abort();
    const stopped = Promise.all([this.runner?.stop().catch(() => undefined), this.running]);
    await atMost(STOP_WITHIN_MS, stopped);
    this.queue.close();
  }

  private async work(): Promise<void> {
    for (let failures = 0; !this.stopping.signal.aborted; failures++) {
      try {
        this.runner = await run({
          pgPool: this.queue.pool,
          taskList: this.tasks(),
          crontab: Object.entries(REGULAR)
            .map(([task, when]) => `${when} ${task}`)
            .join('\n'),
          concurrency: AT_ONCE,
          pollInterval: POLL_MS,
          noHandleSignals: true,
          logger: silent,
          events: this.events(),
        });
        if (this.stopping.signal.aborted) await this.runner.stop();
        await this.runner.promise;
      } catch (error) {
        this.options.logger.warn({ error: errorName(error) }, 'jobs are interrupted, trying again');
      }
      await pause(backOffMs(failures, { first: 200, max: 5_000 }), this.stopping.signal);
    }
  }

  private events(): WorkerEvents {
    const events: WorkerEvents = new EventEmitter();
    // Before any job is fetched: a dead worker is recognised by the name in its locks.
    events.on('pool:create', ({ workerPool }) => (workerPool.id = workerName(this.presence.id)));
    // The queue's pool never lets a fetch fail. A statement from the library's start-up may have
    // failed, and the library would keep that error.
    events.on('worker:getJob:error', () => void this.runner?.stop().catch(() => undefined));
    return events;
  }

  private async unlockStranded(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      // The database is unavailable: the next round tries again.
      await this.stranded.unlock().catch(() => undefined);
      await pause(UNLOCK_EVERY_MS, this.stopping.signal);
    }
  }

  /**
   * While a store is unavailable a job keeps its lock and continues soon after: released, its delay
   * would grow with the outage.
   * @throws {JobFailed}
   */
  private async carryOut(work: () => Promise<unknown>): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        await work();
        return;
      } catch (error) {
        const waits =
          this.options.isUnavailable(error) &&
          errorCode(error) !== STATEMENT_TIMEOUT &&
          !this.stopping.signal.aborted;
        if (!waits) throw new JobFailed(error);
      }
      await pause(backOffMs(failures, AGAIN), this.stopping.signal);
    }
  }

  private tasks(): TaskList {
    const tasks = Object.entries(this.options.handlers);
    return Object.fromEntries(tasks.map(([name, handler]) => [name, this.observed(name, handler)]));
  }

  private observed(name: string, handler: JobHandler): Task {
    const { observe } = this.options;
    return async (payload, helpers) => {
      const began = elapsed();
      const { attempts, max_attempts: attemptsMax } = helpers.job;
      const ran = (outcome: Parameters<JobsObserver['ran']>[2]): void =>
        observe?.ran(name, elapsed() - began, outcome);
      try {
        await inSpan(`job ${name}`, { 'ledger.task': name, 'ledger.attempt': attempts }, () =>
          this.carryOut(() => handler(texts(payload))),
        );
      } catch (error) {
        ran(attempts >= attemptsMax ? 'given-up' : 'failed');
        throw error;
      }
      ran('done');
    };
  }
}

/**
 * The queue stores the message with the job, so it contains the error's name only: its message may
 * quote values.
 */
class JobFailed extends Error {
  override readonly name = 'JobFailed';
  constructor(cause: unknown) {
    super(
      [cause instanceof Error ? cause.name : 'unknown error', errorCode(cause) ?? '']
        .join(' ')
        .trim(),
    );
  }
}

/** A job's payload: members that are texts. */
function texts(payload: unknown): Readonly<Record<string, string>> {
  const members = typeof payload === 'object' && payload !== null ? Object.entries(payload) : [];
  return Object.fromEntries(
    members.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

/**
 * The queue's own messages may quote payloads; failures are visible in its tables and in our
 * metrics.
 */
const silent = new WorkerLogger(() => () => undefined);
