import type { Scope } from '../../domain/scope.js';
import { EventLogUnavailable, type EventLog, type Position } from '../../event-log/event-log.js';
import { elapsed } from '../../foundation/world.js';
import { ApiError } from '../edge/api-error.js';
import { Standstills, type Reached } from './standstills.js';

/** The progress of the read models and of the policies. */
export interface Progress {
  /** False on a time-out. */
  projectionsReach(
    position: Position,
    projections: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Whether all of these are known to include the position; never waits. Default: not known. */
  projectionsHave?(position: Position, projections: readonly string[]): boolean;
  /** The reactions to events of this scope. */
  policiesReach(
    position: Position,
    timeoutMs: number,
    signal: AbortSignal,
    scope: Scope,
  ): Promise<boolean>;
  /** How far each of these projections is. @throws the database's errors. */
  projectionsAt(projections: readonly string[]): Promise<Reached>;
  /**
   * How far the policies are with events of this scope; undefined: before the first event. @throws
   * the database's errors.
   */
  policiesAt(scope: Scope): Promise<Position | undefined>;
  /**
   * The head of the log at the start of this process, while followers stand still that do not
   * include it: nobody waits for them, whoever wrote before the start.
   */
  notIncluded?(): Position | undefined;
}

/** What a read shows. */
interface ReadOf {
  readonly scope: Scope;
  /** The read models that it shows. */
  readonly projections: readonly string[];
}

/** A read of a client, which may name a position. */
export interface ReadAt extends ReadOf {
  readonly atLeast: Position | undefined;
  /** Aborts when the client leaves. */
  readonly departure: AbortSignal;
}

/** A read is answered although its read models lack a write of its tenant, or a reaction to it. */
export interface Staleness {
  /** What is included, with all reactions; undefined: nothing yet. */
  readonly included: Position | undefined;
}

/** How long reads wait for positions. */
export interface WaitLimits {
  /** For a position that the client names. */
  readonly timeoutMs: number;
  /** For writes through this service. */
  readonly ownWritesMs: number;
}

interface Written {
  /** The newest write of this service in the scope, by any caller. */
  readonly newest: Position;
  /** The newest one that triggers policies, until their reactions are known to be recorded. */
  readonly triggering: Position | null;
  /** Up to here all reactions are known to be recorded, and `newest` includes them. */
  readonly reacted: Position | null;
}

// How long chains of reactions may be; today a policy's command triggers at most one more.
const ROUNDS_MAX = 4;

/** A follower's name among those that may stand still; no projection is called so. */
const POLICIES = 'policies';

/** What a read waits for. */
interface Awaited {
  readonly names: readonly string[];
  reach(timeoutMs: number): Promise<boolean>;
  at(): Promise<Reached>;
}

/**
 * Read-your-writes: a read waits, bounded, until the read models include the newest write of its
 * tenant and mode through this service, on any connection and with any key, and the policies'
 * reactions to it. It waits for nothing that is known to be stalled.
 */
export class OwnWrites {
  private readonly written = new Map<string, Written>();
  /** A wait for a position that the log lost would never end. */
  private readonly losses = new Set<() => void>();
  private readonly standstills = new Standstills();

  constructor(
    private readonly log: EventLog,
    private readonly progress: Progress,
    private readonly limits: WaitLimits,
  ) {
    log.onWentBack(() => {
      this.written.clear();
      this.standstills.clear();
      for (const lost of [...this.losses]) lost();
    });
  }

  /** Call it before a write is answered. */
  note(scope: Scope, position: Position | null, triggersPolicy: boolean): void {
    if (position === null) return;
    const key = keyOf(scope);
    const before = this.written.get(key);
    const reacted = before?.reacted ?? null;
    // A write without events of its own has the position of an older one.
    const isReactedTo = reacted !== null && this.log.compare(position, reacted) <= 0;
    const triggering = before?.triggering ?? null;
    this.written.set(key, {
      newest: this.later(before?.newest ?? null, position) ?? position,
      triggering: triggersPolicy && !isReactedTo ? this.later(triggering, position) : triggering,
      reacted,
    });
  }

  /**
   * A stored position. If the database follows another log by now, the newest position replaces it.
   */
  async inThisLog(kept: Position | null): Promise<Position | null> {
    return kept === null || this.log.isPosition(kept) ? kept : ((await this.log.head()) ?? null);
  }

  /** Whether all own writes are known to be included, so that nothing is to be waited for. */
  isAllShown(read: ReadOf): boolean {
    const { progress } = this;
    if (progress.notIncluded?.() !== undefined) return false;
    if ((this.written.get(keyOf(read.scope))?.triggering ?? null) !== null) return false;
    const needed = this.written.get(keyOf(read.scope))?.newest ?? null;
    return needed === null || !!progress.projectionsHave?.(needed, read.projections);
  }

  /**
   * Waits for the position that the client names, if any, and for own writes.
   * @returns undefined when all of it is included.
   * @throws {ApiError} POSITION_INVALID for a token of another service or beyond the log,
   * POSITION_NOT_REACHED when the named position does not arrive in time.
   */
  async visible(read: ReadAt): Promise<Staleness | undefined> {
    const { atLeast } = read;
    if (atLeast !== undefined) {
      if (!this.log.isPosition(atLeast) || (await this.isBeyondLog(atLeast)))
        throw new ApiError('POSITION_INVALID');
      await this.named(read, atLeast);
    }
    return this.ownShown(read);
  }

  /** A number for a position; null: the newest known one. Undefined: none is known. */
  order(position: Position | null): bigint | undefined {
    const known = position ?? this.log.newestSeen?.position;
    return known === undefined || !this.log.isPosition(known) ? undefined : this.log.order(known);
  }

  /**
   * Whether the position is beyond the newest one of the log. Reads the log only for positions that
   * this process does not know.
   */
  async isBeyondLog(position: Position): Promise<boolean> {
    if (!this.log.isPosition(position)) return false;
    const known = this.log.newestSeen?.position;
    if (known !== undefined && this.log.compare(position, known) <= 0) return false;
    try {
      return this.log.compare(position, await this.log.head()) > 0;
    } catch (error) {
      // While the log is unavailable it is waited for, like any other position.
      if (error instanceof EventLogUnavailable) return false;
      throw error;
    }
  }

  private async named(read: ReadAt, position: Position): Promise<void> {
    const { projections, departure } = read;
    const reached = await this.unlessLost(
      this.progress.projectionsReach(position, projections, this.limits.timeoutMs, departure),
    );
    // The log lost its end, and the position maybe with it.
    if (reached === 'lost') {
      if (await this.isBeyondLog(position)) throw new ApiError('POSITION_INVALID');
      return this.named(read, position);
    }
    if (!reached) throw notReached();
  }

  private async ownShown(read: ReadAt): Promise<Staleness | undefined> {
    const { scope, projections, departure } = read;
    const deadline = elapsed() + this.limits.ownWritesMs;
    const isReactedTo = await this.consequences(read, deadline);
    const needed = this.written.get(keyOf(scope))?.newest ?? null;
    const before = this.progress.notIncluded?.();
    if (before !== undefined) {
      const reacted = await this.progress.policiesAt(scope);
      const all = isReactedTo && this.log.compare(reacted, before) >= 0;
      return this.staleness(read, this.later(needed, before) ?? before, all);
    }
    if (needed === null) return undefined;
    const projected = await this.reached(read, deadline, needed, {
      names: projections,
      reach: (timeoutMs) =>
        this.progress.projectionsReach(needed, projections, timeoutMs, departure),
      at: () => this.progress.projectionsAt(projections),
    });
    // The position may be lost with the log's end: it is determined again.
    if (projected === 'lost') return this.ownShown(read);
    if (isReactedTo && projected) return undefined;
    return this.staleness(read, needed, isReactedTo);
  }

  /** Undefined: all of it was reached in the meantime. */
  private async staleness(
    { scope, projections }: ReadAt,
    needed: Position,
    isReactedTo: boolean,
  ): Promise<Staleness | undefined> {
    const { log, progress } = this;
    const reached = [...(await progress.projectionsAt(projections)).values()];
    if (!isReactedTo) reached.push(await progress.policiesAt(scope));
    const included = reached.reduce((a, b) => (log.compare(a, b) <= 0 ? a : b));
    return isReactedTo && log.compare(included, needed) >= 0 ? undefined : { included };
  }

  /**
   * Whether the awaited followers reach the position before the deadline. Half-way it looks where
   * they are: those that stay there until the end stand still, and are not waited for until they
   * move.
   */
  private async reached(
    { departure }: ReadAt,
    deadline: number,
    position: Position,
    awaited: Awaited,
  ): Promise<boolean | 'lost'> {
    const { log, standstills } = this;
    if (standstills.has(awaited.names)) {
      const now = await awaited.at();
      const behind = awaited.names.filter((name) => log.compare(now.get(name), position) < 0);
      standstills.see(now);
      if (behind.length === 0) return true;
      if (standstills.has(behind)) return false;
    }
    const left = Math.max(0, deadline - elapsed());
    const early = await this.unlessLost(awaited.reach(left / 2));
    if (early !== false || departure.aborted) return early;
    const halfWay = await awaited.at();
    const late = await this.unlessLost(awaited.reach(left / 2));
    if (late !== false || departure.aborted) return late;
    // A shorter look proves nothing.
    if (left > this.limits.ownWritesMs / 2) standstills.compare(halfWay, await awaited.at());
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

  /**
   * Waits until the policies have recorded their reactions to the writes; those then count as
   * written. False: they did not in time, or it is unknown.
   */
  private async consequences(read: ReadAt, deadline: number): Promise<boolean> {
    const key = keyOf(read.scope);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const triggering = this.written.get(key)?.triggering ?? null;
      if (triggering === null) return true;
      const reached = await this.reached(read, deadline, triggering, {
        names: [POLICIES],
        reach: (timeoutMs) =>
          this.progress.policiesReach(triggering, timeoutMs, read.departure, read.scope),
        at: async () => new Map([[POLICIES, await this.progress.policiesAt(read.scope)]]),
      });
      if (reached === 'lost') continue;
      if (!reached) return false;
      // The policies may run in another process: the log's head includes their events.
      const head = await this.headNow();
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

  /** Undefined while the log is unavailable; null while it is empty. */
  private async headNow(): Promise<Position | null | undefined> {
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
