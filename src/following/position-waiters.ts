import type { EventLog, Position } from '../event-log/event-log.js';
import { after } from '../foundation/world.js';

interface Waiter {
  readonly position: Position;
  readonly missing: Set<string>;
  readonly done: () => void;
}

/** Reads that wait until projections have reached a position. */
export class PositionWaiters {
  private readonly waiters = new Set<Waiter>();

  constructor(private readonly log: Pick<EventLog, 'compare'>) {}

  /** True once all have reached the position, false after the time or on abort. */
  wait(
    position: Position,
    projections: readonly string[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const finish = (reached: boolean): void => {
        cancel();
        signal?.removeEventListener('abort', leave);
        this.waiters.delete(waiter);
        resolve(reached);
      };
      const leave = (): void => finish(false);
      signal?.addEventListener('abort', leave);
      const cancel = after(timeoutMs, () => finish(false));
      const waiter: Waiter = { position, missing: new Set(projections), done: () => finish(true) };
      this.waiters.add(waiter);
      if (waiter.missing.size === 0) waiter.done();
    });
  }

  advanced(projection: string, position: Position): void {
    for (const waiter of this.waiters) {
      if (!waiter.missing.has(projection) || this.log.compare(position, waiter.position) < 0)
        continue;
      waiter.missing.delete(projection);
      if (waiter.missing.size === 0) waiter.done();
    }
  }

  get size(): number {
    return this.waiters.size;
  }

  awaited(): string[] {
    return [...new Set([...this.waiters].flatMap(({ missing }) => [...missing]))];
  }
}
