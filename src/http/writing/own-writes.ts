import type { Scope } from '../../domain/scope.js';
import { EventLogUnavailable, type EventLog, type Position } from '../../event-log/event-log.js';
import { elapsed } from '../../foundation/world.js';
import { ApiError } from '../edge/api-error.js';
import { StalledFollowers, type Positions } from './stalled-followers.js';

/** The progress of read models and policies. */
export interface Progress {
  /** False after a timeout. */
  waitForProjections(
    position: Position,
    projections: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Whether all are known to include the position, without waiting. Default: unknown. */
  projectionsInclude?(position: Position, projections: readonly string[]): boolean;
  /** Waits for reactions to events of this scope. */
  waitForPolicies(
    position: Position,
    timeoutMs: number,
    signal: AbortSignal,
    scope: Scope,
  ): Promise<boolean>;
  /** The positions of the projections. @throws the database's errors. */
  projectionPositions(projections: readonly string[]): Promise<Positions>;
  /** The policies' position; undefined: before the first event. @throws the database's errors. */
  policyPosition(scope: Scope): Promise<Position | undefined>;
  /**
   * The log's head at the start of the process, while stalled followers have not reached it (reads
   * do not wait for these); undefined: none.
   */
  skippedHead?(): Position | undefined;
}

interface ReadModels {
  readonly scope: Scope;
  readonly projections: readonly string[];
}

/** A client's read, which may name a position. */
export interface ClientRead extends ReadModels {
  readonly atLeast: Position | undefined;
  /** Aborts when the client leaves. */
  readonly departure: AbortSignal;
}

/** An answer that may lack a write of its tenant, or a reaction to one. */
export interface Staleness {
  /** Includes all reactions; undefined: before the first event. */
  readonly included: Position | undefined;
}

/** Time limits of reads that wait for positions. */
export interface WaitLimits {
  /** For a client's position. */
  readonly timeoutMs: number;
  readonly ownWritesMs: number;
}

interface Written {
  /** The newest write in the scope, by any caller. */
  readonly newest: Position;
  /** The newest write that triggers policies, until its reactions are recorded. */
  readonly triggering: Position | null;
  /** All reactions up to here are recorded and included in `newest`. */
  readonly reacted: Position | null;
}

// Longest chain of reactions; today a reaction triggers at most one more.
const ROUNDS_MAX = 4;

/** The policies' name among stalled followers; no projection has it. */
const POLICIES = 'policies';

interface Awaited {
  readonly names: readonly string[];
  reach(timeoutMs: number): Promise<boolean>;
  at(): Promise<Positions>;
}

/**
 * Read-your-writes: a read waits, bounded, until the read models include the newest write of its
 * tenant and mode through this service, with any key, and the reactions to it. Stalled followers
 * are skipped.
 */
export class OwnWrites {
  private readonly written = new Map<string, Written>();
  /** Ends waits when the log lost events, because their positions may never be reached. */
  private readonly losses = new Set<() => void>();
  private readonly stalled = new StalledFollowers();

  constructor(
    private readonly log: EventLog,
    private readonly progress: Progress,
    private readonly limits: WaitLimits,
  ) {
    log.onWentBack(() => {
      this.written.clear();
      this.stalled.clear();
      for (const lost of [...this.losses]) lost();
    });
  }

  /** Call it before a write is answered. */
  record(scope: Scope, position: Position | null, triggersPolicy: boolean): void {
    if (position === null) return;
    const key = keyOf(scope);
    const before = this.written.get(key);
    const reacted = before?.reacted ?? null;
    // A write without events has the position of an earlier one.
    const isReactedTo = reacted !== null && this.log.compare(position, reacted) <= 0;
    const triggering = before?.triggering ?? null;
    this.written.set(key, {
      newest: this.later(before?.newest ?? null, position) ?? position,
      triggering: triggersPolicy && !isReactedTo ? this.later(triggering, position) : triggering,
      reacted,
    });
  }

  /**
   * The stored position, or, if the database follows another log now, the newest position of that
   * log.
   */
  async translated(kept: Position | null): Promise<Position | null> {
    return kept === null || this.log.isPosition(kept) ? kept : ((await this.log.head()) ?? null);
  }

  /** Whether all writes are known to be included. */
  includesAllWrites(read: ReadModels): boolean {
    const { progress } = this;
    if (progress.skippedHead?.() !== undefined) return false;
    if ((this.written.get(keyOf(read.scope))?.triggering ?? null) !== null) return false;
    const needed = this.written.get(keyOf(read.scope))?.newest ?? null;
    return needed === null || !!progress.projectionsInclude?.(needed, read.projections);
  }

  /**
   * Waits for the client's position and for earlier writes. @returns undefined: all are included.
   * @throws {ApiError} POSITION_INVALID for a position of another service or beyond the log,
   * POSITION_NOT_REACHED after a timeout.
   */
  async visible(read: ClientRead): Promise<Staleness | undefined> {
    const { atLeast } = read;
    if (atLeast !== undefined) {
      if (!this.log.isPosition(atLeast) || (await this.isBeyondLog(atLeast)))
        throw new ApiError('POSITION_INVALID');
      await this.named(read, atLeast);
    }
    return this.waitForOwnWrites(read);
  }

  /** A position as a number; null: the newest known one. Undefined: none is known. */
  order(position: Position | null): bigint | undefined {
    const known = position ?? this.log.newestSeen?.position;
    return known === undefined || !this.log.isPosition(known) ? undefined : this.log.order(known);
  }

  /** Whether the position is beyond the log. Reads the log for unknown positions only. */
  async isBeyondLog(position: Position): Promise<boolean> {
    if (!this.log.isPosition(position)) return false;
    const known = this.log.newestSeen?.position;
    if (known !== undefined && this.log.compare(position, known) <= 0) return false;
    try {
      return this.log.compare(position, await this.log.head()) > 0;
    } catch (error) {
      // While the log is unavailable, the read waits for the position.
      if (error instanceof EventLogUnavailable) return false;
      throw error;
    }
  }

  private async named(read: ClientRead, position: Position): Promise<void> {
    const { projections, departure } = read;
    const reached = await this.unlessLost(
      this.progress.waitForProjections(position, projections, this.limits.timeoutMs, departure),
    );
    // The log lost events, possibly with the position.
    if (reached === 'lost') {
      if (await this.isBeyondLog(position)) throw new ApiError('POSITION_INVALID');
      return this.named(read, position);
    }
    if (!reached) throw notReached();
  }

  private async waitForOwnWrites(read: ClientRead): Promise<Staleness | undefined> {
    const { scope, projections, departure } = read;
    const deadline = elapsed() + this.limits.ownWritesMs;
    const isReactedTo = await this.waitForReactions(read, deadline);
    const needed = this.written.get(keyOf(scope))?.newest ?? null;
    const before = this.progress.skippedHead?.();
    if (before !== undefined) {
      const reacted = await this.progress.policyPosition(scope);
      const all = isReactedTo && this.log.compare(reacted, before) >= 0;
      return this.staleness(read, this.later(needed, before) ?? before, all);
    }
    if (needed === null) return undefined;
    const projected = await this.reached(read, deadline, needed, {
      names: projections,
      reach: (timeoutMs) =>
        this.progress.waitForProjections(needed, projections, timeoutMs, departure),
      at: () => this.progress.projectionPositions(projections),
    });
    // The position may be lost: determine it again.
    if (projected === 'lost') return this.waitForOwnWrites(read);
    if (isReactedTo && projected) return undefined;
    return this.staleness(read, needed, isReactedTo);
  }

  /** Undefined: all writes have been reached meanwhile. */
  private async staleness(
    { scope, projections }: ClientRead,
    needed: Position,
    isReactedTo: boolean,
  ): Promise<Staleness | undefined> {
    const { log, progress } = this;
    const reached = [...(await progress.projectionPositions(projections)).values()];
    if (!isReactedTo) reached.push(await progress.policyPosition(scope));
    const included = reached.reduce((a, b) => (log.compare(a, b) <= 0 ? a : b));
    return isReactedTo && log.compare(included, needed) >= 0 ? undefined : { included };
  }

  /**
   * Whether the followers reach the position in time. Compares positions half-way and at the end:
   * followers that did not move are stalled, and skipped until they move.
   */
  private async reached(
    { departure }: ClientRead,
    deadline: number,
    position: Position,
    awaited: Awaited,
  ): Promise<boolean | 'lost'> {
    const { log, stalled } = this;
    if (stalled.has(awaited.names)) {
      const now = await awaited.at();
      const behind = awaited.names.filter((name) => log.compare(now.get(name), position) < 0);
      stalled.update(now);
      if (behind.length === 0) return true;
      if (stalled.has(behind)) return false;
    }
    const left = Math.max(0, deadline - elapsed());
    const early = await this.unlessLost(awaited.reach(left / 2));
    if (early !== false || departure.aborted) return early;
    const halfWay = await awaited.at();
    const late = await this.unlessLost(awaited.reach(left / 2));
    if (late !== false || departure.aborted) return late;
    // A shorter period proves nothing.
    if (left > this.limits.ownWritesMs / 2) stalled.addUnmoved(halfWay, await awaited.at());
    return false;
  }

  private async unlessLost<T>(waiting: Promise<T>): Promise<T | 'lost'> {
    let lose: () => void = () => undefined;
    const lost = new Promise<'lost'>((resolve) => {
      lose = () => resolve('lost');
    });
    this.losses.add(lose);
    try {
      return await Promise.race([waiting, lost]);
    } finally {
      this.losses.delete(lose);
    }
  }

  /** Waits until the reactions are recorded; they then count as writes. False: not known. */
  private async waitForReactions(read: ClientRead, deadline: number): Promise<boolean> {
    const key = keyOf(read.scope);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const triggering = this.written.get(key)?.triggering ?? null;
      if (triggering === null) return true;
      const reached = await this.reached(read, deadline, triggering, {
        names: [POLICIES],
        reach: (timeoutMs) =>
          this.progress.waitForPolicies(triggering, timeoutMs, read.departure, read.scope),
        at: async () => new Map([[POLICIES, await this.progress.policyPosition(read.scope)]]),
      });
      if (reached === 'lost') continue;
      if (!reached) return false;
      // The policies may run in another process, so the head is taken.
      const head = await this.currentHead();
      if (head === undefined) return false;
      const after = this.written.get(key);
      if (!after || head === null) return true;
      const isNewest = this.log.compare(after.triggering ?? undefined, triggering) <= 0;
      this.written.set(key, {
        newest: this.later(after.newest, head) ?? after.newest,
        triggering: isNewest ? null : after.triggering,
        reacted: this.later(after.reacted, triggering),
      });
    }
    return true;
  }

  /** Undefined: the log is unavailable; null: it is empty. */
  private async currentHead(): Promise<Position | null | undefined> {
    try {
      return (await this.log.head()) ?? null;
    } catch (error) {
      if (error instanceof EventLogUnavailable) return undefined;
      throw error;
    }
  }

  private later(a: Position | null, b: Position | null): Position | null {
    if (a === null || b === null) return a ?? b;
    return this.log.compare(a, b) >= 0 ? a : b;
  }
}

const keyOf = ({ tenant, mode }: Scope): string => `${mode}/${tenant}`;

const notReached = (): ApiError =>
  new ApiError('POSITION_NOT_REACHED', { headers: { 'Retry-After': '1' } });
