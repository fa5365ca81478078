import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs } from '../../foundation/pause.js';
import { EventLogUnavailable } from '../event-log.js';
import type { BatchedAppend, BatchedResult } from './postgres-append-batch.js';

/** Sends batches to the store in the order of the calls; replaced after any failure. */
export interface BatchStore {
  /**
   * One transaction, one result per append. Rejects when the outcome is unknown, or when nothing
   * was committed.
   */
  commit(appends: readonly BatchedAppend[]): Promise<readonly BatchedResult[]>;
  readonly isLost: () => boolean;
  /** Immediately; running batches reject. */
  destroy(): void;
}

export interface GroupCommitOptions {
  open(): Promise<BatchStore>;
  /** The identical batch may be retried: the store is unavailable or rolled back a deadlock. */
  isTransient(error: unknown): boolean;
  /** The store is read-only or full for now, and nothing was written. */
  refusesWrites(error: unknown): boolean;
  /** An append returns, or throws, within this time. */
  readonly appendTimeoutMs: number;
  /** Callers that wait during a running batch. */
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

type Answer = () => void;

const RETRY = { first: 20, max: 500 };
/** Per event, so that many empty events do not make an endless batch. */
const EVENT_OVERHEAD_BYTES = 128;
/** One executed by the store, one on its way. */
const BATCHES_IN_FLIGHT_MAX = 2;
/** While a batch is in flight, a second one is sent only when at least this many appends wait. */
const BATCH_SPLIT_MIN = 16;

/**
 * Appends that wait during a commit share the next one, each with its own result, so batches grow
 * with the load. The store takes one batch after the other; with enough callers a second one is
 * sent meanwhile.
 * A commit without an answer is retried unchanged while a caller waits (a store recognises its
 * events), unless the store refuses writes. A batch that cannot succeed is sent append by append,
 * so that an invalid append fails alone.
 */
export class GroupCommit {
  private waiting: PendingAppend[] = [];
  private waitingCount = 0;
  private readonly inFlight = new Set<readonly PendingAppend[]>();
  private store: BatchStore | undefined;
  private opening: Promise<BatchStore> | undefined;
  private sending = false;
  private closed = false;
  private idle: (() => void) | undefined;
  /** Leaves time for one retry within the callers' limit. */
  private readonly attemptTimeoutMs: number;

  constructor(private readonly options: GroupCommitOptions) {
    this.attemptTimeoutMs = attemptTimeout(options.appendTimeoutMs);
  }

  /** @throws {EventLogUnavailable} when closed, overloaded or late. */
  append(append: BatchedAppend, bytes: number): Promise<BatchedResult> {
    if (this.closed) return Promise.reject(new EventLogUnavailable('the event log is closed'));
    if (this.waitingCount >= this.options.waitingAppendsMax) {
      return Promise.reject(
        new EventLogUnavailable(`${this.waitingCount} appends are waiting already`),
      );
    }
    return new Promise((resolve, reject) => {
      const pending: PendingAppend = {
        stream: append.stream,
        expected: append.expected,
        events: append.events,
        end: append.end,
        bytes: bytes + append.events.length * EVENT_OVERHEAD_BYTES,
        resolve,
        reject,
        timer: undefined,
        settled: false,
      };
      pending.timer = setTimeout(() => this.expire(pending), this.options.appendTimeoutMs);
      this.waiting.push(pending);
      this.waitingCount += 1;
      this.sendSoon();
    });
  }

  /** Accepts no more appends; waiting ones still return within their time. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.waitingCount > 0 || this.inFlight.size > 0)
      await new Promise<void>((resolve) => (this.idle = resolve));
    this.store?.destroy();
    this.store = undefined;
  }

  /** Calls of the same turn share a batch. */
  private sendSoon(): void {
    if (this.sending) return;
    this.sending = true;
    queueMicrotask(() => {
      this.sending = false;
      this.sendWaiting();
    });
  }

  private sendWaiting(): void {
    while (this.waitingCount > 0) {
      if (
        this.inFlight.size > 0 &&
        (this.inFlight.size >= BATCHES_IN_FLIGHT_MAX || this.waitingCount < BATCH_SPLIT_MIN)
      )
        return;
      void this.sendAndAnswer(this.takeBatch());
    }
    if (this.inFlight.size === 0) this.idle?.();
  }

  private async sendAndAnswer(batch: readonly PendingAppend[]): Promise<void> {
    this.inFlight.add(batch);
    const answer = await this.commit(batch);
    this.inFlight.delete(batch);
    // The next batch is sent before the callers process their results.
    this.sendWaiting();
    answer();
  }

  private takeBatch(): readonly PendingAppend[] {
    const batch: PendingAppend[] = [];
    const later: PendingAppend[] = [];
    const taken = new Set<string>();
    // Half of all: the store works on one half while the callers of the other continue and call
    // again. Otherwise store and callers would idle in turns.
    let outstanding = this.waitingCount;
    for (const other of this.inFlight) outstanding += other.length;
    const appendsMax = Math.min(
      Math.max(Math.ceil(outstanding / 2), BATCH_SPLIT_MIN),
      this.options.batchAppendsMax,
    );
    let bytes = 0;
    let next = 0;
    for (; next < this.waiting.length && batch.length < appendsMax; next++) {
      const pending = this.waiting[next];
      if (pending === undefined || pending.settled) continue;
      if (batch.length > 0 && bytes + pending.bytes > this.options.batchBytesMax) break;
      // Two appends that expect the same revision of a stream never share a batch: whether the
      // second one conflicts or repeats the first depends on the first one's result.
      const expectation = `${pending.expected} ${pending.stream}`;
      if (taken.has(expectation)) {
        later.push(pending);
        continue;
      }
      taken.add(expectation);
      batch.push(pending);
      bytes += pending.bytes;
    }
    this.waiting =
      later.length === 0 ? this.waiting.slice(next) : [...later, ...this.waiting.slice(next)];
    this.waitingCount -= batch.length;
    return batch;
  }

  /** Returns a function that answers the callers once the outcome is known. */
  private async commit(batch: readonly PendingAppend[]): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      const open = batch.filter(({ settled }) => !settled);
      if (open.length === 0) return () => undefined;
      try {
        const results = await this.send(open);
        return () => {
          open.forEach((pending, index) => {
            const result = results[index];
            if (result !== undefined) settle(pending, () => pending.resolve(result));
          });
        };
      } catch (error) {
        if (this.options.refusesWrites(error)) {
          // Not retried: the appends of a stream queue, and each would wait for those before it.
          const refusal = new EventLogUnavailable('the event log accepts no writes', {
            cause: error,
          });
          return () => open.forEach((pending) => settle(pending, () => pending.reject(refusal)));
        } else if (this.options.isTransient(error)) {
          this.options.onRetry?.(error);
          await delay(backOffMs(attempt, RETRY));
        } else if (open.length === 1) {
          return () => {
            for (const pending of open) settle(pending, () => pending.reject(asError(error)));
          };
        } else {
          for (const pending of open) {
            const answer = await this.commit([pending]);
            answer();
          }
        }
      }
    }
  }

  private async send(open: readonly PendingAppend[]): Promise<readonly BatchedResult[]> {
    const store =
      this.store !== undefined && !this.store.isLost() ? this.store : await this.openStore();
    const giveUp = setTimeout(() => store.destroy(), this.attemptTimeoutMs);
    const startedAt = performance.now();
    try {
      const results = await store.commit(open);
      this.options.onBatch?.(open.length, performance.now() - startedAt);
      return results;
    } catch (error) {
      // After any failure the next attempt begins with a new connection.
      store.destroy();
      if (this.store === store) this.store = undefined;
      throw error;
    } finally {
      clearTimeout(giveUp);
    }
  }

  /** Shared by all batches that need it. */
  private openStore(): Promise<BatchStore> {
    this.opening ??= this.options
      .open()
      .then((store) => (this.store = store))
      .finally(() => (this.opening = undefined));
    return this.opening;
  }

  private expire(pending: PendingAppend): void {
    if (pending.settled) return;
    const batch = [...this.inFlight].find((inFlight) => inFlight.includes(pending));
    if (batch === undefined) this.waitingCount -= 1;
    settle(pending, () =>
      pending.reject(
        new EventLogUnavailable(`no answer within ${this.options.appendTimeoutMs} ms`),
      ),
    );
    // Its callers no longer wait for this commit: later batches must not either.
    if (batch?.every(({ settled }) => settled)) this.store?.destroy();
  }
}

/** Time for one attempt or connect: half the callers' time, so that a second one fits. */
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
