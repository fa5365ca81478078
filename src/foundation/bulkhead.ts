export interface BulkheadLimits {
  /** Pieces of work at once. */
  readonly atWorkMax: number;
  /** Pieces of work that wait for a place; half of them may be of one tenant. */
  readonly waitingMax: number;
}

/** A place among the work that is done at once. A second call does nothing. */
export type Place = { leave(): void };

type Begin = (place: Place | undefined) => void;

/**
 * Bounds the work that is done at once, and the work that waits for it. Tenants take turns, and the
 * work of a tenant keeps its order. While others wait, a tenant has a third of the places at most,
 * and otherwise three quarters: a newcomer need not wait for work that takes long.
 */
export class Bulkhead {
  /** By tenant; the one whose turn is next comes first. */
  private readonly waiting = new Map<string, Begin[]>();
  private readonly atWorkOf = new Map<string, number>();
  private atWork = 0;

  constructor(private readonly limits: BulkheadLimits) {}

  get isBusy(): boolean {
    return this.atWork > 0;
  }

  /** Whether the work of this tenant would be refused now. */
  isFullFor(tenant: string): boolean {
    if (this.mayBegin(tenant)) return false;
    const { waitingMax } = this.limits;
    const all = [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0);
    const own = this.waiting.get(tenant)?.length ?? 0;
    return all >= waitingMax || own >= Math.ceil(waitingMax / 2);
  }

  /**
   * Waits for a place. Undefined: the queue, or the tenant's part of it, is full, or the signal
   * aborted before there was a place.
   */
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
    // A tenant that is served comes again at the end of this loop, behind the others.
    for (const [tenant, queue] of this.waiting) {
      if (!this.mayBegin(tenant)) continue;
      const next = queue.shift();
      this.waiting.delete(tenant);
      if (queue.length > 0) this.waiting.set(tenant, queue);
      next?.(this.begin(tenant));
    }
  }
}
