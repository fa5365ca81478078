/** Options of both adapters. */
export interface EventLogOptions {
  /** An append returns within this time, or throws `EventLogUnavailable`. */
  readonly appendTimeoutMs?: number;
  /** A read without an answer for this long throws `EventLogUnavailable`. */
  readonly readTimeoutMs?: number;
  /** Waiting appends above this number throw `EventLogUnavailable`. */
  readonly waitingAppendsMax?: number;
  /** How often a tail reads without a report of new events. */
  readonly pollIntervalMs?: number;
  /** Appends to a log whose newest event is ahead of the clock. Default: false. */
  readonly acceptsClock?: boolean;
  readonly observe?: EventLogObserver;
}

/** For metrics. Called on hot paths: implementations must be cheap. */
export interface EventLogObserver {
  /** An append returned; `ms` from call to result. */
  append?(ms: number, outcome: AppendOutcome): void;
  /** A transaction with this many appends was committed. */
  batch?(appends: number, ms: number): void;
  /** A batch is retried. `code`: SQLSTATE or the operating system's code. */
  retry?(code: string | undefined): void;
  /** An append ended without an answer: only a retry shows whether it was stored. */
  unknownOutcome?(): void;
  /** The pool that reads the log was opened; its numbers change with its use. */
  pool?(use: PoolUse): void;
  /** The subscription broke, fell silent or was dropped, and was opened anew. */
  subscriptionRestart?(): void;
}

/** Counters of a connection pool (of pg). */
export interface PoolUse {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  readonly options: { readonly max: number };
}

export type AppendOutcome = 'appended' | 'conflict' | 'failed';
