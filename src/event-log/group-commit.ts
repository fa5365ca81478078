import { setTimeout as delay } from 'node:timers/promises';
import { EventLogUnavailable } from './event-log.js';
import type { BatchedAppend, BatchedResult } from './postgres-append-batch.js';

/** What carries a batch to the store; given up and opened anew after any failure. */
export interface BatchStore {
  /** All in one transaction, one result per append in their order. Rejects when the outcome is unknown or nothing was stored. */
  commit(appends: readonly BatchedAppend[]): Promise<readonly BatchedResult[]>;
  readonly isLost: () => boolean;
  /** At once; what is under way rejects. */
  destroy(): void;
}

export interface GroupCommitOptions {
  open(): Promise<BatchStore>;
  /** True for errors after which the identical batch may be sent again: the store is away, or it undid a deadlocked transaction. */
  isTransient(error: unknown): boolean;
  /** A caller gets its answer, or an error, within this time. */
  readonly appendTimeoutMs: number;
  /** Callers that wait for the batch under way, at most. */
  readonly waitingAppendsMax: number;
  readonly batchAppendsMax: number;
  readonly batchBytesMax: number;
  readonly onBatch?: (appends: number, ms: number) => void;
  readonly onRetry?: (error: unknown) => void;
}

interface PendingAppend extends BatchedAppend {
  readonly bytes: number;
  readonly resolve: (result: BatchedResult) => void;
  readonly reject: (error: Error) => void;
  timer: NodeJS.Timeout | undefined;
  settled: boolean;
}

const RETRY_FIRST_MS = 20;
const RETRY_MAX_MS = 500;
/** What an event costs beyond its bytes, so that many empty ones do not make an endless batch. */
const EVENT_OVERHEAD_BYTES = 128;
/** Fewer than these are not worth a transaction of their own. */
const BATCH_SPLIT_MIN = 8;

/**
 * Appends that wait while a commit is under way go into the next one together, each with a result of its own. One commit at a
 * time: what a stream's order needs, and what makes batches grow with the load.
 *
 * A commit that fails without an answer is sent again as it was (a store recognises what it has already), for as long as a caller
 * waits for it. One that cannot succeed is sent append by append, so that a bad append fails alone.
 */
export class GroupCommit {
  private waiting: PendingAppend[] = [];
  private waitingCount = 0;
  private inFlight: readonly PendingAppend[] = [];
  private store: BatchStore | undefined;
  private running: Promise<void> | undefined;
  private closed = false;
  /** A commit without an answer is given up early enough to be tried once more in its callers' time. */
  private readonly attemptTimeoutMs: number;

  constructor(private readonly options: GroupCommitOptions) {
    this.attemptTimeoutMs = attemptTimeout(options.appendTimeoutMs);
  }

  /** @throws {EventLogUnavailable} when closed, when too many wait, or when there was no answer in time. */
  append(append: BatchedAppend, bytes: number): Promise<BatchedResult> {
    if (this.closed) return Promise.reject(new EventLogUnavailable('the event log is closed'));
    if (this.waitingCount >= this.options.waitingAppendsMax) {
      return Promise.reject(new EventLogUnavailable(`${this.waitingCount} appends are waiting already`));
    }
    return new Promise((resolve, reject) => {
      const pending: PendingAppend = {
        stream: append.stream,
        expected: append.expected,
        events: append.events,
        bytes: bytes + append.events.length * EVENT_OVERHEAD_BYTES,
        resolve,
        reject,
        timer: undefined,
        settled: false,
      };
      pending.timer = setTimeout(() => this.expire(pending), this.options.appendTimeoutMs);
      this.waiting.push(pending);
      this.waitingCount += 1;
      this.running ??= this.run();
    });
  }

  /** Takes no more appends; those that wait still get their answers, each within its time. */
  async close(): Promise<void> {
    this.closed = true;
    await this.running;
    this.store?.destroy();
    this.store = undefined;
  }

  private async run(): Promise<void> {
    // Whoever asks in the same turn goes into the same batch.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      this.inFlight = this.takeBatch();
      await this.commit(this.inFlight);
    }
    this.running = undefined;
  }

  private takeBatch(): readonly PendingAppend[] {
    const batch: PendingAppend[] = [];
    const later: PendingAppend[] = [];
    const taken = new Set<string>();
    // Callers that were just answered tend to come again. Half of all, each time, lets the store work on one half while the other
    // half is answered and asks again here; all of them at once would leave the one idle while the other works.
    const half = Math.ceil((this.waitingCount + this.inFlight.length) / 2);
    const appendsMax = Math.min(Math.max(half, BATCH_SPLIT_MIN), this.options.batchAppendsMax);
    let bytes = 0;
    let next = 0;
    for (; next < this.waiting.length && batch.length < appendsMax; next++) {
      const pending = this.waiting[next];
      if (pending === undefined || pending.settled) continue;
      if (batch.length > 0 && bytes + pending.bytes > this.options.batchBytesMax) break;
      // Of two with the same expectation one loses, or repeats the other; which, can be told once the first one is stored.
      const expectation = `${pending.expected} ${pending.stream}`;
      if (taken.has(expectation)) {
        later.push(pending);
        continue;
      }
      taken.add(expectation);
      batch.push(pending);
      bytes += pending.bytes;
    }
    this.waiting = later.length === 0 ? this.waiting.slice(next) : [...later, ...this.waiting.slice(next)];
    this.waitingCount -= batch.length;
    return batch;
  }

  private async commit(batch: readonly PendingAppend[]): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const open = batch.filter(({ settled }) => !settled);
      if (open.length === 0) return;
      try {
        const results = await this.send(open);
        open.forEach((pending, index) => {
          const result = results[index];
          if (result !== undefined) settle(pending, () => pending.resolve(result));
        });
        return;
      } catch (error) {
        this.store?.destroy();
        this.store = undefined;
        if (this.options.isTransient(error)) {
          this.options.onRetry?.(error);
          await delay(Math.min(RETRY_FIRST_MS * 2 ** attempt, RETRY_MAX_MS));
        } else if (open.length === 1) {
          for (const pending of open) settle(pending, () => pending.reject(asError(error)));
        } else {
          for (const pending of open) await this.commit([pending]);
        }
      }
    }
  }

  private async send(open: readonly PendingAppend[]): Promise<readonly BatchedResult[]> {
    if (this.store === undefined || this.store.isLost()) this.store = await this.options.open();
    const { store } = this;
    const giveUp = setTimeout(() => store.destroy(), this.attemptTimeoutMs);
    const startedAt = performance.now();
    try {
      const results = await store.commit(open);
      this.options.onBatch?.(open.length, performance.now() - startedAt);
      return results;
    } finally {
      clearTimeout(giveUp);
    }
  }

  private expire(pending: PendingAppend): void {
    if (pending.settled) return;
    const isInFlight = this.inFlight.includes(pending);
    if (!isInFlight) this.waitingCount -= 1;
    settle(pending, () => pending.reject(new EventLogUnavailable(`no answer within ${this.options.appendTimeoutMs} ms`)));
    // Nobody waits for this commit any more: those behind it shall not either.
    if (isInFlight && this.inFlight.every(({ settled }) => settled)) this.store?.destroy();
  }
}

/** How long one attempt, or one connecting, may take: half the callers' time, so that a second one fits in. */
export function attemptTimeout(appendTimeoutMs: number): number {
  return Math.max(1, Math.floor(appendTimeoutMs / 2));
}

function settle(pending: PendingAppend, answer: () => void): void {
  if (pending.settled) return;
  pending.settled = true;
  clearTimeout(pending.timer);
  answer();
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
