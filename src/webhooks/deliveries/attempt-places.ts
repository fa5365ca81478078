import type { ClaimedDelivery, Room } from './due-deliveries.js';

/** Attempts under way in this process. */
const AT_ONCE = 512;
const OF_TENANT_AT_ONCE = AT_ONCE / 8;

/** The place of an attempt, from its claim until it is recorded. */
export interface Place {
  readonly delivery: ClaimedDelivery;
  /** Before its claim, on the monotonic clock. */
  readonly claimedAt: number;
}

/** Who has the places of this process. */
export class AttemptPlaces {
  private readonly held = new Set<Place>();

  /** @param claimedAt before its claim, on the monotonic clock. */
  hold(delivery: ClaimedDelivery, claimedAt: number): Place {
    const place = { delivery, claimedAt };
    this.held.add(place);
    return place;
  }

  release(place: Place): void {
    this.held.delete(place);
  }

  /**
   * What may be claimed besides. A tenant has at most as many places as are free: the more are
   * taken, the fewer each may have, and one that has none finds one.
   */
  room(): Room {
    let free = AT_ONCE - this.held.size;
    const ofTenants = new Map<string, number>();
    const heldBy = (tenant: string): number => ofTenants.get(tenant) ?? 0;
    for (const { delivery } of this.held)
      ofTenants.set(delivery.tenant, heldBy(delivery.tenant) + 1);
    const mayTake = (tenant: string): boolean => heldBy(tenant) < Math.min(free, OF_TENANT_AT_ONCE);
    return {
      deliveries: free,
      fullTenants: [...ofTenants.keys()].filter((tenant) => !mayTake(tenant)),
      take(tenant) {
        if (!mayTake(tenant)) return false;
        free -= 1;
        ofTenants.set(tenant, heldBy(tenant) + 1);
        return true;
      },
    };
  }
}
