import type { EventLog, Position, RecordedEvent } from '../event-log/event-log.js';
import { errorNameAndCode } from '../foundation/describe-error.js';
import { waitAtMost } from '../foundation/timeout.js';
import type { Logger } from '../foundation/logger.js';
import { backOffMs, pause, type BackOff } from '../foundation/pause.js';
import { CatchUpPages } from './catch-up-pages.js';
import { PagePause } from './page-pause.js';
import { Leadership, leadWhileStarted, type Locks } from '../postgres/leadership.js';
import {
  CheckpointMoved,
  type FollowedPage,
  type Handler,
  type StoredPosition,
} from './handler.js';
import { PositionWaiters } from './position-waiters.js';

export interface FollowerOptions<Page extends FollowedPage> {
  readonly log: EventLog;
  readonly locks: Locks;
  readonly handlers: readonly Handler<Page>[];
  /** Undefined: an empty page. @throws while the keys of people cannot be read. */
  readonly decode: (recorded: readonly RecordedEvent[]) => Promise<Page | undefined>;
  readonly prepare?: () => Promise<unknown>;
  /** Called before each turn: repairs the database after a loss of the log's end. */
  readonly settle?: () => Promise<unknown>;
  /** Called about every second while this process leads. */
  readonly refresh?: () => Promise<unknown>;
  /** Stored positions of handlers that another process leads. */
  readonly stored?: (names: readonly string[]) => Promise<ReadonlyMap<string, StoredPosition>>;
  /** Events in a page; bounds the memory. Default `PAGE`. */
  readonly pageSize?: number;
  /** Longest pause between two small pages while no caller waits. Default 15. */
  readonly restMs?: number;
  /** How often a standby tries to take over, and a leader checks its connection. Default 1 000. */
  readonly leaseEveryMs?: number;
  /** How often a standby reads the checkpoints while a caller waits. Default 15. */
  readonly pollEveryMs?: number;
  /** Back-off after failures. Default 100 to 5 000. */
  readonly retryMs?: BackOff;
  readonly logger?: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** Events in a page. */
const PAGE = 500;
/** Pause of a handler that has read everything while the tail is ahead. */
const READ_AGAIN_MS = 10;
/** A handler that takes longer for a page leaves the tail. */
const SLOW_MS = 500;

/** The outcome of a handler's work. */
interface WorkOutcome {
  readonly failure?: unknown;
}

/** A time of leading the handlers whose locks this process holds. */
interface Turn<Page extends FollowedPage> {
  readonly handlers: ReadonlyMap<string, Handler<Page>>;
  readonly signal: AbortSignal;
  /** Of the log at the beginning of the turn. */
  readonly epoch: number;
  /** Handlers that follow the tail; the others catch up on their own. */
  readonly joined: Set<Handler<Page>>;
  readonly catchingUp: Set<Promise<void>>;
  /** Of the handlers that catch up. */
  readonly pages: CatchUpPages<Page>;
  /** Failures of handlers that are not on the tail. */
  readonly failed: Map<Handler<Page>, unknown>;
  /** Running work of handlers on the tail. */
  readonly working: Map<Handler<Page>, Promise<WorkOutcome>>;
  /** The end of the last page of the tail. */
  tail: Position | undefined;
}

/** A position that another process moves, and the epoch of the log when it was read. */
interface SeenPosition extends StoredPosition {
  readonly epoch: number;
}

/**
 * Follows the log for all its handlers: each page is read and decoded once. A handler that fails or
 * is slow leaves the common tail, catches up by itself and joins again, so that none delays the
 * others. One process leads each handler; the others are standby.
 */
export class Follower<Page extends FollowedPage> {
  private readonly leadership: Leadership;
  private readonly waiters: PositionWaiters;
  private readonly pagePause: PagePause;
  private readonly stopping = new AbortController();
  private readonly errors = new Map<string, string>();
  /** Consecutive failures, by handler. */
  private readonly failures = new Map<string, number>();
  private running: Promise<void> | undefined;
  private polling = false;
  private interruption: string | null = null;
  /** Positions of handlers that another process leads, as last read, by name. */
  private readonly foreign = new Map<string, SeenPosition>();
  private turn: Turn<Page> | undefined;

  constructor(private readonly options: FollowerOptions<Page>) {
    const { log, locks, handlers, restMs } = options;
    this.waiters = new PositionWaiters(log);
    const isAwaited = (): boolean =>
      this.waiters.size > 0 || handlers.some((handler) => handler.isAwaited);
    this.pagePause = new PagePause(isAwaited, restMs);
    this.leadership = new Leadership(
      locks,
      handlers.map(({ name }) => name),
    );
    log.onWentBack(() => this.leadership.endTurn());
  }

  /** Runs in the background, through every outage, until `stop`. */
  start(): void {
    this.running ??= this.run();
  }

  /** Finishes the current pages, with their checkpoints, and lets another process lead. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    this.leadership.release();
  }

  /** This process leads the handler at present. */
  leads(name: string): boolean {
    return this.turn?.handlers.has(name) ?? false;
  }

  /** The handler has left the common tail, and catches up by itself. */
  isDetached(name: string): boolean {
    const handler = this.turn?.handlers.get(name);
    return handler !== undefined && this.turn?.joined.has(handler) === false;
  }

  /** Why the handler does not continue in this process; null: it does. */
  problemOf(name: string): string | null {
    return this.errors.get(name) ?? this.interruption;
  }

  get waiting(): number {
    return this.waiters.size;
  }

  /** By name; undefined: nothing taken yet. @throws while the database is unavailable. */
  async positions(names: readonly string[]): Promise<ReadonlyMap<string, Position | undefined>> {
    const foreign = names.filter((name) => !this.leads(name));
    const stored = await this.stored(foreign);
    return new Map(
      names.map((name) => {
        const led = this.turn?.handlers.get(name)?.position;
        return [name, led ?? stored.get(name)?.position];
      }),
    );
  }

  /**
   * Waits until all these handlers include the position; false after the time. The leading process
   * answers after the page itself; others read the checkpoints every few milliseconds while a
   * caller waits. A caller that leaves aborts the signal.
   */
  async waitFor(
    position: Position,
    names: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const behind = names.filter((name) => !this.isKnownToInclude(name, position));
    if (behind.length === 0) return true;
    const reached = this.waiters.wait(position, behind, timeoutMs, signal);
    this.pagePause.end();
    void this.pollWhileAwaited();
    return reached;
  }

  /** These handlers are known to include the position, without reading the database. */
  allInclude(position: Position, names: readonly string[]): boolean {
    return names.every((name) => this.isKnownToInclude(name, position));
  }

  private isKnownToInclude(name: string, position: Position): boolean {
    const { log } = this.options;
    // Positions from before the log lost its end do not count any more.
    const turn = this.turn?.epoch === log.epoch ? this.turn : undefined;
    const taken = turn?.handlers.get(name)?.position ?? this.seenOf(name);
    return taken !== undefined && log.compare(taken, position) >= 0;
  }

  /**
   * The last position read while a caller waited. Still usable: a checkpoint moves back only when
   * the log does.
   */
  private seenOf(name: string): Position | undefined {
    const seen = this.foreign.get(name);
    const counts = seen?.epoch === this.options.log.epoch && (seen.counts?.() ?? true);
    return counts ? seen.position : undefined;
  }

  private stored(names: readonly string[]): Promise<ReadonlyMap<string, StoredPosition>> {
    const none = Promise.resolve(new Map<string, StoredPosition>());
    return names.length === 0 ? none : (this.options.stored?.(names) ?? none);
  }

  private run(): Promise<void> {
    const { logger, handlers, refresh, leaseEveryMs: everyMs = 1_000 } = this.options;
    return leadWhileStarted(
      {
        leadership: this.leadership,
        started: this.stopping.signal,
        everyMs,
        retryMs: this.retryMs,
        onInterrupted: (error) => {
          this.interruption = handlers[0]?.describe(error) ?? errorNameAndCode(error);
          logger?.warn({ error: this.interruption }, 'following the log is interrupted, retrying');
        },
        onStandby: () => this.forgetProblems(),
        onRenewed: async () => {
          await refresh?.();
          for (const handler of this.turn?.handlers.values() ?? [])
            if (handler.isOutdated?.())
              this.failed(handler, this.turn, new CheckpointMoved(handler.name));
        },
      },
      (held, signal) => this.lead(held, signal),
    );
  }

  private forgetProblems(): void {
    this.interruption = null;
    this.errors.clear();
    this.failures.clear();
  }

  private async lead(held: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { log, prepare, settle, logger, handlers, decode, pageSize = PAGE } = this.options;
    await prepare?.();
    await settle?.();
    const turn: Turn<Page> = {
      handlers: new Map(
        handlers.filter(({ name }) => held.has(name)).map((handler) => [handler.name, handler]),
      ),
      signal,
      epoch: log.epoch,
      joined: new Set(),
      catchingUp: new Set(),
      pages: new CatchUpPages((after) => log.readAll(after, pageSize), decode),
      failed: new Map(),
      working: new Map(),
      tail: undefined,
    };
    try {
      await this.beginAll(turn);
      logger?.info({ handlers: [...held] }, 'leading handlers of the log');
      await this.followLog(turn);
    } finally {
      // Ends the handlers that catch up on their own, however the turn ended.
      this.leadership.endTurn();
      await Promise.all(turn.catchingUp);
      await Promise.all(
        [...turn.handlers.values()].map(async (handler) => {
          await handler.end?.();
        }),
      );
      this.turn = undefined;
      logger?.info({ handlers: [...held] }, 'no longer leading handlers of the log');
      // Callers that wait for a page of this process now read the checkpoints.
      void this.pollWhileAwaited();
    }
  }

  /** The tail begins at the foremost handler; the others catch up with it. */
  private async beginAll(turn: Turn<Page>): Promise<void> {
    const { log } = this.options;
    const head = await log.head();
    const all = [...turn.handlers.values()];
    for (const handler of all) turn.joined.add(handler);
    await Promise.all(
      all.map((handler) => this.finishOrDetach(handler, turn, this.begin(handler, turn))),
    );
    const begun = [...turn.joined].map(({ position }) => position);
    turn.tail =
      begun.length === 0 ? head : begun.reduce((a, b) => (log.compare(a, b) >= 0 ? a : b));
    this.interruption = null;
    this.turn = turn;
    for (const handler of turn.joined)
      if (log.compare(handler.position, turn.tail) < 0 || handler.isBusy)
        this.detach(handler, turn);
  }

  private async begin(handler: Handler<Page>, turn: Turn<Page>): Promise<void> {
    await handler.begin({
      signal: turn.signal,
      fail: (error) => this.failed(handler, turn, error),
      succeed: () => this.succeeded(handler),
      hurry: () => this.pagePause.end(),
    });
    this.advanced(handler);
  }

  private async followLog(turn: Turn<Page>): Promise<void> {
    const { log, pageSize = PAGE } = this.options;
    const { signal } = turn;
    for await (const recorded of log.follow(turn.tail, { signal, pageSize })) {
      const page = await this.decodeTail(recorded, turn);
      if (!page) continue;
      await this.takeByJoined(page, turn);
      turn.tail = page.last;
      // A handler that joined during the page lacks it, and the next page may be far off.
      for (const handler of turn.joined)
        if (log.compare(handler.position, turn.tail) < 0) this.detach(handler, turn);
      await this.pagePause.take(recorded.length, signal);
    }
  }

  /** While the key store is unavailable the tail waits: no handler can continue without it. */
  private async decodeTail(
    recorded: readonly RecordedEvent[],
    turn: Turn<Page>,
  ): Promise<Page | undefined> {
    for (let failures = 0; !turn.signal.aborted; failures += 1) {
      try {
        return await this.options.decode(recorded);
      } catch (error) {
        for (const handler of turn.joined) await this.noteError(handler, error);
        await pause(backOffMs(failures, this.retryMs), turn.signal);
      }
    }
    return undefined;
  }

  private async takeByJoined(page: Page, turn: Turn<Page>): Promise<void> {
    const { log } = this.options;
    // A handler that caught up by itself can be ahead of the page; its checkpoint must not move
    // back.
    const joined = [...turn.joined].filter(
      (handler) => log.compare(handler.position, page.last) < 0,
    );
    await Promise.all(
      joined.map((handler) => this.finishOrDetach(handler, turn, this.take(handler, page, turn))),
    );
  }

  private async take(handler: Handler<Page>, page: Page, turn: Turn<Page>): Promise<void> {
    await handler.take(page);
    this.taken(handler);
    // The other handlers follow the tail meanwhile.
    if (handler.isBusy && turn.joined.has(handler)) this.detach(handler, turn);
  }

  /** Waits for the work of a handler on the tail. A slow or failed handler leaves the tail. */
  private async finishOrDetach(
    handler: Handler<Page>,
    turn: Turn<Page>,
    work: Promise<void>,
  ): Promise<void> {
    const ending = work.then(
      (): WorkOutcome => ({}),
      (failure: unknown): WorkOutcome => ({ failure }),
    );
    turn.working.set(handler, ending);
    const ended = await Promise.race([ending, waitAtMost(SLOW_MS, ending)]);
    if (ended === undefined || ended.failure !== undefined) this.detach(handler, turn);
    else turn.working.delete(handler);
  }

  /** A handler's work between two pages failed. */
  private failed(handler: Handler<Page>, turn: Turn<Page> | undefined, failure: unknown): void {
    if (turn === undefined || turn.signal.aborted) return;
    turn.failed.set(handler, failure);
    this.detach(handler, turn);
  }

  /** Until it has caught up, the handler reads by itself. */
  private detach(handler: Handler<Page>, turn: Turn<Page>): void {
    if (!turn.joined.delete(handler)) return;
    const work = this.catchUp(handler, turn).finally(() => {
      turn.catchingUp.delete(work);
      if (turn.catchingUp.size === 0) turn.pages.clear();
    });
    turn.catchingUp.add(work);
  }

  private async catchUp(handler: Handler<Page>, turn: Turn<Page>): Promise<void> {
    const { log } = this.options;
    const working = await turn.working.get(handler);
    turn.working.delete(handler);
    let failure = working?.failure;
    while (!turn.signal.aborted) {
      failure ??= turn.failed.get(handler);
      turn.failed.delete(handler);
      if (failure !== undefined) await this.recover(handler, failure, turn);
      if (turn.signal.aborted) return;
      try {
        if (failure !== undefined) await this.begin(handler, turn);
        failure = undefined;
        const page = await turn.pages.after(handler.position);
        if (page) await handler.take(page);
        this.taken(handler);
        // Pages and pieces alternate: a large erasure does not delay the events of others.
        if (handler.isBusy) await handler.workOn?.();
        if (turn.failed.has(handler)) continue;
        // Compared and joined in one turn of the event loop: no page of the tail can arrive in
        // between, and the tail skips events that a handler has. An empty read is not enough: the
        // tail may have read more.
        if (!handler.isBusy && log.compare(handler.position, turn.tail) >= 0) {
          turn.joined.add(handler);
          return;
        }
        if (!page && !handler.isBusy) await pause(READ_AGAIN_MS, turn.signal);
      } catch (error) {
        failure = error;
      }
    }
  }

  /**
   * Called before the handler begins again from its stored state, which it must, because a failed
   * write may have taken effect.
   */
  private async recover(handler: Handler<Page>, failure: unknown, turn: Turn<Page>): Promise<void> {
    const failures = this.failures.get(handler.name) ?? 0;
    this.failures.set(handler.name, failures + 1);
    // What could not be decoded may be readable now.
    turn.pages.clear();
    // Either a repair ran concurrently (no error), or the locks were lost unnoticed and another
    // process leads.
    if (failure instanceof CheckpointMoved && failures === 0) return this.leadership.confirmTurn();
    await this.noteError(handler, failure);
    const wait = handler.isLasting?.(failure)
      ? this.retryMs.max
      : backOffMs(failures, this.retryMs);
    await pause(wait, turn.signal);
  }

  private taken(handler: Handler<Page>): void {
    this.advanced(handler);
    if (!handler.worksLater) this.succeeded(handler);
  }

  private succeeded({ name }: Handler<Page>): void {
    this.failures.delete(name);
    if (this.errors.delete(name))
      this.options.logger?.info({ handler: name }, 'the handler continues');
  }

  private advanced({ name, position }: Handler<Page>): void {
    if (position !== undefined) this.waiters.advanced(name, position);
  }

  private async noteError(handler: Handler<Page>, error: unknown): Promise<void> {
    const text = handler.describe(error);
    if (this.errors.get(handler.name) !== text) {
      this.errors.set(handler.name, text);
      // An outage ends by itself; this does not.
      const level = handler.isLasting?.(error) ? 'error' : 'warn';
      this.options.logger?.[level](
        { handler: handler.name, error: text },
        'a handler of the log cannot continue, retrying',
      );
    }
    await handler.noteError?.(text);
  }

  private async pollWhileAwaited(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    const { signal } = this.stopping;
    const { log, pollEveryMs = 15 } = this.options;
    try {
      for (;;) {
        const foreign = this.waiters.awaited().filter((name) => !this.leads(name));
        if (foreign.length === 0 || signal.aborted) return;
        const { epoch } = log;
        const stored = await this.stored(foreign).catch(() => new Map<string, StoredPosition>());
        for (const [name, seen] of stored) {
          this.foreign.set(name, { ...seen, epoch });
          this.waiters.advanced(name, seen.position);
        }
        await pause(pollEveryMs, signal);
      }
    } finally {
      this.polling = false;
    }
  }

  private get retryMs(): BackOff {
    return this.options.retryMs ?? { first: 100, max: 5_000 };
  }
}
