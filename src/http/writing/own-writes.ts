import type { Scope } from '../../domain/scope.js';
import { EventLogUnavailable, type EventLog, type Position } from '../../event-log/event-log.js';
import { elapsed } from '../../foundation/world.js';
import { ApiError } from '../edge/api-error.js';
import { PositionWaits } from './position-waits.js';

/** The progress of the read models and of the policies. */
export interface Progress {
  /** False on a time-out. */
  projectionsReach(
    position: Position,
    projections: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  policiesReach(position: Position, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
}

/** A read of a client, which may name a position. */
export interface ReadAt {
  readonly scope: Scope;
  /** The read models that it shows. */
  readonly projections: readonly string[];
  readonly atLeast: Position | undefined;
  /** Aborts when the client leaves. */
  readonly departure: AbortSignal;
}

/** How long reads wait for positions, and how many of a tenant for one that they name. */
export interface WaitLimits {
  readonly timeoutMs: number;
  readonly perTenantMax: number;
}

interface Written {
  /** The newest write of this service in the scope, by any caller. */
  readonly newest: Position;
  /** The newest one that triggers policies, until their reactions are known to be recorded. */
  readonly triggering: Position | null;
}

// How long chains of reactions may be; today a policy's command triggers at most one more.
const ROUNDS_MAX = 4;

/**
 * Read-your-writes: a read waits, bounded, until the read models include the newest write of its
 * tenant and mode through this service, on any connection and with any key, and the policies'
 * reactions to it.
 */
export class OwnWrites {
  private readonly written = new Map<string, Written>();
  /** A wait for a position that the log lost would never end. */
  private readonly losses = new Set<() => void>();
  private readonly waits: PositionWaits;

  constructor(
    private readonly log: EventLog,
    private readonly progress: Progress,
    private readonly limits: WaitLimits,
  ) {
    this.waits = new PositionWaits(limits.perTenantMax);
    log.onWentBack(() => {
      this.written.clear();
      for (const lost of [...this.losses]) lost();
    });
  }

  /** Call it before a write is answered. `triggersPolicy`: the write triggers a policy. */
  note(scope: Scope, position: Position | null, triggersPolicy: boolean): void {
    if (position === null) return;
    const key = keyOf(scope);
    const before = this.written.get(key);
    this.written.set(key, {
      newest: this.later(before?.newest ?? null, position) ?? position,
      triggering: triggersPolicy
        ? this.later(before?.triggering ?? null, position)
        : (before?.triggering ?? null),
    });
  }

  /**
   * A stored position. If the database follows another log by now, the newest position replaces it.
   */
  async inThisLog(kept: Position | null): Promise<Position | null> {
    return kept === null || this.log.isPosition(kept) ? kept : ((await this.log.head()) ?? null);
  }

  /**
   * @throws {ApiError} POSITION_INVALID for a token of another service or beyond the log,
   * POSITION_NOT_REACHED on a time-out, or at once when too many of the tenant's reads wait.
   */
  async visible(read: ReadAt): Promise<void> {
    const { scope, atLeast } = read;
    if (atLeast === undefined) return this.shown(read, this.limits.timeoutMs);
    if (!this.log.isPosition(atLeast) || (await this.isBeyondLog(atLeast)))
      throw new ApiError('POSITION_INVALID');
    if (!this.waits.enter(scope.tenant)) return this.shown(read, 0);
    try {
      await this.shown(read, this.limits.timeoutMs);
    } finally {
      this.waits.leave(scope.tenant);
    }
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

  private async shown(read: ReadAt, timeoutMs: number): Promise<void> {
    const { scope, projections, atLeast, departure } = read;
    const deadline = elapsed() + timeoutMs;
    await this.consequences(scope, deadline, departure);
    const needed = this.later(this.written.get(keyOf(scope))?.newest ?? null, atLeast ?? null);
    if (needed === null) return;
    const left = Math.max(0, deadline - elapsed());
    const reached = await this.unlessLost(
      this.progress.projectionsReach(needed, projections, left, departure),
    );
    // The position may be lost with the log's end: it is determined again.
    if (reached === 'lost') return this.visible(read);
    if (!reached) throw notReached();
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
   * written.
   */
  private async consequences(
    scope: Scope,
    deadline: number,
    departure: AbortSignal,
  ): Promise<void> {
    const key = keyOf(scope);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const triggering = this.written.get(key)?.triggering ?? null;
      if (triggering === null) return;
      const reached = await this.unlessLost(
        this.progress.policiesReach(triggering, Math.max(0, deadline - elapsed()), departure),
      );
      if (reached === 'lost') continue;
      if (!reached) throw notReached();
      // The policies may run in another process: the log's head includes their events.
      const head = (await this.log.head()) ?? null;
      const after = this.written.get(key);
      if (!after || head === null) return;
      const isNewest = this.log.compare(after.triggering ?? undefined, triggering) <= 0;
      this.written.set(key, {
        newest: this.later(after.newest, head) ?? after.newest,
        triggering: isNewest ? null : after.triggering,
      });
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
