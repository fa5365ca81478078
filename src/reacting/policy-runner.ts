import type { Scope } from '../domain/scope.js';
import { checkClock } from '../event-log/clock.js';
import type { EventLog, Position } from '../event-log/event-log.js';
import { CheckpointMoved, type Handler, type HandlerTurn } from '../following/handler.js';
import { withTimeout } from '../foundation/timeout.js';
import type { Logger } from '../foundation/logger.js';
import { pause } from '../foundation/pause.js';
import { after, elapsed } from '../foundation/world.js';
import type { Page } from '../projecting/page.js';
import {
  handlerStatus,
  standing,
  type HandlerStatus,
  type Progress,
} from '../following/handler-status.js';
import { PositionWaiters } from '../following/position-waiters.js';
import { describeFailure } from './describe-failure.js';
import { EventReactions } from './event-reactions.js';
import type { ParkedCounts } from './parked-reactions.js';
import { POLICIES_HANDLER } from './policy-checkpoint.js';
import type { PolicyStores } from './policy-stores.js';
import { Trail, type TrailPoint } from '../following/trail.js';
import type { CarryOut } from './policy.js';
import { ReactionFlow } from './reaction-flow.js';
import type { ReadingOptions } from './reading-events.js';
import { Retries, type RetriesParts } from './retries.js';

export interface PolicyRunnerOptions extends ReadingOptions, Pick<RetriesParts, 'isKnown'> {
  readonly stores: PolicyStores;
  readonly log: EventLog;
  readonly carryOut: CarryOut;
  /** The error means that a store is unavailable; an error of one account does not. */
  readonly isUnavailable: (error: unknown) => boolean;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  /** Pause between two retries of parked reactions. Default 1 000. */
  readonly retryEveryMs?: number;
  /** With more parked streams all reactions stop. */
  readonly parkedStreamsMax?: number;
  /** How long all reactions pause when many fail although the stores answer. */
  readonly outageMs?: number;
}

/** `lastError`: why all reactions are stopped. */
export interface PolicyStatus extends HandlerStatus, ParkedCounts {}

const POLL_MS = 15;
/** Longest delay of the checkpoint after events without reactions: other processes wait for it. */
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
 * out or recorded as parked before the checkpoint moves past its event, and has an id derived from
 * its cause. Parked reactions are retried until they succeed.
 */
export class PolicyRunner implements Handler<Page> {
  readonly name = POLICIES_HANDLER;
  readonly worksLater = true;
  private readonly waiters: PositionWaiters;
  private readonly stopping = new AbortController();
  private retrying: Promise<void> | undefined;
  private reached: Position | undefined;
  /** The checkpoint as this process last read or wrote it. */
  private stored: Position | null = null;
  private version = 0n;
  private trail: Trail;
  /** At the beginning of the turn: positions from before a loss are not written. */
  private epoch = 0;
  /** While this process leads. */
  private turn: HandlerTurn | undefined;
  private polling = false;
  /** Serialises writes of the checkpoint: an older position must not overwrite a newer one. */
  private writing: Promise<void> = Promise.resolve();
  /** Cancels the write. */
  private idleWrite: (() => void) | undefined;
  private waitingBecause: string | null = null;
  private readonly reactions: EventReactions;
  private flow: ReactionFlow | undefined;
  private readonly retries: Retries;

  constructor(private readonly options: PolicyRunnerOptions) {
    this.trail = this.trailOf([]);
    this.waiters = new PositionWaiters(options.log);
    const { parked } = options.stores;
    this.retries = new Retries({ ...options, parked });
    this.reactions = new EventReactions({
      ...options,
      parked,
      parkedStreamsMax: options.parkedStreamsMax ?? PARKED_STREAMS_MAX,
      outageMs: options.outageMs ?? OUTAGE_MS,
      storesAnswer: () => this.storesAnswer(),
      onWaiting: (error) => (this.waitingBecause = describeFailure(error)),
    });
  }

  /** Retries parked reactions from now on, whichever process leads. */
  start(): void {
    this.retrying ??= this.retry();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.retrying;
  }

  get position(): Position | undefined {
    return this.flow?.position;
  }

  get isAwaited(): boolean {
    return this.waiters.size > 0;
  }

  /** Why all reactions wait; null: they do not. */
  get outage(): string | null {
    return this.waitingBecause;
  }

  describe(error: unknown): string {
    return describeFailure(error);
  }

  async begin(turn: HandlerTurn): Promise<void> {
    const { log, stores } = this.options;
    await this.end();
    this.epoch = log.epoch;
    let checkpoint = await stores.checkpoints.load();
    if (checkpoint === undefined) {
      await stores.checkpoints.begin();
      checkpoint = await stores.checkpoints.load();
    }
    this.stored = checkpoint?.position ?? null;
    this.version = checkpoint?.version ?? 0n;
    this.reached = this.stored ?? undefined;
    this.trail = this.trailOf(checkpoint?.trail ?? []);
    await this.retryFirst(turn.signal);
    if (log.compare(this.reached, await log.head()) >= 0) turn.succeed();
    this.flow = this.flowFrom(this.reached, turn);
    this.turn = turn;
    if (this.reached !== undefined) this.advanced(this.reached);
  }

  async take(page: Page): Promise<void> {
    await this.flow?.take(page);
  }

  /** Completes the running reactions. */
  async end(): Promise<void> {
    const { flow } = this;
    this.turn = undefined;
    this.flow = undefined;
    this.waitingBecause = null;
    if (flow === undefined) return;
    await flow.close();
    await this.writeReached().catch(() => undefined);
  }

  get waiting(): number {
    return this.waiters.size;
  }

  /**
   * True once every reaction to the events up to the position was appended, those of parked streams
   * excepted; false when the time is over or the signal aborts.
   * @param scope of the events; undefined: all. The leading process does not wait for other scopes.
   */
  async waitFor(
    position: Position,
    timeoutMs: number,
    signal?: AbortSignal,
    scope?: Scope,
  ): Promise<boolean> {
    if (this.turn && this.options.log.compare(this.reachedBy(scope), position) >= 0) return true;
    const awaited = scope === undefined ? POLICIES_HANDLER : ledgerNamed(scope);
    const waiting = this.waiters.wait(position, [awaited], timeoutMs, signal);
    if (this.turn) this.turn.hurry();
    else void this.pollWhileAwaited();
    return waiting;
  }

  /** Null: none yet. @throws when the database is unavailable. */
  async checkpoint(): Promise<Position | null> {
    return (await this.options.stores.checkpoints.load())?.position ?? null;
  }

  /** Undefined: none yet. @throws when the database is unavailable. */
  async reachedPosition(scope?: Scope): Promise<Position | undefined> {
    return this.turn ? this.reachedBy(scope) : ((await this.checkpoint()) ?? undefined);
  }

  /** @throws when the database or the log is unavailable. */
  async status(now: number, follower: Progress): Promise<PolicyStatus> {
    const { log, stores } = this.options;
    const { position, movedAt } = (await stores.checkpoints.load()) ?? {};
    const known = standing(follower, POLICIES_HANDLER);
    return {
      ...known,
      ...(await handlerStatus({ log, now }, { position: position ?? undefined, movedAt })),
      ...(await this.parkedCounts()),
      lastError: this.waitingBecause ?? known.lastError,
    };
  }

  /** @throws when the database is unavailable. */
  parkedCounts(): Promise<ParkedCounts> {
    return this.options.stores.parked.counts();
  }

  private flowFrom(position: Position | undefined, turn: HandlerTurn): ReactionFlow {
    const { log } = this.options;
    const flow: ReactionFlow = new ReactionFlow(position, {
      reading: this.options,
      reactions: this.reactions,
      isBehind: (one, other) => log.compare(one, other) > 0,
      signal: turn.signal,
      onFailed: (error) => turn.fail(error),
      onDone: (last, hasReactions) => {
        this.reached = last;
        this.waitingBecause = null;
        turn.succeed();
        const tell = (): void => this.waiters.advanced(POLICIES_HANDLER, last);
        // Other processes mostly wait for a reaction: without any, one write covers several pages.
        if (hasReactions) this.writeReached().then(tell, (error: unknown) => flow.fail(error));
        else {
          this.writeSoon();
          tell();
        }
      },
      onMovedIn: (ledger) => {
        const awaited = this.waiters.awaited().filter((name) => name !== POLICIES_HANDLER);
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

  /** This release may read more events, and causes of failures may be gone. */
  private async retryFirst(signal: AbortSignal): Promise<void> {
    const { parked } = this.options.stores;
    await parked.tryAllSoon();
    await this.reactions.restore();
    if (!(await parked.isEmpty()))
      await Promise.race([this.retries.due(signal), pause(RETRY_FIRST_MS, signal)]);
  }

  /** Continues until `stop`, through every outage. */
  private async retry(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const isLeader = this.turn !== undefined;
      // The leader, which needs the database as well, reports that it is unavailable.
      await (isLeader ? this.retries.due(signal) : this.retries.readable(signal)).catch(
        () => undefined,
      );
      await pause(this.options.retryEveryMs ?? 1_000, signal);
    }
  }

  private trailOf(points: readonly TrailPoint[]): Trail {
    return new Trail(points, (position) => this.options.log.order(position));
  }

  private storesAnswer(): Promise<boolean> {
    const { log, stores } = this.options;
    // While the log takes no appends the reactions wait and are not parked.
    const answers = Promise.all([checkClock(log), stores.answer(ANSWER_WITHIN_MS)]);
    return withTimeout(answers, ANSWER_WITHIN_MS).then(
      () => true,
      () => false,
    );
  }

  private writeSoon(): void {
    this.idleWrite ??= after(IDLE_CHECKPOINT_MS, () => {
      this.writeReached().catch((error: unknown) => {
        if (error instanceof CheckpointMoved) this.turn?.fail(error);
        else if (this.turn) this.writeSoon();
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
    const { reached } = this;
    // Nothing was read since: the newest seen event may precede the checkpoint and would prove
    // nothing about it after a loss.
    if (reached === undefined || reached === this.stored) return;
    if (log.epoch !== this.epoch) return;
    const witness = log.newestSeen;
    const trail = witness && this.trail.pass(reached, witness, elapsed());
    this.version = await stores.checkpoints.write(this.version, { reached, witness, trail });
    this.stored = reached;
  }

  private async pollWhileAwaited(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    try {
      while (!this.turn && this.waiters.awaited().length > 0 && !this.stopping.signal.aborted) {
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
