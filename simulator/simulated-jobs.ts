import type { Job } from '../src/work-queue/add-job.js';
import type { jobHandlers } from '../src/reacting/reactions.js';
import type { Line } from './connection.js';
import { StoreAway } from './store-away.js';
import type { VirtualWorld } from './virtual-world.js';

interface QueuedJob extends Job {
  /** Of this adding: a replaced job is another one. */
  readonly serial: number;
  /** By the world's elapsed time: a clock that is ahead for a moment locks no job for days. */
  lockedUntil: number;
}

/** The scheduled jobs as their server holds them, by their key. */
export class JobTable extends Map<string, QueuedJob> {
  private serial = 0;
  /** Why a job failed although the stores answered. */
  failed: unknown;

  add(job: Job): void {
    this.set(job.key, { ...job, serial: (this.serial += 1), lockedUntil: 0 });
  }
}

const away = (): Error => new StoreAway('the simulated queue is away');
const POLL_MS = 1_000;
const LOCK_MS = 60_000;

/** The queue as one process reaches it: jobs run at least once, late, and now and then twice. */
export class SimulatedJobs {
  constructor(
    private readonly table: JobTable,
    private readonly line: Line,
  ) {}

  add(job: Job): Promise<void> {
    return this.line.write('jobs', away, () => {
      this.table.add(job);
    });
  }

  start(
    world: VirtualWorld,
    handlers: ReturnType<typeof jobHandlers>,
    isUnavailable: (error: unknown) => boolean,
  ): void {
    const look = async (): Promise<void> => {
      const due = await this.take(world).catch(() => undefined);
      if (due) {
        try {
          await handlers[due.task](due.payload);
          await this.done(due);
        } catch (error) {
          // Its lock lapses, and it runs again.
          if (!isUnavailable(error)) this.table.failed = error;
        }
      }
      world.after(due ? 0 : POLL_MS, () => void look());
    };
    void look();
  }

  private take(world: VirtualWorld): Promise<QueuedJob | undefined> {
    return this.line.write('jobs', away, () => {
      const elapsed = world.elapsed();
      for (const job of this.table.values()) {
        if (job.runAt > world.now() || job.lockedUntil > elapsed) continue;
        job.lockedUntil = elapsed + LOCK_MS;
        return { ...job };
      }
      return undefined;
    });
  }

  private done(job: QueuedJob): Promise<void> {
    return this.line.write('jobs', away, () => {
      if (this.table.get(job.key)?.serial === job.serial) this.table.delete(job.key);
    });
  }
}
