/** Tells waiting readers of a newer position. Rung by the process's own appends and by whoever hears of others'. */
export class Doorbell {
  private newest = 0n;
  private readonly waiting = new Set<() => void>();

  /** The newest position it was rung for. */
  get position(): bigint {
    return this.newest;
  }

  ring(position: bigint): void {
    if (position <= this.newest) return;
    this.newest = position;
    this.wakeAll();
  }

  /** For when something may have been missed: everybody looks. */
  wakeAll(): void {
    for (const wake of [...this.waiting]) wake();
  }

  /** Resolves when it was or is rung beyond the position, after `ms`, or when the signal aborts. */
  beyond(position: bigint, ms: number, signal: AbortSignal): Promise<void> {
    if (this.newest > position || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake);
      this.waiting.add(wake);
    });
  }
}
