import type { Scope } from '../../domain/scope.js';
import { EventLogUnavailable, type EventLog, type Position } from '../../event-log/event-log.js';
import { ApiError } from '../edge/api-error.js';

/** How far the read models are, and the policies. */
export interface Progress {
  /** False when the time is over first. */
  projectionsReach(
    position: Position,
    projections: readonly string[],
    timeoutMs: number,
  ): Promise<boolean>;
  policiesReach(position: Position, timeoutMs: number): Promise<boolean>;
}

interface Written {
  /** The newest write of this service in the scope, by anybody. */
  readonly newest: Position;
  /** The newest one that policies react to, until its consequences are known to be in the log. */
  readonly setsOff: Position | null;
}

// Tells how long consequences may have consequences; today a policy's command sets off at most one
// more.
const ROUNDS_MAX = 4;

/**
 * Makes a client see what it has written: a read waits, bounded, until the read models include the
 * newest write of its tenant and mode that went through this service, on whatever connection and
 * with whatever key, and what policies made of it.
 */
export class OwnWrites {
  private readonly written = new Map<string, Written>();
  /** Waiting for a position that the log lost would never end. */
  private readonly losses = new Set<() => void>();

  constructor(
    private readonly log: EventLog,
    private readonly progress: Progress,
    private readonly timeoutMs: number,
  ) {
    log.onWentBack(() => {
      this.written.clear();
      for (const lost of [...this.losses]) lost();
    });
  }

  /** To be called before a write is answered. `setsOff`: some policy reacts to it. */
  note(scope: Scope, position: Position | null, setsOff: boolean): void {
    if (position === null) return;
    const key = keyOf(scope);
    const before = this.written.get(key);
    this.written.set(key, {
      newest: this.later(before?.newest ?? null, position) ?? position,
      setsOff: setsOff ? this.later(before?.setsOff ?? null, position) : (before?.setsOff ?? null),
    });
  }

  /**
   * A position that was kept. One that the database has left behind with another log says nothing
   * any more: the newest one stands in for it.
   */
  async inThisLog(kept: Position | null): Promise<Position | null> {
    return kept === null || this.log.isPosition(kept) ? kept : ((await this.log.head()) ?? null);
  }

  /**
   * @throws {ApiError} POSITION_INVALID for a token that is none of ours or beyond the log,
   * POSITION_NOT_REACHED when the time is over.
   */
  async visible(
    scope: Scope,
    projections: readonly string[],
    atLeast: Position | undefined,
  ): Promise<void> {
    if (
      atLeast !== undefined &&
      (!this.log.isPosition(atLeast) || (await this.isBeyondLog(atLeast)))
    )
      throw new ApiError('POSITION_INVALID');
    const deadline = Date.now() + this.timeoutMs;
    await this.consequences(scope, deadline);
    const needed = this.later(this.written.get(keyOf(scope))?.newest ?? null, atLeast ?? null);
    if (needed === null) return;
    const reached = await this.unlessLost(
      this.progress.projectionsReach(needed, projections, Math.max(0, deadline - Date.now())),
    );
    // What was waited for may be in no log any more: what is left to wait for is found out anew.
    if (reached === 'lost') return this.visible(scope, projections, atLeast);
    if (!reached) throw notReached();
  }

  /** A number for a position; null: for the newest one that is known. Undefined: none is known. */
  order(position: Position | null): bigint | undefined {
    const known = position ?? this.log.newestSeen?.position;
    return known === undefined || !this.log.isPosition(known) ? undefined : this.log.order(known);
  }

  /**
   * Whether the position is beyond the newest one of the log. The log is only asked about what this
   * process does not know.
   */
  async isBeyondLog(position: Position): Promise<boolean> {
    if (!this.log.isPosition(position)) return false;
    const known = this.log.newestSeen?.position;
    if (known !== undefined && this.log.compare(position, known) <= 0) return false;
    try {
      return this.log.compare(position, await this.log.head()) > 0;
    } catch (error) {
      // It is waited for, as for any other position, while the log is away.
      if (error instanceof EventLogUnavailable) return false;
      throw error;
    }
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
   * Waits until the policies have appended what the writes set off; what they appended counts as
   * written from then on.
   */
  private async consequences(scope: Scope, deadline: number): Promise<void> {
    const key = keyOf(scope);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const setsOff = this.written.get(key)?.setsOff ?? null;
      if (setsOff === null) return;
      const reached = await this.unlessLost(
        this.progress.policiesReach(setsOff, Math.max(0, deadline - Date.now())),
      );
      if (reached === 'lost') continue;
      if (!reached) throw notReached();
      // The policies may run in another process: everything up to the head of now includes what
      // they appended.
      const head = (await this.log.head()) ?? null;
      const after = this.written.get(key);
      if (!after || head === null) return;
      const isNewest = this.log.compare(after.setsOff ?? undefined, setsOff) <= 0;
      this.written.set(key, {
        newest: this.later(after.newest, head) ?? after.newest,
        setsOff: isNewest ? null : after.setsOff,
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
