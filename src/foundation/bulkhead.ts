export interface BulkheadLimits {
  /** Tasks that run concurrently. */
  readonly atWorkMax: number;
  /** Tasks that wait for a slot; at most half of them of one tenant. */
  readonly waitingMax: number;
}

/** A slot of a running task. A second call does nothing. */
export type Place = { leave(): void };

type Begin = (place: Place | undefined) => void;

/**
 * Bounds running and waiting tasks. Tenants take turns, and the tasks of one tenant keep their
 * order. A tenant has at most a third of the slots while others wait, and otherwise three quarters:
 * a newcomer need not wait for long tasks.
 */
export class Bulkhead {
  /** By tenant, in the order of their turns. */
  private readonly waiting = new Map<string, Begin[]>();
  private readonly atWorkOf = new Map<string, number>();
  private atWork = 0;

  constructor(private readonly limits: BulkheadLimits) {}

  get isBusy(): boolean {
    return this.atWork > 0;
  }

  /** True when a task of this tenant would be rejected now. */
  isFullFor(tenant: string): boolean {
    if (this.mayBegin(tenant)) return false;
    const { waitingMax } = this.limits;
    const all = [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0);
    const own = this.waiting.get(tenant)?.length ?? 0;
    return all >= waitingMax || own >= Math.ceil(waitingMax / 2);
  }

  /** Waits for a slot. Undefined: the queue or the tenant's half is full, or the signal aborted. */
  enter(tenant: string, signal?: AbortSignal): Promise<Place | undefined> {
    if (signal?.aborted || this.isFullFor(tenant)) return Promise.resolve(undefined);
    const isFirst = !this.waiting.has(tenant);
    if (isFirst && this.mayBegin(tenant)) return Promise.resolve(this.begin(tenant));
    return new Promise((resolve) => {
      const queue = this.waiting.get(tenant) ?? [];
      this.waiting.set(tenant, queue);
      queue.push(resolve);
      signal?.addEventListener('abort', () => {
        const index = queue.indexOf(resolve);
        if (index < 0) return;
        queue.splice(index, 1);
        if (queue.length === 0) this.waiting.delete(tenant);
        resolve(undefined);
      });
      this.serve();
    });
  }

  private mayBegin(tenant: string): boolean {
    const { atWorkMax: all } = this.limits;
    const others = this.waiting.size - (this.waiting.has(tenant) ? 1 : 0);
    const most = others > 0 ? Math.ceil(all / 3) : all - Math.floor(all / 4);
    return this.atWork < all && (this.atWorkOf.get(tenant) ?? 0) < most;
  }

  private begin(tenant: string): Place {
    this.count(tenant, 1);
    let isHeld = true;
    const leave = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.count(tenant, -1);
      this.serve();
    };
    return { leave };
  }

  private count(tenant: string, more: 1 | -1): void {
    this.atWork += more;
    const now = (this.atWorkOf.get(tenant) ?? 0) + more;
    if (now === 0) this.atWorkOf.delete(tenant);
    else this.atWorkOf.set(tenant, now);
  }

  private serve(): void {
    // A served tenant is appended and visited again at the end of this loop.
    for (const [tenant, queue] of this.waiting) {
      if (!this.mayBegin(tenant)) continue;
      const next = queue.shift();
      this.waiting.delete(tenant);
      if (queue.length > 0) this.waiting.set(tenant, queue);
      next?.(this.begin(tenant));
    }
  }
}
