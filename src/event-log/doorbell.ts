/**
 * Tells waiting readers of a newer position. Rung by the process's own appends and by whoever hears
 * of others'.
 */
export class Doorbell {
  private newest = 0n;
  private readonly waiting = new Set<() => void>();
  private woken = 0;

  /** The newest position it was rung for. */
  get position(): bigint {
    return this.newest;
  }

  /**
   * How often everybody was told to look. Who remembers it before looking does not miss a call that
   * came while it looked.
   */
  get alarms(): number {
    return this.woken;
  }

  ring(position: bigint): void {
    if (position <= this.newest) return;
    this.newest = position;
    this.wake();
  }

  /** For when something may have been missed: everybody looks. */
  wakeAll(): void {
    this.woken += 1;
    this.wake();
  }

  /**
   * Resolves when it was or is rung beyond the position, when everybody was told to look since
   * `alarms`, after `ms`, or when the signal aborts.
   */
  beyond(position: bigint, alarms: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.newest > position || this.woken !== alarms || signal.aborted) return Promise.resolve();
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

  private wake(): void {
    for (const wake of [...this.waiting]) wake();
  }
}
