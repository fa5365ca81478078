export interface BulkheadLimits {
  /** Pieces of work at once. */
  readonly atWorkMax: number;
  /** Pieces of work that wait for a place; half of them may be of one tenant. */
  readonly waitingMax: number;
}

/** A place among the work that is done at once. A second call does nothing. */
export type Place = { leave(): void };

interface Waiting {
  readonly tenant: string;
  readonly begin: (place: Place | undefined) => void;
}

/**
 * Bounds the work that is done at once, and the work that waits for it, in the order of arrival.
 * While other tenants wait, a tenant has a third of the places at most, and otherwise three quarters:
 * a newcomer need not wait for work that takes long.
 */
export class Bulkhead {
  private readonly queue = new Set<Waiting>();
  private readonly waitingOf = new Map<string, number>();
  private readonly atWorkOf = new Map<string, number>();
  private atWork = 0;

  constructor(private readonly limits: BulkheadLimits) {}

  get isBusy(): boolean {
    return this.atWork > 0;
  }

  /** Whether the work of this tenant would be refused now. */
  isFullFor(tenant: string): boolean {
    const { waitingMax } = this.limits;
    const own = this.waitingOf.get(tenant) ?? 0;
    if (this.mayBegin(tenant)) return false;
    return this.queue.size >= waitingMax || own >= Math.ceil(waitingMax / 2);
  }

  /**
   * Waits for a place. Undefined: the queue, or the tenant's part of it, is full, or the signal
   * aborted before there was a place.
   */
  enter(tenant: string, signal?: AbortSignal): Promise<Place | undefined> {
    if (signal?.aborted || this.isFullFor(tenant)) return Promise.resolve(undefined);
    if (this.mayBegin(tenant)) return Promise.resolve(this.begin(tenant));
    return new Promise((resolve) => {
      const waiting = { tenant, begin: resolve };
      this.queue.add(waiting);
      count(this.waitingOf, tenant, 1);
      signal?.addEventListener('abort', () => {
        if (this.unqueue(waiting)) resolve(undefined);
      });
    });
  }

  private mayBegin(tenant: string): boolean {
    const { atWorkMax: all } = this.limits;
    const others = this.waitingOf.size - (this.waitingOf.has(tenant) ? 1 : 0);
    const most = others > 0 ? Math.ceil(all / 3) : all - Math.floor(all / 4);
    return this.atWork < all && (this.atWorkOf.get(tenant) ?? 0) < most;
  }

  private begin(tenant: string): Place {
    const change = (more: 1 | -1): void => {
      this.atWork += more;
      count(this.atWorkOf, tenant, more);
    };
    change(1);
    let isHeld = true;
    const leave = (): void => {
      if (isHeld) change(-1);
      isHeld = false;
      this.serve();
    };
    return { leave };
  }

  private serve(): void {
    for (const waiting of this.queue) {
      if (this.atWork >= this.limits.atWorkMax) return;
      if (!this.mayBegin(waiting.tenant)) continue;
      this.unqueue(waiting);
      waiting.begin(this.begin(waiting.tenant));
    }
  }

  private unqueue(waiting: Waiting): boolean {
    const was = this.queue.delete(waiting);
    if (was) count(this.waitingOf, waiting.tenant, -1);
    return was;
  }
}

function count(counts: Map<string, number>, tenant: string, more: 1 | -1): void {
  const now = (counts.get(tenant) ?? 0) + more;
  if (now === 0) counts.delete(tenant);
  else counts.set(tenant, now);
}
