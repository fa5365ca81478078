import { after } from '../foundation/world.js';

/**
 * Wakes waiting readers when the log has a newer position. Rung by this process's appends and by
 * the listeners for other processes' appends.
 */
export class Doorbell {
  private newest = 0n;
  private readonly waiting = new Set<() => void>();
  private wakes = 0;

  /** The newest position that was rung. */
  get position(): bigint {
    return this.newest;
  }

  /**
   * How often all readers were woken. A reader that notes it before a read does not miss a wake-up
   * during the read.
   */
  get wakeCount(): number {
    return this.wakes;
  }

  ring(position: bigint): void {
    if (position <= this.newest) return;
    this.newest = position;
    this.wake();
  }

  /** For when a ring may have been missed: every reader reads. */
  wakeAll(): void {
    this.wakes += 1;
    this.wake();
  }

  /**
   * Resolves when a position beyond this one was or is rung, when all readers were woken since
   * `wakeCount`, after `ms`, or when the signal aborts.
   */
  beyond(position: bigint, wakeCount: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.newest > position || this.wakes !== wakeCount || signal.aborted)
      return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        cancel();
        signal.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        resolve();
      };
      const cancel = after(ms, wake);
      signal.addEventListener('abort', wake);
      this.waiting.add(wake);
    });
  }

  private wake(): void {
    for (const wake of [...this.waiting]) wake();
  }
}
