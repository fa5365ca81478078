import { Logger as WorkerLogger, run, runMigrations, type Runner, type TaskList } from 'graphile-worker';
import type { Pool } from 'pg';
import { backOffMs, pause } from '../pause.js';
import type { Reaction } from './policy.js';

/** Times are kept in Postgres (graphile-worker), so nothing that matters is lost with a process. */

type Job = Extract<Reaction, { kind: 'job' }>;
type JobHandlers = Readonly<Record<Job['task'], (payload: Readonly<Record<string, string>>) => Promise<void>>> &
  Readonly<Record<RegularTask, () => Promise<void>>>;

/** What is done by the clock, in UTC. Erasures are checked every hour, so that a start has little to look at. */
const REGULAR = {
  'purge-idempotency-keys': '17 3 * * *',
  'scrub-erased': '41 3 * * *',
  'check-erasures': '29 * * * *',
} as const;
type RegularTask = keyof typeof REGULAR;

const AT_ONCE = 2;
const POLL_MS = 1_000;

export class Jobs {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private runner: Runner | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly handlers: JobHandlers,
    private readonly logger: { warn(fields: object, message: string): void },
  ) {}

  /** Makes the queue's own tables, if they are not there. */
  async prepare(): Promise<void> {
    await runMigrations({ pgPool: this.pool, logger: silent });
  }

  /** Adds a job, or moves the one that stands under its key. */
  async add({ task, payload, runAt, key }: Job): Promise<void> {
    await this.pool.query(
      'select graphile_worker.add_job($1, payload := $2::json, run_at := to_timestamp($3 / 1000.0), job_key := $4, max_attempts := 25)',
      [task, JSON.stringify(payload), runAt, key],
    );
  }

  /** Works in the background and goes on through every outage until `stop`. */
  start(): void {
    this.running ??= this.work();
  }

  /** Lets the jobs in hand finish. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.runner?.stop().catch(() => undefined);
    await this.running;
  }

  private async work(): Promise<void> {
    for (let failures = 0; !this.stopping.signal.aborted; failures++) {
      try {
        this.runner = await run({
          pgPool: this.pool,
          taskList: this.tasks(),
          crontab: Object.entries(REGULAR)
            .map(([task, when]) => `${when} ${task}`)
            .join('\n'),
          concurrency: AT_ONCE,
          pollInterval: POLL_MS,
          noHandleSignals: true,
          logger: silent,
        });
        if (this.stopping.signal.aborted) await this.runner.stop();
        await this.runner.promise;
      } catch (error) {
        this.logger.warn({ error: error instanceof Error ? error.name : 'unknown error' }, 'jobs are interrupted, trying again');
      }
      await pause(backOffMs(failures, { first: 200, max: 5_000 }), this.stopping.signal);
    }
  }

  private tasks(): TaskList {
    return {
      'settle-reward': (payload) => this.handlers['settle-reward'](texts(payload)),
      'finish-moderation': (payload) => this.handlers['finish-moderation'](texts(payload)),
      'finish-erasure': (payload) => this.handlers['finish-erasure'](texts(payload)),
      'purge-idempotency-keys': () => this.handlers['purge-idempotency-keys'](),
      'scrub-erased': () => this.handlers['scrub-erased'](),
      'check-erasures': () => this.handlers['check-erasures'](),
    };
  }
}

/** What a job was added with: members that are texts. */
function texts(payload: unknown): Readonly<Record<string, string>> {
  const members = typeof payload === 'object' && payload !== null ? Object.entries(payload) : [];
  return Object.fromEntries(members.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])));
}

/** The queue's own messages may quote payloads; failures show in its tables and in our metrics. */
const silent = new WorkerLogger(() => () => undefined);
