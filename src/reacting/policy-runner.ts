import type { Scope } from '../domain/scope.js';
import { checkClock } from '../event-log/clock.js';
import type { EventLog, Position } from '../event-log/event-log.js';
import { lagAfter, stillSeconds, type Lag } from '../event-log/lag.js';
import { inTime } from '../foundation/in-time.js';
import type { Logger } from '../foundation/logger.js';
import { pause } from '../foundation/pause.js';
import { Rest } from '../foundation/rest.js';
import { after, elapsed } from '../foundation/world.js';
import { Leadership, leadWhileStarted } from '../postgres/leadership.js';
import { PositionWaiters } from '../projecting/following/position-waiters.js';
import { describeFailure } from './describe-failure.js';
import { EventReactions } from './event-reactions.js';
import type { ParkedCounts } from './parked-reactions.js';
import { CheckpointMoved, type TrailPoint } from './policy-checkpoint.js';
import type { PolicyStores } from './policy-stores.js';
import { PolicyTrail } from './policy-trail.js';
import type { CarryOut } from './policy.js';
import { ReactionFlow } from './reaction-flow.js';
import type { ReadingOptions } from './reading-events.js';
import { Retries, type RetriesParts } from './retries.js';

export interface PolicyRunnerOptions extends ReadingOptions, Pick<RetriesParts, 'isKnown'> {
  readonly stores: PolicyStores;
  readonly log: EventLog;
  readonly carryOut: CarryOut;
  /** Whether the error means that a store is unavailable; an error of one account does not. */
  readonly isUnavailable: (error: unknown) => boolean;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  readonly leaseEveryMs?: number;
  /** Longest pause between two small pages while nobody waits. Default 15. */
  readonly restMs?: number;
  /**
   * Called before the log is followed: resets policies when the log lost events that they had
   * processed.
   */
  readonly settle?: () => Promise<unknown>;
  /** Limit of parked streams; at more all reactions stop. */
  readonly parkedStreamsMax?: number;
  /** How long all reactions pause when many fail although the stores answer. */
  readonly outageMs?: number;
}

/** The state of the policies, for the health page and the metrics. */
export interface PolicyStatus extends Lag, ParkedCounts {
  readonly role: 'leader' | 'standby';
  /** What their reactions have reached; null: nothing yet. */
  readonly position: Position | null;
  /** How long they have stood still although there are events. */
  readonly stillSeconds: number;
  /** Why all reactions are stopped; null: they are not. */
  readonly lastError: string | null;
}

const CHECKPOINT = 'policies';
const PAGE = 500;
const POLL_MS = 15;
const RETRY = { first: 50, max: 5_000 };
/**
 * Longest delay of the checkpoint after events without reactions: other processes wait for its
 * position, too.
 */
const IDLE_CHECKPOINT_MS = 50;
/** A store without an answer within this time is unavailable. */
const ANSWER_WITHIN_MS = 2_000;
/** A hundred bytes of memory each. */
const PARKED_STREAMS_MAX = 100_000;
/** A killed server is back by then; a hanging one does not answer. */
const OUTAGE_MS = 2_000;
/** Parked reactions are retried before the log is followed, for this long at most. */
const RETRY_FIRST_MS = 2_000;

/**
 * Reacts to the log, each stream in its order, each event at least once: every reaction is carried
 * out or recorded as parked before the checkpoint moves past its event, and has an id made from its
 * cause. Parked reactions are retried until they succeed. One process leads (advisory lock), the
 * others are standby.
 */
export class PolicyRunner {
  private readonly waiters: PositionWaiters;
  private readonly rest: Rest;
  private readonly leadership: Leadership;
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private reached: Position | undefined;
  /** The checkpoint as this process last read or wrote it. */
  private stored: Position | null = null;
  private trail: PolicyTrail;
  private losses = 0;
  /**
   * Of the log at the beginning of the turn: a position from before the log lost its end is not
   * written.
   */
  private epoch = 0;
  private leading = false;
  private polling = false;
  /**
   * The checkpoint's writes, one after the other: an older position must not overwrite a newer one.
   */
  private writing: Promise<void> = Promise.resolve();
  /** Cancels the write. */
  private idleWrite: (() => void) | undefined;
  private problem: string | null = null;
  private readonly reactions: EventReactions;
  /** Of this turn; undefined: this process does not lead. */
  private flow: ReactionFlow | undefined;
  private readonly retries: Retries;

  constructor(private readonly options: PolicyRunnerOptions) {
    this.trail = this.trailOf([]);
    this.waiters = new PositionWaiters(options.log);
    this.rest = new Rest(() => this.waiters.size > 0, options.restMs);
    const { parked, locks } = options.stores;
    this.retries = new Retries({ ...options, parked });
    this.reactions = new EventReactions({
      ...options,
      parked,
      parkedStreamsMax: options.parkedStreamsMax ?? PARKED_STREAMS_MAX,
      outageMs: options.outageMs ?? OUTAGE_MS,
      storesAnswer: () => this.storesAnswer(),
      onWaiting: (error) => (this.problem = describeFailure(error)),
    });
    this.leadership = new Leadership(locks, [CHECKPOINT]);
    options.log.onWentBack(() => this.leadership.endTurn());
  }

  start(): void {
    this.running ??= Promise.all([this.run(), this.retry()]).then(() => undefined);
  }

  /** Finishes the reactions that are being carried out. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    this.leadership.release();
  }

  /** Why all reactions are stopped; null: they are not. */
  get lastError(): string | null {
    return this.problem;
  }

  /** Callers that wait for a position. */
  get waiting(): number {
    return this.waiters.size;
  }

  get role(): 'leader' | 'standby' {
    return this.leading ? 'leader' : 'standby';
  }

  /**
   * True once every reaction to the events up to the position was appended, except for parked
   * streams, which are not waited for; false when the time is over or the signal aborts.
   * @param scope whose events they are; undefined: all. The process that leads does not wait for
   * those of others.
   */
  async waitFor(
    position: Position,
    timeoutMs: number,
    signal?: AbortSignal,
    scope?: Scope,
  ): Promise<boolean> {
    if (this.leading && this.options.log.compare(this.reachedBy(scope), position) >= 0) return true;
    const awaited = scope === undefined ? CHECKPOINT : ledgerNamed(scope);
    const waiting = this.waiters.wait(position, [awaited], timeoutMs, signal);
    this.rest.end();
    if (!this.leading) void this.pollWhileAwaited();
    return waiting;
  }

  /**
   * The position that reactions have reached; null: none yet. @throws when the database is
   * unavailable.
   */
  async checkpoint(): Promise<Position | null> {
    return (await this.options.stores.checkpoints.load()).position;
  }

  /**
   * How far the reactions to events of this scope are, as this process knows best; undefined: none
   * yet. @throws when the database is unavailable.
   */
  async reachedPosition(scope?: Scope): Promise<Position | undefined> {
    return this.leading ? this.reachedBy(scope) : ((await this.checkpoint()) ?? undefined);
  }

  /** @throws when the database or the log is unavailable. */
  async status(now: number): Promise<PolicyStatus> {
    const { log, stores } = this.options;
    const [{ position, movedAt }, head, parked] = await Promise.all([
      stores.checkpoints.load(),
      log.head(),
      this.parkedCounts(),
    ]);
    const lag = await lagAfter(log, position ?? undefined, head, now);
    return {
      role: this.role,
      position,
      ...lag,
      stillSeconds: stillSeconds(lag, movedAt, now),
      ...parked,
      lastError: this.lastError,
    };
  }

  /** Counts of parked reactions. @throws when the database is unavailable. */
  parkedCounts(): Promise<ParkedCounts> {
    return this.options.stores.parked.counts();
  }

  private run(): Promise<void> {
    return leadWhileStarted(
      {
        leadership: this.leadership,
        started: this.stopping.signal,
        everyMs: this.leaseEveryMs,
        retryMs: RETRY,
        onInterrupted: (error) => {
          this.problem = describeFailure(error);
          this.options.logger.warn({ error: this.problem }, 'policies are interrupted, retrying');
        },
        onStandby: () => (this.problem = null),
      },
      (_, signal) => this.lead(signal),
    );
  }

  private async lead(signal: AbortSignal): Promise<void> {
    const { log, stores, settle } = this.options;
    await settle?.();
    this.epoch = log.epoch;
    const { position, trail, losses } = await stores.checkpoints.load();
    this.stored = position;
    this.reached = position ?? undefined;
    this.trail = this.trailOf(trail);
    this.losses = losses;
    await this.takeUpFirst(signal);
    const flow = this.flowFrom(this.reached, signal);
    try {
      this.flow = flow;
      this.leading = true;
      if (this.reached !== undefined) this.advanced(this.reached);
      await this.noteWhetherAtHead();
      const { signal: flowing } = flow;
      for await (const page of log.follow(this.reached, { signal: flowing, pageSize: PAGE })) {
        await flow.take(page);
        await this.rest.take(page.length, flowing);
      }
    } finally {
      this.leading = false;
      this.flow = undefined;
      await flow.close().finally(() => this.writeReached().catch(() => undefined));
    }
  }

  private flowFrom(position: Position | undefined, signal: AbortSignal): ReactionFlow {
    const flow: ReactionFlow = new ReactionFlow(position, {
      reading: this.options,
      reactions: this.reactions,
      signal,
      onDone: (last, hasReactions) => {
        this.reached = last;
        this.problem = null;
        const tell = (): void => this.waiters.advanced(CHECKPOINT, last);
        // Other processes mostly wait for a reaction: without any, one write serves all pages of a
        // moment.
        if (hasReactions) this.writeReached().then(tell, (error: unknown) => flow.fail(error));
        else {
          this.writeSoon();
          tell();
        }
      },
      onMovedIn: (ledger) => {
        const awaited = this.waiters.awaited().filter((name) => name !== CHECKPOINT);
        for (const name of awaited)
          if (ledger === undefined || ledger === name) this.advancedIn(flow, name);
      },
    });
    return flow;
  }

  private advancedIn(flow: ReactionFlow, ledger: string): void {
    const reached = flow.reachedIn(ledger);
    if (reached !== undefined) this.waiters.advanced(ledger, reached);
  }

  /** All reactions up to the position are done. */
  private advanced(position: Position): void {
    for (const name of this.waiters.awaited()) this.waiters.advanced(name, position);
  }

  private reachedBy(scope: Scope | undefined): Position | undefined {
    return scope === undefined || this.flow === undefined
      ? this.reached
      : this.flow.reachedIn(ledgerNamed(scope));
  }

  /**
   * This release may know events that the previous one did not, and the cause of a failure may be
   * gone.
   */
  private async takeUpFirst(signal: AbortSignal): Promise<void> {
    const { parked } = this.options.stores;
    await parked.tryAllSoon();
    await this.reactions.restore();
    if (!(await parked.isEmpty()))
      await Promise.race([this.retries.due(signal), pause(RETRY_FIRST_MS, signal)]);
  }

  /** Without parked reactions there is no problem any more; else the next page reports it. */
  private async noteWhetherAtHead(): Promise<void> {
    const { log } = this.options;
    if (log.compare(this.reached, await log.head()) >= 0) this.problem = null;
  }

  /** Continues as long as the runner does, through every outage. */
  private async retry(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const isLeader = this.leadership.held.size > 0;
      // The leader, which needs the database as well, reports that it is unavailable.
      await (isLeader ? this.retries.due(signal) : this.retries.readable(signal)).catch(
        () => undefined,
      );
      await pause(this.leaseEveryMs, signal);
    }
  }

  private trailOf(points: readonly TrailPoint[]): PolicyTrail {
    return new PolicyTrail(points, (position) => this.options.log.order(position));
  }

  private storesAnswer(): Promise<boolean> {
    const { log, stores } = this.options;
    // Without a log that takes appends nothing is parked: the reactions wait.
    const answers = Promise.all([checkClock(log), stores.answer(ANSWER_WITHIN_MS)]);
    return inTime(answers, ANSWER_WITHIN_MS).then(
      () => true,
      () => false,
    );
  }

  private get leaseEveryMs(): number {
    return this.options.leaseEveryMs ?? 1_000;
  }

  private writeSoon(): void {
    this.idleWrite ??= after(IDLE_CHECKPOINT_MS, () => {
      this.writeReached().catch(() => {
        if (this.leading) this.writeSoon();
      });
    });
  }

  private writeReached(): Promise<void> {
    this.idleWrite?.();
    this.idleWrite = undefined;
    this.writing = this.writing.catch(() => undefined).then(() => this.write());
    return this.writing;
  }

  private async write(): Promise<void> {
    const { log, stores } = this.options;
    const { reached, stored: from, losses } = this;
    // Nothing was read since: what this process has seen may end before the checkpoint, and would
    // prove nothing of it after a loss.
    if (reached === undefined || reached === from) return;
    if (log.epoch !== this.epoch) return;
    const witness = log.newestSeen;
    const trail = witness && this.trail.pass(reached, witness, elapsed());
    try {
      await stores.checkpoints.write(reached, { from, witness, trail, losses });
      this.stored = reached;
    } catch (error) {
      if (error instanceof CheckpointMoved) this.leadership.endTurn();
      throw error;
    }
  }

  private async pollWhileAwaited(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    try {
      while (!this.leading && this.waiters.awaited().length > 0 && !this.stopping.signal.aborted) {
        const position = await this.checkpoint().catch(() => null);
        if (position !== null) this.advanced(position);
        await pause(POLL_MS, this.stopping.signal);
      }
    } finally {
      this.polling = false;
    }
  }
}

/** As `ledgerOf` names it. */
const ledgerNamed = ({ tenant, mode }: Scope): string => `${mode}/${tenant}`;
