import type { ScopeOfMode } from '../../domain/scope.js';
import { firstLine } from '../../foundation/describe-error.js';
import { Bulkhead } from '../../foundation/bulkhead.js';
import { BackgroundPacer } from '../../foundation/background-pacer.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { isoOrNull, isoText } from '../../foundation/instant.js';
import { newId, timeNow } from '../../foundation/world.js';
import { endOf, NotDone, type Outcome } from '../../operations/outcome.js';
import type { OperationContext } from '../../operations/registry/context.js';
import {
  type NewRun,
  type RecordedRun,
  type RecordedRuns,
  type RunEnd,
  type RunProgress,
} from '../../runs/recorded-runs.js';

/** A run as operators see it. */
export type ShownRun = ReturnType<typeof shownRun>;

export type RunContext = Pick<OperationContext, 'signal' | 'onProgress' | 'pauseForRequests'>;

export interface RunRequest {
  readonly operation: string;
  readonly by: string;
  /** Undefined: it concerns several tenants. */
  readonly scope?: ScopeOfMode;
  readonly parameters?: object;
  /** The run's id; default: a new one. */
  readonly id?: string;
  /** Continues the stopped run of this id. */
  readonly continues?: boolean;
}

type Work = (context: RunContext) => Promise<Outcome<unknown>>;

/** Few of each kind run concurrently: they take minutes and connections of the operations' pool. */
const KINDS: ReadonlyMap<string, 'reading' | 'import'> = new Map([
  // They read a whole ledger.
  ...['digest', 'reconcile', 'replay', 'verify'].map(
    (one) => [`ledger ${one}`, 'reading'] as const,
  ),
  ...['users', 'referrals', 'rewards'].map((one) => [`import ${one}`, 'import'] as const),
]);
/** `RecordedRuns` limits the waiting ones. */
const CONCURRENCY = { atWorkMax: 2, waitingMax: Infinity };
const REPORT_MS = 1_000;
const RECORD_AGAIN = { first: 500, max: 10_000 };
const WAITING: RunProgress = { phase: 'waiting for its turn', done: 0, total: null };

/** A run of this process. */
export class Run {
  readonly id: string;
  readonly by: string;
  /** Settles when the operation has ended and its end is recorded, if that is possible. */
  readonly result: Promise<Outcome<unknown>>;
  progress: RunProgress | null = null;
  end: RunEnd | undefined;
  private readonly startedAt = timeNow();
  private finishedAt: number | null = null;
  private readonly stopping = new AbortController();

  /** @param onEnd awaited before the result is available. */
  constructor(
    readonly asked: NewRun,
    work: (run: Run) => Promise<Outcome<unknown>>,
    onEnd: (run: Run, end: RunEnd, isFault: boolean) => Promise<void>,
  ) {
    this.id = asked.id;
    this.by = asked.by;
    const ended = (end: RunEnd, isFault = false): Promise<void> => {
      this.end = end;
      this.finishedAt = timeNow();
      return onEnd(this, end, isFault);
    };
    this.result = work(this).then(
      async (outcome) => {
        await ended(endOf(outcome));
        return outcome;
      },
      async (error: unknown) => {
        await ended({ error: firstLine(error) }, true);
        throw error;
      },
    );
    this.result.catch(() => undefined);
  }

  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  cancel(): void {
    this.stopping.abort();
  }

  shown(): ShownRun {
    const { asked, end, startedAt, finishedAt, progress } = this;
    const isDone = end !== undefined && 'result' in end;
    return shownRun({
      ...asked,
      state: end === undefined ? 'running' : isDone ? 'done' : 'failed',
      startedAt,
      finishedAt,
      progress,
      result: isDone ? end.result : null,
      error: end !== undefined && 'error' in end ? end.error : null,
      forgotten: false,
    });
  }
}

/**
 * The runs of operators, over HTTP and in the console. This process executes its own and records
 * their progress; any process shows and stops all of them.
 */
export class OperationRuns {
  /** Runs whose end is not recorded yet. */
  private readonly own = new Map<string, Run>();
  private readonly bulkheads = {
    reading: new Bulkhead(CONCURRENCY),
    import: new Bulkhead(CONCURRENCY),
  };
  private readonly closing = new AbortController();
  private reporting: Promise<void> | undefined;
  /** Whether requests are running, to which runs yield. */
  isBusy: () => boolean = () => false;

  constructor(
    private readonly recorded: RecordedRuns,
    private readonly logger: Pick<Logger, 'warn'>,
    /** A longer operation is answered with its run, ms. */
    readonly answerMs = 8_000,
  ) {}

  /** Undefined: too many runs are running. @throws DatabaseUnavailable */
  async start(
    { operation, by, scope, parameters = {}, id = newId(), continues }: RunRequest,
    work: Work,
  ): Promise<Run | undefined> {
    const asked: NewRun = { id, operation, by, scope: scope ?? null, parameters };
    const isBegun = await (continues ? this.recorded.resume(id) : this.recorded.begin(asked));
    if (!isBegun) return undefined;
    const run = new Run(
      asked,
      (own) => this.inTurn(own, work),
      (own, end, isFault) => this.ended(own, end, isFault),
    );
    this.own.set(run.id, run);
    this.reporting ??= this.report().finally(() => (this.reporting = undefined));
    return run;
  }

  /** A run of any process. @throws DatabaseUnavailable */
  async find(id: string): Promise<ShownRun | undefined> {
    const own = this.own.get(id);
    if (own !== undefined) return own.shown();
    const run = await this.recorded.find(id);
    return run && shownRun(run, goneOf(run));
  }

  /** An operator's runs, newest first, without results. @throws DatabaseUnavailable */
  async list(by: string): Promise<readonly ShownRun[]> {
    return (await this.recorded.list(by)).map((run) => shownRun(run));
  }

  /** Ids of an operator's runs that found differences. @throws DatabaseUnavailable */
  differing(by: string): Promise<ReadonlySet<string>> {
    return this.recorded.differing(by);
  }

  /** All running ones, newest first. @throws DatabaseUnavailable */
  async unfinished(): Promise<readonly ShownRun[]> {
    return (await this.recorded.list(undefined)).map((run) => shownRun(run));
  }

  /** Stops a run of any process. @throws DatabaseUnavailable */
  async cancel(id: string): Promise<void> {
    const own = this.own.get(id);
    if (own === undefined) await this.recorded.requestStop(id);
    else own.cancel();
  }

  /** For long work that is not a run. */
  givingWay(signal: AbortSignal): BackgroundPacer {
    return new BackgroundPacer(() => this.isBusy(), signal);
  }

  /** Stops the runs of this process and waits for their ends. */
  async close(): Promise<void> {
    this.closing.abort();
    const runs = [...this.own.values()];
    for (const run of runs) run.cancel();
    await Promise.allSettled(runs.map(({ result }) => result));
    await this.reporting;
  }

  private async inTurn(run: Run, work: Work): Promise<Outcome<unknown>> {
    const { operation, by, parameters } = run.asked;
    const way = this.givingWay(run.signal);
    const context: RunContext = {
      signal: run.signal,
      onProgress: (phase, done, total) => (run.progress = { phase, done, total: total ?? null }),
      pauseForRequests: () => way.pause(),
    };
    const kind = KINDS.get(operation);
    if (kind === undefined || 'account' in parameters) return work(context);
    run.progress = WAITING;
    const place = await this.bulkheads[kind].enter(by, run.signal);
    if (place === undefined) return new NotDone('CANCELLED', ['stopped before its turn']);
    run.progress = null;
    try {
      return await work(context);
    } finally {
      place.leave();
    }
  }

  private async ended(run: Run, end: RunEnd, isFault: boolean): Promise<void> {
    // A refusal is not an error of the service: its operator sees the reason.
    if (isFault)
      this.logger.warn(
        { operation: run.asked.operation, run: run.id },
        'an operation that an operator started has failed',
      );
    if (!(await this.hasRecorded(run, end))) void this.retryRecording(run, end);
  }

  /** Until the database is available again, this process shows the end of the run. */
  private async retryRecording(run: Run, end: RunEnd): Promise<void> {
    for (let failures = 0; !this.closing.signal.aborted; failures++) {
      await pause(backOffMs(failures, RECORD_AGAIN), this.closing.signal);
      if (await this.hasRecorded(run, end)) return;
    }
  }

  private async hasRecorded(run: Run, end: RunEnd): Promise<boolean> {
    try {
      await this.recorded.end(run.id, end, run.progress);
      this.own.delete(run.id);
      return true;
    } catch {
      return false;
    }
  }

  private async report(): Promise<void> {
    while (this.own.size > 0 && !this.closing.signal.aborted) {
      await pause(REPORT_MS, this.closing.signal, { keepsProcess: false });
      const running = [...this.own.values()].filter(({ end }) => end === undefined);
      // While the database is unavailable, the next report has the same content.
      const toStop = await this.recorded.report(running).catch(() => []);
      for (const id of toStop) this.own.get(id)?.cancel();
    }
  }
}

/** Times are ISO 8601. @param gone why the result is gone. */
function shownRun(run: RecordedRun, gone: string | null = null) {
  const { id, operation, by, scope, parameters, state, startedAt, finishedAt } = run;
  return {
    id,
    operation,
    by,
    /** Null: it concerns several tenants. */
    tenant: scope?.tenant ?? null,
    mode: scope?.mode ?? null,
    /** Its arguments while they are kept. */
    parameters,
    state: state === 'running' || state === 'done' ? state : ('failed' as const),
    startedAt: isoText(startedAt),
    finishedAt: isoOrNull(finishedAt),
    progress: run.progress,
    /** The document that the command prints with `--json`; null until it is done. */
    result: run.result,
    /** The error, or why the result is gone, in one line. */
    error: run.error ?? (state === 'abandoned' ? ABANDONED : gone),
  };
}

const ABANDONED = 'the process that ran it has ended: start it again';

/** Why an ended run has neither result nor error. */
function goneOf({ state, result, error, forgotten }: RecordedRun): string | null {
  if (state === 'running' || result !== null || error !== null) return null;
  return forgotten
    ? 'people were forgotten since, and it may have named them: start it again'
    : 'its outcome is no longer kept: start it again';
}
