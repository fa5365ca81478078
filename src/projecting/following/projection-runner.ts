import type { EventLog, Position, RecordedEvent, SeenEvent } from '../../event-log/event-log.js';
import type { Logger } from '../../foundation/logger.js';
import { backOffMs, pause, type BackOff } from '../../foundation/pause.js';
import { Rest } from '../../foundation/rest.js';
import { timeNow } from '../../foundation/world.js';
import { Leadership, leadWhileStarted } from '../../postgres/leadership.js';
import type { Checkpoint } from '../checkpoints.js';
import type { LiveGenerations } from '../generations/live-generations.js';
import { decodePage, type Page } from '../page.js';
import { CheckpointMoved, describeError, StoppedAtUndecodable } from '../projecting-errors.js';
import type { DecodeEvents, Projector } from '../projector.js';
import { PositionWaiters } from './position-waiters.js';
import type { ProjectionStatus } from './projection-status.js';
import type { ProjectionStores } from './projection-stores.js';
import { ProjectionTrack } from './projection-track.js';

export interface ProjectionRunnerOptions {
  readonly stores: ProjectionStores;
  readonly log: EventLog;
  readonly decode: DecodeEvents;
  readonly projectors: readonly Projector[];
  readonly generations: Pick<LiveGenerations, 'refresh' | 'generationOf'>;
  /** Events in a batch; bounds the memory. Default 500. */
  readonly pageSize?: number;
  /** Longest pause between two small pages while nobody waits. Default 15. */
  readonly restMs?: number;
  /** How often a standby tries to take over, and a leader checks its connection. Default 1 000. */
  readonly leaseEveryMs?: number;
  /** How often a standby reads the checkpoints while a caller waits. Default 15. */
  readonly pollEveryMs?: number;
  /** Rows about an erased person that are cleaned at once. Default 100. */
  readonly pieceRowsMax?: number;
  /** Back-off after failures. Default 100 to 5 000. */
  readonly retryMs?: BackOff;
  readonly logger?: Logger;
  /**
   * Called before the log is followed: renews read models when the log lost events that they show.
   */
  readonly settle?: () => Promise<unknown>;
}

/** The tail was ahead of a track that had read everything: the track reads again. */
const READ_AGAIN_MS = 10;

/**
 * A turn of leading: the tracks of the projections whose locks this process holds, until something
 * ends it.
 */
interface Turn {
  readonly tracks: ReadonlyMap<string, ProjectionTrack>;
  readonly signal: AbortSignal;
  /** Of the log at the beginning of the turn. */
  readonly epoch: number;
  /** Tracks that follow the tail; the others are catching up on their own. */
  readonly joined: Set<ProjectionTrack>;
  readonly catchingUp: Set<Promise<void>>;
  /** The end of the last page that the tail returned. */
  tail: Position | undefined;
}

/** A checkpoint that another process moves, and the epoch of the log when it was read. */
interface SeenCheckpoint {
  readonly epoch: number;
  readonly generation: number;
  readonly position: Position;
}

/**
 * Keeps the read models up to date with the log. The log is followed and decoded once for all
 * projections of the process; each has its own checkpoint and its own transactions. A projection
 * that fails or lags leaves the common tail, catches up by itself and joins again, so that none
 * delays the others.
 *
 * Promises: rows and checkpoint are one transaction; no event is skipped (a stream that cannot be
 * applied is parked and recorded); of several processes one leads, the others are standby.
 */
export class ProjectionRunner {
  /** Of all projections of this process. */
  readonly names: readonly string[];
  private readonly knownTypes: ReadonlySet<string>;
  private readonly leadership: Leadership;
  private readonly waiters: PositionWaiters;
  private readonly rest: Rest;
  private readonly stopping = new AbortController();
  private readonly errors = new Map<string, string>();
  private running: Promise<void> | undefined;
  private polling = false;
  /** Of projections that another process leads, as last read, by name. */
  private readonly foreign = new Map<string, SeenCheckpoint>();
  private turn: Turn | undefined;

  constructor(private readonly options: ProjectionRunnerOptions) {
    this.names = options.projectors.map((projector) => projector.name);
    this.knownTypes = new Set(options.projectors.flatMap((projector) => [...projector.handles]));
    this.waiters = new PositionWaiters(options.log);
    this.rest = new Rest(() => this.waiters.size > 0, options.restMs);
    this.leadership = new Leadership(options.stores.locks, this.names);
    options.log.onWentBack(() => this.leadership.endTurn());
  }

  /** Begins in the background and continues through every outage until `stop`. */
  start(): void {
    this.running ??= this.run();
  }

  /** Finishes the current batches, with their checkpoints, and lets another process lead. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    this.leadership.release();
  }

  /** Whether this process writes the projection at present. */
  leads(projection: string): boolean {
    return this.turn?.tracks.has(projection) ?? false;
  }

  /** Callers that wait for a position. */
  get waiting(): number {
    return this.waiters.size;
  }

  /**
   * How far the rows of these projections are, by name; undefined: nothing applied yet. @throws
   * while the database is unavailable.
   */
  async appliedPositions(
    projections: readonly string[],
  ): Promise<ReadonlyMap<string, Position | undefined>> {
    const tracks = this.turn?.tracks;
    const foreign = projections.filter((name) => !tracks?.has(name));
    const checkpoints =
      foreign.length === 0 ? [] : await this.options.stores.checkpoints(this.projectorsOf(foreign));
    return new Map(
      projections.map((name) => {
        const checkpoint = checkpoints.find(({ projection }) => projection === name);
        return [name, tracks?.get(name)?.position ?? checkpoint?.position];
      }),
    );
  }

  /**
   * Waits until the rows of all these projections include the position; false when they do not
   * within the time. In the leading process the batch itself wakes the caller; in others the
   * checkpoints are read every few milliseconds while a caller waits. A caller that leaves aborts
   * the signal.
   */
  async waitFor(
    position: Position,
    projections: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const behind = projections.filter((name) => !this.isKnownToInclude(name, position));
    if (behind.length === 0) return true;
    const reached = this.waiters.wait(position, behind, timeoutMs, signal);
    this.rest.end();
    void this.pollWhileAwaited();
    return reached;
  }

  /** Whether these projections are known to include the position; never asks the database. */
  have(position: Position, projections: readonly string[]): boolean {
    return projections.every((name) => this.isKnownToInclude(name, position));
  }

  private isKnownToInclude(projection: string, position: Position): boolean {
    const { log } = this.options;
    // A position that was applied before the log lost its end is no position of the current log.
    const turn = this.turn?.epoch === log.epoch ? this.turn : undefined;
    const applied = turn?.tracks.get(projection)?.position ?? this.seenOf(projection);
    return applied !== undefined && log.compare(applied, position) >= 0;
  }

  /** As last read while a caller waited: a checkpoint goes back with its log only. */
  private seenOf(projection: string): Position | undefined {
    const { log, generations } = this.options;
    const seen = this.foreign.get(projection);
    // Of two generations one may be behind.
    return seen?.epoch === log.epoch && seen.generation === generations.generationOf(projection)
      ? seen.position
      : undefined;
  }

  /**
   * All projections of this process, in its order, with their roles. @throws when the database or
   * the log is unavailable.
   */
  async status(): Promise<(ProjectionStatus & { readonly role: 'leader' | 'standby' })[]> {
    const { stores, log } = this.options;
    const rows = await stores.status(log, timeNow());
    const ordered = this.names.flatMap((name) =>
      rows.filter(({ projection }) => projection === name),
    );
    return ordered.map((row) => ({
      ...row,
      lastError: this.errors.get(row.projection) ?? row.lastError,
      role: this.leads(row.projection) ? 'leader' : 'standby',
    }));
  }

  private projectorsOf(names: readonly string[]): readonly Projector[] {
    return this.options.projectors.filter(({ name }) => names.includes(name));
  }

  private run(): Promise<void> {
    return leadWhileStarted(
      {
        leadership: this.leadership,
        started: this.stopping.signal,
        everyMs: this.options.leaseEveryMs ?? 1_000,
        retryMs: this.retryMs,
        onInterrupted: (error) =>
          this.options.logger?.warn(
            { error: describeError(error) },
            'projections are interrupted, retrying',
          ),
        onRenewed: () => this.endTurnOfOldGenerations(),
      },
      (held, signal) => this.lead(held, signal),
    );
  }

  private async lead(held: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { stores, logger } = this.options;
    await stores.ensureGenerations();
    const turn = await this.beginTurn(held, signal);
    this.turn = turn;
    logger?.info({ projections: [...held] }, 'leading projections');
    try {
      await this.followLog(turn);
    } finally {
      // However the turn ended: tracks that catch up on their own end by this signal.
      this.leadership.endTurn();
      await Promise.all(turn.catchingUp);
      this.turn = undefined;
      logger?.info({ projections: [...held] }, 'no longer leading projections');
      // Callers that wait for a batch of this process now read the checkpoints.
      void this.pollWhileAwaited();
    }
  }

  private async beginTurn(held: ReadonlySet<string>, signal: AbortSignal): Promise<Turn> {
    const { stores, log, projectors, generations, settle } = this.options;
    await settle?.();
    const { epoch } = log;
    await generations.refresh();
    const tracks = new Map<string, ProjectionTrack>();
    for (const projector of projectors.filter(({ name }) => held.has(name))) {
      const generation = generations.generationOf(projector.name);
      if (generation === undefined)
        throw new Error(`projection ${projector.name} has no live generation`);
      const track = new ProjectionTrack(projector, generation, {
        rows: stores.rowsOf(projector, generation),
        log,
        knownTypes: this.knownTypes,
        pieceRowsMax: this.options.pieceRowsMax,
        logger: this.options.logger,
      });
      await this.restore(track);
      tracks.set(projector.name, track);
    }
    const tail = [...tracks.values()]
      .map((track) => track.position)
      .reduce((a, b) => (log.compare(a, b) >= 0 ? a : b));
    return { epoch, tracks, signal, joined: new Set(tracks.values()), catchingUp: new Set(), tail };
  }

  private async restore(track: ProjectionTrack): Promise<void> {
    const [checkpoint] = await this.options.stores.checkpoints([track.projector]);
    if (checkpoint?.generation !== track.generation) {
      // The next turn uses the new generation. Not left to the watch: until then callers would wait
      // for this projection in vain.
      this.leadership.endTurn();
      throw new Error(`another generation of ${track.name} became live`);
    }
    await track.restoreFrom(checkpoint);
    if (track.position !== undefined) this.waiters.advanced(track.name, track.position);
  }

  /** Another generation became live: the next turn uses it. */
  private async endTurnOfOldGenerations(): Promise<void> {
    const { generations } = this.options;
    await generations.refresh();
    const tracks = [...(this.turn?.tracks.values() ?? [])];
    if (tracks.some((track) => generations.generationOf(track.name) !== track.generation))
      this.leadership.endTurn();
  }

  private async followLog(turn: Turn): Promise<void> {
    const { log } = this.options;
    for (const track of turn.joined)
      if (log.compare(track.position, turn.tail) < 0 || track.isCleaning)
        this.catchUpAlone(track, turn);
    for await (const recorded of log.follow(turn.tail, {
      signal: turn.signal,
      pageSize: this.pageSize,
    })) {
      const page = await this.decodeTail(recorded, turn);
      if (!page) continue;
      await this.applyToJoined(page, turn);
      turn.tail = page.last;
      // A track that joined while the page was being applied lacks it, and the next page may be far
      // off.
      for (const track of turn.joined)
        if (log.compare(track.position, turn.tail) < 0) this.catchUpAlone(track, turn);
      await this.rest.take(recorded.length, turn.signal);
    }
  }

  /**
   * Decoding needs the key store: while that is unavailable the tail waits, since no projection
   * could continue without it.
   */
  private async decodeTail(
    recorded: readonly RecordedEvent[],
    turn: Turn,
  ): Promise<Page | undefined> {
    for (let failures = 0; !turn.signal.aborted; failures += 1) {
      try {
        return await decodePage(recorded, this.options.decode);
      } catch (error) {
        for (const track of turn.joined) await this.noteError(track, error);
        await pause(backOffMs(failures, this.retryMs), turn.signal);
      }
    }
    return undefined;
  }

  private async applyToJoined(page: Page, turn: Turn): Promise<void> {
    const joined = [...turn.joined];
    const concerned = joined.filter((track) => track.concernedBy(page));
    // A track can be ahead of the page, having caught up by itself; its checkpoint must not move
    // back.
    const idle = joined.filter(
      (track) =>
        !concerned.includes(track) && this.options.log.compare(track.position, page.last) < 0,
    );
    await Promise.all([
      this.moveIdle(idle, { position: page.last, eventId: page.lastEventId }, turn),
      ...concerned.map((track) => this.applyOrLeave(track, page, turn)),
    ]);
  }

  private async applyOrLeave(track: ProjectionTrack, page: Page, turn: Turn): Promise<void> {
    try {
      await track.apply(page);
      await this.applied(track);
      // The other tracks follow the tail meanwhile.
      if (track.isCleaning) this.catchUpAlone(track, turn);
    } catch (error) {
      this.catchUpAlone(track, turn, error);
    }
  }

  private async moveIdle(
    idle: readonly ProjectionTrack[],
    to: SeenEvent,
    turn: Turn,
  ): Promise<void> {
    if (idle.length === 0) return;
    try {
      const moves = idle.map((track) => ({
        projection: track.name,
        generation: track.generation,
        expectedVersion: track.version,
      }));
      const moved = await this.options.stores.moveCheckpoints(moves, to);
      for (const track of idle) {
        if (!moved.has(track.name)) {
          this.catchUpAlone(track, turn, new CheckpointMoved(track.name));
          continue;
        }
        track.movedTo(to.position);
        await this.applied(track);
      }
    } catch (error) {
      for (const track of idle) this.catchUpAlone(track, turn, error);
    }
  }

  /**
   * Takes a track off the tail until it has caught up with it. Meanwhile the track reads and
   * decodes for itself.
   */
  private catchUpAlone(track: ProjectionTrack, turn: Turn, failure?: unknown): void {
    turn.joined.delete(track);
    const work = this.catchUp(track, turn, failure).finally(() => turn.catchingUp.delete(work));
    turn.catchingUp.add(work);
  }

  private async catchUp(track: ProjectionTrack, turn: Turn, failure: unknown): Promise<void> {
    const { log, decode } = this.options;
    let failed = failure;
    for (let failures = 0; !turn.signal.aborted;) {
      if (failed !== undefined) await this.recover(track, failed, failures++, turn);
      if (turn.signal.aborted) return;
      try {
        if (failed !== undefined) await this.restore(track);
        const page = await decodePage(await log.readAll(track.position, this.pageSize), decode);
        if (page) await track.apply(page);
        await this.applied(track);
        // A page, a piece, a page: an erasure with very many rows does not delay the events of
        // others.
        if (track.isCleaning) await this.cleanOn(track);
        failed = undefined;
        failures = 0;
        // Compared and joined in one turn of the event loop: no page of the tail can arrive in
        // between, and the tail skips events that a track has already. An empty read is not enough:
        // the tail may have read more since.
        if (!track.isCleaning && log.compare(track.position, turn.tail) >= 0) {
          turn.joined.add(track);
          return;
        }
        if (!page && !track.isCleaning) await pause(READ_AGAIN_MS, turn.signal);
      } catch (error) {
        failed = error;
      }
    }
  }

  private async cleanOn(track: ProjectionTrack): Promise<void> {
    await track.cleanNextPiece();
    if (!track.isCleaning)
      this.options.logger?.info(
        { projection: track.name },
        'erased people are removed from all rows',
      );
  }

  /**
   * After a failure: the state of the rows is loaded again, since a write may have happened
   * although its answer was lost.
   */
  private async recover(
    track: ProjectionTrack,
    failure: unknown,
    failures: number,
    turn: Turn,
  ): Promise<void> {
    // A repair wrote at the same time, which is no error; or another leader did, because the locks
    // are lost and the connection has not reported it yet.
    if (failure instanceof CheckpointMoved && failures === 0) return this.leadership.confirmTurn();
    await this.noteError(track, failure);
    const wait =
      failure instanceof StoppedAtUndecodable
        ? this.retryMs.max
        : backOffMs(failures, this.retryMs);
    await pause(wait, turn.signal);
  }

  private async applied(track: ProjectionTrack): Promise<void> {
    if (track.position !== undefined) this.waiters.advanced(track.name, track.position);
    if (!this.errors.has(track.name)) return;
    this.errors.delete(track.name);
    this.options.logger?.info({ projection: track.name }, 'the projection continues');
  }

  private async noteError(track: ProjectionTrack, error: unknown): Promise<void> {
    const text = describeError(error);
    if (this.errors.get(track.name) !== text) {
      this.errors.set(track.name, text);
      // An outage ends by itself; this does not.
      const level = error instanceof StoppedAtUndecodable ? 'error' : 'warn';
      this.options.logger?.[level](
        { projection: track.name, error: text },
        'the projection cannot continue, retrying',
      );
    }
    // While the database is unavailable this fails first; the error stays in memory then.
    await this.options.stores
      .recordLastError(track.name, track.generation, text)
      .catch(() => undefined);
  }

  private async pollWhileAwaited(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    const { signal } = this.stopping;
    try {
      for (;;) {
        const foreign = this.waiters.awaited().filter((name) => !this.leads(name));
        if (foreign.length === 0 || signal.aborted) return;
        const { epoch } = this.options.log;
        const checkpoints = await this.options.stores
          .checkpoints(this.projectorsOf(foreign))
          .catch(() => []);
        await this.followSwaps(checkpoints);
        for (const { projection, generation, position } of checkpoints) {
          if (position === undefined) continue;
          this.foreign.set(projection, { epoch, generation, position });
          this.waiters.advanced(projection, position);
        }
        await pause(this.options.pollEveryMs ?? 15, signal);
      }
    } finally {
      this.polling = false;
    }
  }

  /**
   * The waiting callers read the generation that they waited for, and not the one that was live
   * before.
   */
  private async followSwaps(checkpoints: readonly Checkpoint[]): Promise<void> {
    const { generations } = this.options;
    const known = checkpoints.every(
      ({ projection, generation }) => generations.generationOf(projection) === generation,
    );
    if (!known) await generations.refresh().catch(() => undefined);
  }

  private get pageSize(): number {
    return this.options.pageSize ?? 500;
  }

  private get retryMs(): BackOff {
    return this.options.retryMs ?? { first: 100, max: 5_000 };
  }
}
