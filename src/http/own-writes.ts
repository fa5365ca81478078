import type { Scope } from '../domain/scope.js';
import type { EventLog, Position } from '../event-log/event-log.js';
import { ApiError } from './api-error.js';

/** How far the read models are, and the policies. */
export interface Progress {
  /** False when the time is over first. */
  projectionsReach(position: Position, projections: readonly string[], timeoutMs: number): Promise<boolean>;
  policiesReach(position: Position, timeoutMs: number): Promise<boolean>;
}

interface Written {
  /** The newest write of this service in the scope, by anybody. */
  readonly newest: Position;
  /** The newest one that policies react to, until its consequences are known to be in the log. */
  readonly setsOff: Position | null;
}

// Tells how long consequences may have consequences; today a policy's command sets off at most one more.
const ROUNDS_MAX = 4;

/**
 * Makes a client see what it has written: a read waits, bounded, until the read models include the newest write of its tenant and mode
 * that went through this service, on whatever connection and with whatever key, and what policies made of it.
 */
export class OwnWrites {
  private readonly written = new Map<string, Written>();

  constructor(
    private readonly log: EventLog,
    private readonly progress: Progress,
    private readonly timeoutMs: number,
  ) {}

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

  /** A position that was kept. One that the database has left behind with another log says nothing any more: the newest one stands in for it. */
  async inThisLog(kept: Position | null): Promise<Position | null> {
    return kept === null || this.log.isPosition(kept) ? kept : ((await this.log.head()) ?? null);
  }

  /** @throws {ApiError} POSITION_INVALID for a token that is none of ours, POSITION_NOT_REACHED when the time is over. */
  async visible(scope: Scope, projections: readonly string[], atLeast: Position | undefined): Promise<void> {
    if (atLeast !== undefined && !this.log.isPosition(atLeast)) throw new ApiError('POSITION_INVALID');
    const deadline = Date.now() + this.timeoutMs;
    await this.consequences(scope, deadline);
    const needed = this.later(this.written.get(keyOf(scope))?.newest ?? null, atLeast ?? null);
    if (needed === null) return;
    const reached = await this.progress.projectionsReach(needed, projections, Math.max(0, deadline - Date.now()));
    if (!reached) throw notReached();
  }

  /** Waits until the policies have appended what the writes set off; what they appended counts as written from then on. */
  private async consequences(scope: Scope, deadline: number): Promise<void> {
    const key = keyOf(scope);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const setsOff = this.written.get(key)?.setsOff ?? null;
      if (setsOff === null) return;
      if (!(await this.progress.policiesReach(setsOff, Math.max(0, deadline - Date.now())))) throw notReached();
      // The policies may run in another process: everything up to the head of now includes what they appended.
      const head = (await this.log.head()) ?? null;
      const after = this.written.get(key);
      if (!after || head === null) return;
      const isNewest = this.log.compare(after.setsOff ?? undefined, setsOff) <= 0;
      this.written.set(key, { newest: this.later(after.newest, head) ?? after.newest, setsOff: isNewest ? null : after.setsOff });
    }
  }

  private later(a: Position | null, b: Position | null): Position | null {
    if (a === null || b === null) return a ?? b;
    return this.log.compare(a, b) >= 0 ? a : b;
  }
}

const keyOf = ({ tenant, mode }: Scope): string => `${mode}/${tenant}`;

const notReached = (): ApiError => new ApiError('POSITION_NOT_REACHED', { headers: { 'Retry-After': '1' } });
