/**
 * Reads that wait for a position which their client named, counted by tenant: a waiting read holds
 * a place among the requests in progress, and a tenant may hold a part of them only.
 */
export class PositionWaits {
  private readonly waiting = new Map<string, number>();

  /** @param perTenantMax of both modes together. */
  constructor(private readonly perTenantMax: number) {}

  /** Counts a read of this tenant. False: as many as may be are waiting. */
  enter(tenant: string): boolean {
    const waiting = this.waiting.get(tenant) ?? 0;
    if (waiting >= this.perTenantMax) return false;
    this.waiting.set(tenant, waiting + 1);
    return true;
  }

  /** Call it once for each `enter` that was true. */
  leave(tenant: string): void {
    const waiting = this.waiting.get(tenant) ?? 0;
    if (waiting > 1) this.waiting.set(tenant, waiting - 1);
    else this.waiting.delete(tenant);
  }
}
