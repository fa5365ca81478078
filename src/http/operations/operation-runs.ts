import type { ScopeOfMode } from '../../domain/scope.js';
import { firstLine } from '../../foundation/describe-error.js';
import { Bulkhead } from '../../foundation/bulkhead.js';
import { GivingWay } from '../../foundation/giving-way.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause } from '../../foundation/pause.js';
import { newId, timeNow } from '../../foundation/world.js';
import { endOf, NotDone, type Outcome } from '../../operations/outcome.js';
import {
  type NewRun,
  type RecordedRun,
  type RecordedRuns,
  type RunEnd,
  type RunProgress,
} from '../../runs/recorded-runs.js';

export type RunState = 'running' | 'done' | 'failed';

/** An operation that was started over HTTP, as its operator sees it. Times are ISO 8601. */
export interface ShownRun {
  readonly id: string;
  readonly operation: string;
  readonly by: string;
  /** Null: it is of no single tenant. */
  readonly tenant: string | null;
  readonly mode: string | null;
  /** Its arguments, as long as they are kept. */
  readonly parameters: object;
  readonly state: RunState;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** The progress; null: not known yet. */
  readonly progress: RunProgress | null;
  /** The document that the command of the same name prints with `--json`. Null until it is done. */
  readonly result: unknown;
  /** The error, or why there is no result any more, in one line. */
  readonly error: string | null;
}

export { hasDifferences } from '../../runs/recorded-runs.js';
export type { RunProgress } from '../../runs/recorded-runs.js';

export interface RunContext {
  readonly signal: AbortSignal;
  readonly onProgress: (phase: string, done: number, total?: number) => void;
  /** Called between pieces of long work: requests come first. */
  readonly giveWay: () => Promise<void>;
}

/** An operation that an operator asks for. */
export interface AskedRun {
  readonly operation: string;
  /** The operator's name. */
  readonly by: string;
  /** Undefined: of no single tenant. */
  readonly scope?: ScopeOfMode;
  readonly parameters?: object;
  /** The run has this id; default: a new one. */
  readonly id?: string;
  /** A run of this id was stopped, and continues. */
  readonly continues?: boolean;
}

/** A run of this process. */
export interface Run {
  readonly id: string;
  /** The operator's name. */
  readonly by: string;
  /** Settles when the operation has ended and that is recorded, as far as it can be. */
  readonly result: Promise<Outcome<unknown>>;
  cancel(): void;
  shown(): ShownRun;
}

type Work = (context: RunContext) => Promise<Outcome<unknown>>;

/** Few of each kind work at once: they take minutes, and connections of the operations' pool. */
const KINDS: ReadonlyMap<string, 'reading' | 'import'> = new Map([
  // They read a whole ledger.
  ...['digest', 'reconcile', 'replay', 'verify'].map(
    (one) => [`ledger ${one}`, 'reading'] as const,
  ),
  ...['users', 'referrals', 'rewards'].map((one) => [`import ${one}`, 'import'] as const),
]);
/** `RecordedRuns` bounds those that wait. */
const AT_ONCE = { atWorkMax: 2, waitingMax: Infinity };
const REPORT_MS = 1_000;
const RECORD_AGAIN = { first: 500, max: 10_000 };
const WAITING: RunProgress = { phase: 'waiting for its turn', done: 0, total: null };

/** A run of this process. */
class OwnRun implements Run {
  readonly id: string;
  readonly by: string;
  readonly result: Promise<Outcome<unknown>>;
  progress: RunProgress | null = null;
  end: RunEnd | undefined;
  private readonly startedAt = timeNow();
  private finishedAt: number | null = null;
  private readonly stopping = new AbortController();

  /** @param onEnd what it returns is waited for before the result is there. */
  constructor(
    readonly asked: NewRun,
    work: (run: OwnRun) => Promise<Outcome<unknown>>,
    onEnd: (run: OwnRun, end: RunEnd, isFault: boolean) => Promise<void>,
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
 * The operations that operators started over HTTP and in the console, of all processes. This
 * process runs its own and records how far they are; any process shows them and stops them.
 */
export class OperationRuns {
  /** Until their end is recorded. */
  private readonly own = new Map<string, OwnRun>();
  private readonly bulkheads = { reading: new Bulkhead(AT_ONCE), import: new Bulkhead(AT_ONCE) };
  private readonly closing = new AbortController();
  private reporting: Promise<void> | undefined;
  /** Whether requests are at work: runs give way to them. */
  isBusy: () => boolean = () => false;

  constructor(
    private readonly recorded: RecordedRuns,
    private readonly logger: Pick<Logger, 'warn'>,
    /** An operation that takes longer, in ms, is answered with its run, to be fetched again. */
    readonly answerMs = 8_000,
  ) {}

  /** Undefined: too many are not over yet. @throws DatabaseUnavailable */
  async start(
    { operation, by, scope, parameters = {}, id = newId(), continues }: AskedRun,
    work: Work,
  ): Promise<Run | undefined> {
    const asked: NewRun = { id, operation, by, scope: scope ?? null, parameters };
    const isBegun = await (continues ? this.recorded.resume(id) : this.recorded.begin(asked));
    if (!isBegun) return undefined;
    const run = new OwnRun(
      asked,
      (own) => this.inTurn(own, work),
      (own, end, isFault) => this.ended(own, end, isFault),
    );
    this.own.set(run.id, run);
    this.reporting ??= this.report().finally(() => (this.reporting = undefined));
    return run;
  }

  /** Of any process. Undefined: there is none of this id. @throws DatabaseUnavailable */
  async find(id: string): Promise<ShownRun | undefined> {
    const own = this.own.get(id);
    if (own !== undefined) return own.shown();
    const run = await this.recorded.find(id);
    return run && shownRun(run, goneOf(run));
  }

  /** Those of an operator, the newest first, without results. @throws DatabaseUnavailable */
  async list(by: string): Promise<readonly ShownRun[]> {
    return (await this.recorded.list(by)).map((run) => shownRun(run));
  }

  /** The ids of those of an operator that found differences. @throws DatabaseUnavailable */
  differing(by: string): Promise<ReadonlySet<string>> {
    return this.recorded.differing(by);
  }

  /** Those of everybody that are not over, the newest first. @throws DatabaseUnavailable */
  async unfinished(): Promise<readonly ShownRun[]> {
    return (await this.recorded.list(undefined)).map((run) => shownRun(run));
  }

  /** Stops a run of any process. @throws DatabaseUnavailable */
  async cancel(id: string): Promise<void> {
    const own = this.own.get(id);
    if (own === undefined) await this.recorded.requestStop(id);
    else own.cancel();
  }

  /** For long work that is no run. */
  givingWay(signal: AbortSignal): GivingWay {
    return new GivingWay(() => this.isBusy(), signal);
  }

  /** Stops the runs of this process and waits until they have ended. */
  async close(): Promise<void> {
    this.closing.abort();
    const runs = [...this.own.values()];
    for (const run of runs) run.cancel();
    await Promise.allSettled(runs.map(({ result }) => result));
    await this.reporting;
  }

  private async inTurn(run: OwnRun, work: Work): Promise<Outcome<unknown>> {
    const { operation, by, parameters } = run.asked;
    const way = this.givingWay(run.signal);
    const context: RunContext = {
      signal: run.signal,
      onProgress: (phase, done, total) => (run.progress = { phase, done, total: total ?? null }),
      giveWay: () => way.rest(),
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

  private async ended(run: OwnRun, end: RunEnd, isFault: boolean): Promise<void> {
    // A refused operation is no fault of the service: its operator reads why.
    if (isFault)
      this.logger.warn(
        { operation: run.asked.operation, run: run.id },
        'an operation that an operator started has failed',
      );
    if (!(await this.hasRecorded(run, end))) void this.recordAgain(run, end);
  }

  /** The database is away: until it is back, this process shows the end of the run. */
  private async recordAgain(run: OwnRun, end: RunEnd): Promise<void> {
    for (let failures = 0; !this.closing.signal.aborted; failures++) {
      await pause(backOffMs(failures, RECORD_AGAIN), this.closing.signal);
      if (await this.hasRecorded(run, end)) return;
    }
  }

  private async hasRecorded(run: OwnRun, end: RunEnd): Promise<boolean> {
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
      // The database is away: the next report tells the same.
      const toStop = await this.recorded.report(running).catch(() => []);
      for (const id of toStop) this.own.get(id)?.cancel();
    }
  }
}

const isoOf = (time: number): string => new Date(time).toISOString();

/** @param gone why there is no result any more. */
function shownRun(run: RecordedRun, gone: string | null = null): ShownRun {
  const { id, operation, by, scope, parameters, state, startedAt, finishedAt } = run;
  return {
    id,
    operation,
    by,
    tenant: scope?.tenant ?? null,
    mode: scope?.mode ?? null,
    parameters,
    state: state === 'running' || state === 'done' ? state : 'failed',
    startedAt: isoOf(startedAt),
    finishedAt: finishedAt === null ? null : isoOf(finishedAt),
    progress: run.progress,
    result: run.result,
    error: run.error ?? (state === 'abandoned' ? ABANDONED : gone),
  };
}

const ABANDONED = 'the process that ran it has ended: start it again';

/** Why a run that is over has neither result nor error. */
function goneOf({ state, result, error, forgotten }: RecordedRun): string | null {
  if (state === 'running' || result !== null || error !== null) return null;
  return forgotten
    ? 'people were forgotten since, and it may have named them: start it again'
    : 'its outcome is no longer kept: start it again';
}
