import { after } from '../foundation/world.js';

/** Signals new positions to waiting readers, from own appends and those of others. */
export class Doorbell {
  private newest = 0n;
  private readonly waiting = new Set<() => void>();
  private wakes = 0;

  /** The newest reported position. */
  get position(): bigint {
    return this.newest;
  }

  /** Number of `wakeAll` calls: stored before a read, it shows one during the read. */
  get wakeCount(): number {
    return this.wakes;
  }

  ring(position: bigint): void {
    if (position <= this.newest) return;
    this.newest = position;
    this.wake();
  }

  /** Resumes every reader, since a report may have been missed. */
  wakeAll(): void {
    this.wakes += 1;
    this.wake();
  }

  /** Resolves at a later position, a new `wakeAll`, after `ms`, or on abort. */
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
