import { backOffMs, pause } from './pause.js';
import { elapsed } from './world.js';

/** Of this process, for the health page and the metrics. */
export interface WorkLoopStatus {
  readonly runs: boolean;
  /** Tasks in progress. */
  readonly underWay: number;
  /** How long taking or doing due work has failed. */
  readonly stillSeconds: number;
  readonly lastError: string | null;
}

/** Work that repeats next to the loop. */
export interface PeriodicWork {
  /** @returns the amount done; an error counts as 0. */
  readonly work: () => Promise<number>;
  readonly everyMs: number;
  /** Delay after a run that did something; default `everyMs`. */
  readonly moreMs?: number;
}

export interface WorkLoopParts {
  /** Takes due work. @returns how much. An error is retried. */
  readonly take: () => Promise<number>;
  readonly periodic: readonly PeriodicWork[];
  /** One line for the health page. */
  readonly describe: (error: unknown) => string;
}

const POLL_MS = 1_000;
const RETRY = { first: 100, max: 5_000 };
/** Due work is retried sooner than this; an older failure no longer counts. */
const FAILURE_COUNTS_MS = 60_000;

/** Takes due work; after finding none it pauses until `notify` or a short delay. */
export class WorkLoop {
  private readonly stopping = new AbortController();
  private running: Promise<unknown> | undefined;
  private hasNews = false;
  private wake: () => void = () => undefined;
  private tookAt = 0;
  private problem: string | null = null;
  private notWorked: { readonly since: number; readonly last: number } | undefined;
  private readonly tracked = new Set<Promise<void>>();

  constructor(private readonly parts: WorkLoopParts) {}

  start(): void {
    this.tookAt = elapsed();
    const periodic = this.parts.periodic.map((each) => this.repeat(each));
    this.running ??= Promise.all([this.run(), ...periodic]);
  }

  /** Waits for the running work to end. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.notify();
    await this.running;
    await Promise.all(this.tracked);
  }

  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** Tracks work in progress, which must not reject. */
  track(work: Promise<void>): void {
    const carried: Promise<void> = work.finally(() => {
      this.tracked.delete(carried);
      this.notify();
    });
    this.tracked.add(carried);
  }

  /** Due work may exist: take it without waiting. */
  notify(): void {
    this.hasNews = true;
    this.wake();
  }

  /** Taken work failed for a reason outside of it. */
  failed(error: unknown): void {
    const now = elapsed();
    this.problem = this.parts.describe(error);
    this.notWorked = { since: this.notWorked?.since ?? now, last: now };
  }

  worked(): void {
    this.notWorked = undefined;
  }

  status(): WorkLoopStatus {
    const runs = this.running !== undefined && !this.stopping.signal.aborted;
    const now = elapsed();
    const notWorkedMs = this.failsToWork(now) ? now - (this.notWorked?.since ?? now) : 0;
    return {
      runs,
      underWay: this.tracked.size,
      stillSeconds: runs ? Math.max(now - this.tookAt, notWorkedMs) / 1_000 : 0,
      lastError: runs ? this.problem : null,
    };
  }

  private failsToWork(now: number): boolean {
    return this.notWorked !== undefined && now - this.notWorked.last < FAILURE_COUNTS_MS;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted;) {
      try {
        this.hasNews = false;
        const taken = await this.parts.take();
        failures = 0;
        this.tookAt = elapsed();
        if (!this.failsToWork(this.tookAt)) this.problem = null;
        if (taken === 0) await this.rest(POLL_MS);
      } catch (error) {
        this.problem = this.parts.describe(error);
        await this.rest(backOffMs(failures++, RETRY));
      }
    }
  }

  private async rest(ms: number): Promise<void> {
    const waking = new AbortController();
    this.wake = () => waking.abort();
    if (!this.stopping.signal.aborted && !this.hasNews) await pause(ms, waking.signal);
    this.wake = () => undefined;
  }

  private async repeat({ work, everyMs, moreMs = everyMs }: PeriodicWork): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const done = await work().catch(() => 0);
      await pause(done > 0 ? moreMs : everyMs, signal);
    }
  }
}
