import { randomUUID } from 'node:crypto';
import { firstLine } from '../../foundation/describe-error.js';
import type { Logger } from '../../foundation/logger.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';
import { plainText } from '../../operations/refusal-text.js';

export type RunState = 'running' | 'done' | 'failed';

/** An operation that was started over HTTP, as its operator sees it. Times are ISO 8601. */
export interface ShownRun {
  readonly id: string;
  readonly operation: string;
  readonly by: string;
  readonly state: RunState;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** The progress; null: not known yet. */
  readonly progress: RunProgress | null;
  /** The document that the command of the same name prints with `--json`. Null until it is done. */
  readonly result: unknown;
  /** The error, in one line. */
  readonly error: string | null;
}

export interface RunProgress {
  readonly phase: string;
  readonly done: number;
  readonly total: number | null;
}

export interface RunContext {
  readonly signal: AbortSignal;
  readonly onProgress: (phase: string, done: number, total?: number) => void;
}

/** A run, for the operator who started it. */
export interface Run {
  readonly id: string;
  /** The operator's name. */
  readonly by: string;
  /** Settles with the operation. */
  readonly result: Promise<Outcome<unknown>>;
  readonly cancel: () => void;
  shown(): ShownRun;
}

const KEPT_MAX = 100;
const RUNNING_MAX = 8;

/**
 * Running operations of this process, and the newest ended ones. Those of another process are not
 * known here. Their effects are in the log and in Postgres; the list itself ends with the process.
 */
export class OperationRuns {
  private readonly runs = new Map<string, Run>();
  private running = 0;

  constructor(
    private readonly logger: Pick<Logger, 'warn'>,
    /** An operation that takes longer, in ms, is answered with its run, to be fetched again. */
    readonly answerMs = 8_000,
  ) {}

  /** Undefined: too many are running. */
  start(
    operation: string,
    by: string,
    work: (context: RunContext) => Promise<Outcome<unknown>>,
  ): Run | undefined {
    if (this.running >= RUNNING_MAX) return undefined;
    const stopping = new AbortController();
    const base = { id: randomUUID(), operation, by, startedAt: new Date().toISOString() };
    let shown: ShownRun = {
      ...base,
      state: 'running',
      finishedAt: null,
      progress: null,
      result: null,
      error: null,
    };
    this.running += 1;
    const onProgress = (phase: string, done: number, total?: number): void => {
      shown = { ...shown, progress: { phase, done, total: total ?? null } };
    };
    const end = (state: 'done' | 'failed', how: Partial<ShownRun>): void => {
      shown = { ...shown, state, finishedAt: new Date().toISOString(), ...how };
      if (state === 'failed')
        this.logger.warn(
          { operation, run: base.id },
          'an operation that an operator started has failed',
        );
      this.running -= 1;
    };
    const result = work({ signal: stopping.signal, onProgress }).then(
      (outcome) => {
        if (outcome instanceof NotDone) end('failed', { error: lineOf(outcome) });
        else end('done', { result: outcome });
        return outcome;
      },
      (error: unknown) => {
        end('failed', { error: firstLine(error) });
        throw error;
      },
    );
    result.catch(() => undefined);
    const run: Run = {
      id: base.id,
      by,
      result,
      cancel: () => stopping.abort(),
      shown: () => shown,
    };
    this.keep(run);
    return run;
  }

  find(id: string): Run | undefined {
    return this.runs.get(id);
  }

  /** The newest first. */
  list(): readonly ShownRun[] {
    return [...this.runs.values()].map((run) => run.shown()).reverse();
  }

  /** Aborts all runs and waits until they have ended. */
  async close(): Promise<void> {
    for (const run of this.runs.values()) run.cancel();
    await Promise.allSettled([...this.runs.values()].map(({ result }) => result));
  }

  private keep(run: Run): void {
    this.runs.set(run.id, run);
    for (const [id, other] of this.runs) {
      if (this.runs.size <= KEPT_MAX) return;
      if (other.shown().state !== 'running') this.runs.delete(id);
    }
  }
}

const lineOf = ({ because }: NotDone): string => plainText(because) || 'unknown error';
