import { after, elapsed } from '../../foundation/world.js';

/** A call that is due at the end of its time. */
interface Due {
  readonly atMs: number;
  readonly call: () => void;
}

/**
 * Calls that are due after the same time each, unless they are cancelled. Nearly all are, so one
 * timer does for all of them.
 */
export class Deadlines {
  /** Those that began first come first. */
  private readonly waiting = new Set<Due>();
  private isTimed = false;

  /** @param ms of each. */
  constructor(private readonly ms: number) {}

  /** @returns how to cancel it. */
  add(call: () => void): () => void {
    const due = { atMs: elapsed() + this.ms, call };
    this.waiting.add(due);
    if (!this.isTimed) this.look(this.ms);
    return () => void this.waiting.delete(due);
  }

  private look(inMs: number): void {
    this.isTimed = true;
    after(inMs, () => this.callDue(), { keepsProcess: false });
  }

  private callDue(): void {
    this.isTimed = false;
    const now = elapsed();
    for (const due of this.waiting) {
      if (due.atMs > now) return this.isTimed ? undefined : this.look(due.atMs - now);
      this.waiting.delete(due);
      due.call();
    }
  }
}
