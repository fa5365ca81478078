import { backOffMs, pause } from './pause.js';
import { elapsed } from './world.js';

/** For the health page and the metrics: of this process. */
export interface WorkLoopStatus {
  /** Whether it was started, and not stopped. */
  readonly runs: boolean;
  /** Pieces of work under way. */
  readonly underWay: number;
  /** How long it could not take what is due, or not work on it. */
  readonly stillSeconds: number;
  readonly lastError: string | null;
}

/** Work beside the loop. */
export interface SideWork {
  /** @returns how much it did; what throws did nothing. */
  readonly work: () => Promise<number>;
  readonly everyMs: number;
  /** Where it did something and more may be left; `everyMs` unless it is given. */
  readonly moreMs?: number;
}

export interface WorkLoopParts {
  /** Takes what is due. @returns how much. @throws when it cannot be read: it is tried again. */
  readonly take: () => Promise<number>;
  readonly beside: readonly SideWork[];
  /** A line for the health page. */
  readonly describe: (error: unknown) => string;
}

const POLL_MS = 1_000;
const RETRY = { first: 100, max: 5_000 };
/** What failed is tried again before; a failure that is older is past. */
const FAILURE_COUNTS_MS = 60_000;

/**
 * Takes what is due: again at once where there was something, and otherwise when there is news or
 * after a moment.
 */
export class WorkLoop {
  private readonly stopping = new AbortController();
  private running: Promise<unknown> | undefined;
  private hasNews = false;
  private wake: () => void = () => undefined;
  private tookAt = 0;
  private problem: string | null = null;
  private notWorked: { readonly since: number; readonly last: number } | undefined;
  private readonly carried = new Set<Promise<void>>();

  constructor(private readonly parts: WorkLoopParts) {}

  start(): void {
    this.tookAt = elapsed();
    const beside = this.parts.beside.map((one) => this.repeat(one));
    this.running ??= Promise.all([this.run(), ...beside]);
  }

  /** The calls of `take`, the work beside and what is under way end. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.look();
    await this.running;
    await Promise.all(this.carried);
  }

  /** Aborts at the stop. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** Something that was taken is under way. @param work does not reject. */
  carry(work: Promise<void>): void {
    const carried: Promise<void> = work.finally(() => {
      this.carried.delete(carried);
      this.look();
    });
    this.carried.add(carried);
  }

  /** Something may be due. */
  look(): void {
    this.hasNews = true;
    this.wake();
  }

  /** Something that was taken could not be worked on, for no fault of its own. */
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
      underWay: this.carried.size,
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

  private async repeat({ work, everyMs, moreMs = everyMs }: SideWork): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const done = await work().catch(() => 0);
      await pause(done > 0 ? moreMs : everyMs, signal);
    }
  }
}
